"""The entry point of `ros2`: hands over to a full ROS 2 where its `ros2cli` is importable."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys

from .command import command_module


def main(argv: list[str] | None = None) -> int | str | None:
    """Run a `ros2` command line; the exit code, or a message that goes to standard error."""
    try:
        found = importlib.import_module("ros2cli")
    except ModuleNotFoundError as error:
        if error.name != "ros2cli":
            raise
        return "no ROS 2 is installed, and POCKET_ROS_DISABLE switches pocket_ros off; unset it to use `ros2`"
    if found.__name__ != __package__:
        real = importlib.import_module("ros2cli.cli")
        code: int | str | None = real.main() if argv is None else real.main(argv=argv)
        return code

    try:
        return run(argv=argv)
    except ModuleNotFoundError as error:
        if error.name != "cyclonedds":
            raise
        return error.msg


# The command line: which command groups there are, and how one is run.


COMMANDS = {
    "action": "Various action related sub-commands",
    "bag": "Various rosbag related sub-commands",
    "daemon": "Various daemon related sub-commands",
    "interface": "Show information about ROS interfaces",
    "launch": "Run a launch file",
    "lifecycle": "Various lifecycle related sub-commands",
    "node": "Various node related sub-commands",
    "param": "Various param related sub-commands",
    "pkg": "Various package related sub-commands",
    "run": "Run a package specific executable",
    "service": "Various service related sub-commands",
    "topic": "Various topic related sub-commands",
}
NOT_COVERED = [
    "component",
    "control",
    "doctor",
    "extension_points",
    "extensions",
    "multicast",
    "security",
    "test",
    "wtf",
]
NOT_COVERED_VERBS = {"bag": ("burst", "convert", "list", "reindex"), "pkg": ("create",)}


def _top_parser() -> argparse.ArgumentParser:
    width = max(len(name) for name in COMMANDS)
    listing = "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    return argparse.ArgumentParser(
        prog="ros2",
        description="ros2 is an extensible command-line tool for ROS 2.",
        epilog=f"Commands:\n\n{listing}\n\n  Call `ros2 <command> -h` for more detailed usage.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="ros2 [-h] Call `ros2 <command> -h` for more detailed usage. ...",
    )


def run(*, argv: list[str] | None = None) -> int | str | None:
    """Run a command line without the program's name; the exit code, or a message for standard error.

    A group of verbs is imported only when it is called.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if not words or words[0] in ("-h", "--help"):
        _top_parser().print_help()
        return 0
    name, *rest = words
    verb = next(iter(rest), None)
    if name in NOT_COVERED or verb in NOT_COVERED_VERBS.get(name, ()):
        called = name if name in NOT_COVERED else f"{name} {verb}"
        return f"'ros2 {called}' is not covered by pocket_ros; a full ROS 2 has it"
    if name not in COMMANDS:
        _top_parser().error(
            f"argument Call `ros2 <command> -h` for more detailed usage.: invalid choice: '{name}'"
        )
    try:
        command = command_module(name)
        parser = argparse.ArgumentParser(prog=f"ros2 {name}", description=COMMANDS[name])
        command.add_arguments(parser)
        args = parser.parse_args(rest)
        result: int | str | None = args.main(args)
        sys.stdout.flush()
        return result
    except KeyboardInterrupt:
        return signal.SIGINT  # as in ROS, which does not answer 130
    except BrokenPipeError:
        # The reader went away (`ros2 topic echo … | head`): nothing more can be written, not even at exit.
        sys.stdout = None
        return 0
    except (RuntimeError, NotImplementedError, LookupError, ValueError, OSError) as error:
        return str(error)
