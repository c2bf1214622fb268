"""`fleet-sim lockstep`: let several nodes of fleet_sim step together, with one clock."""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from typing import Any

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.limits import SLOWEST

LONGEST_SLEEP = 3600.0
"""In s."""


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("lockstep", help="step several ROS nodes together, with one /clock")
    parser.add_argument(
        "namespaces", metavar="NAMESPACE", nargs="+", help="namespace of a node that was started with paused:=true"
    )
    parser.add_argument(
        "--period", type=float, default=0.1, metavar="S", help="simulated s between synchronizations (default: 0.1)"
    )
    parser.add_argument("--duration", type=float, metavar="S", help="simulated s to run (default: until Ctrl-C)")
    parser.add_argument("--rtf", type=float, default=1.0, metavar="X", help="simulated s per real s; 0: no limit")
    parser.add_argument(
        "--patience",
        type=float,
        default=60.0,
        metavar="S",
        help="real s to wait for the response of a node (default: 60)",
    )
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Step until the end; return 0. Ctrl-C is answered by `main`; the nodes stay paused."""
    if args.rtf and not SLOWEST <= args.rtf <= 1000.0:
        raise ConfigError(f"--rtf: expected 0 to 1000, at least {SLOWEST:g} if not 0, got {args.rtf}")
    if args.duration is not None and not args.period <= args.duration <= 1e9:
        raise ConfigError(f"--duration: expected the period ({args.period:g} s) at least, got {args.duration:g}")
    if find_spec("rclpy") is None:
        raise ConfigError("lockstep needs ROS 2, or pocket_ros: see docs/ros.md")
    from fleet_sim.ros.lockstep import Lockstep

    lockstep = Lockstep(args.namespaces, args.period, patience=args.patience)
    try:
        lockstep.begin()
        print(f"{len(args.namespaces)} nodes at {lockstep.time / 1e9:g} s", flush=True)
        last = float("inf") if args.duration is None else round(args.duration / args.period)
        begin, made = time.monotonic(), 0
        while made < last:
            now = lockstep.advance()
            made += 1
            if args.rtf:
                _sleep_until(begin + made * args.period / args.rtf)
        print(f"all at {now:g} s, after {made} periods", flush=True)
    finally:
        lockstep.close()
    return 0


def _sleep_until(moment: float) -> None:
    """Return once time.monotonic() is at `moment`."""
    while (wait := moment - time.monotonic()) > 0.0:
        # Nobody can sleep for 300 years at once.
        time.sleep(min(wait, LONGEST_SLEEP))
