"""The daemon of `ros2`, which is not there: commands need none."""

from __future__ import annotations

import argparse
from typing import Any

from ...module_places import not_covered


def is_daemon_running(args: Any) -> bool:
    """False."""
    return False


def shutdown_daemon(args: Any, timeout: float | None = None) -> bool:
    """False: there was none to shut down."""
    return False


def spawn_daemon(args: Any, timeout: float | None = None, debug: bool = False) -> bool:
    """False: none is started."""
    return False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The argument of commands that could ask a daemon."""
    parser.add_argument("--no-daemon", action="store_true", help="Accepted; there is no daemon")


__getattr__ = not_covered("ros2cli.node.daemon")
