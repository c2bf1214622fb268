"""`ros2 daemon`: pocket_ros needs none, every command discovers by itself."""

from __future__ import annotations

import argparse

from ..verbs import add_verb, add_verbs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 daemon`."""
    verbs = add_verbs(parser)
    add_verb(verbs, "status", _not_running, "Output the status of the daemon")
    add_verb(verbs, "stop", _not_running, "Stop the daemon if it is running")
    start = add_verb(verbs, "start", _start, "Start the daemon if it isn't running")
    start.add_argument("-d", "--debug", action="store_true", help="Accepted; there is no daemon")


def _not_running(args: argparse.Namespace) -> None:
    print("The daemon is not running")


def _start(args: argparse.Namespace) -> None:
    # Scripts start it before they ask anything, and go on only if that went well.
    print("No daemon was started: the commands of pocket_ros need none")
