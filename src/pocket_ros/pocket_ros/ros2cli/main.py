"""The entry point of `ros2`: hands over to a full ROS 2 where its `ros2cli` is importable."""

from __future__ import annotations

import importlib


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
    from .cli import main as own

    try:
        return own(argv=argv)
    except ModuleNotFoundError as error:
        if error.name != "cyclonedds":
            raise
        return error.msg
