"""`fleet-sim certify`: prove from a certificate that its robots touched nothing."""

from __future__ import annotations

import argparse
import signal
import threading
from typing import Any


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("certify", help="prove from a certificate that its robots touched nothing")
    parser.add_argument("file", metavar="FILE", help="what `--certificate FILE` of a run has written")
    parser.add_argument("--map", metavar="MAP", help="also check that its floor is that of this .map")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Return 0, 1 where something is not proved, or 2 where the file is no certificate."""
    from fleet_sim.apps.certify import main

    # Compiled loops do not look for signals; nothing is being written that would have to be finished.
    own = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.getsignal(number) for number in own}
    try:
        for number, handler in before.items():
            # In the background of a shell it is ignored, and stays so.
            if handler is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        return main(args.file, args.map)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
