"""`ros2 run`."""

from __future__ import annotations

import argparse
import os
import shlex

from ...ament_index_python import PackageNotFoundError
from ...executables import get_executable_paths


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ros2 run`."""
    parser.add_argument("--prefix", help="Prefix command, which should go before the executable.")
    parser.add_argument("package_name", help="Name of the ROS package")
    parser.add_argument("executable_name", help="Name of the executable")
    parser.add_argument("argv", nargs=argparse.REMAINDER, help="Pass arbitrary arguments to the executable")
    parser.set_defaults(main=_main)


def _main(args: argparse.Namespace) -> str:
    try:
        paths = get_executable_paths(package_name=args.package_name)
    except PackageNotFoundError:
        return f"Package '{args.package_name}' not found"
    found = [path for path in paths if os.path.basename(path) == args.executable_name]
    if not found:
        names = ", ".join(os.path.basename(path) for path in paths)
        hint = f"; '{args.package_name}' has: {names}" if names else ""
        return f"No executable found{hint}"
    if len(found) > 1:
        return "Multiple executables found:\n" + "\n".join(f"- {path}" for path in found)
    command = [*shlex.split(args.prefix or ""), found[0], *args.argv]
    # The executable takes this process's place: signals and the exit code need no passing on.
    os.execvp(command[0], command)
