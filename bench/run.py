"""Compare fleet_sim with pybullet-fleet on the same workload, side by side, and print one table.

Each measurement is a process of its own; the two simulators take turns, so that a change in the machine's load meets
both. Times are medians of all steps and rounds; ratios are formed round by round.

Run: make bench, or python bench/run.py [--quick] [--rounds 3] [--peer .venv-peer/bin/python] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from plan import FULL_SIZES, PEER_LIMIT, QUICK_SIZES, Plan
from results import Failure, Results
from tables import print_all


def main() -> int:
    """Measure and print; return 0, or 1 if a measurement failed."""
    args = parse()
    sizes = args.robots or (QUICK_SIZES if args.quick else FULL_SIZES)
    plan = Plan(sizes, quick=args.quick, steps=args.steps, clock=args.clock)
    results = Results()
    try:
        measure(plan, results, args.peer, args.rounds)
    except Failure as error:
        print(error, file=sys.stderr)
        return 1
    print_all(plan, results)
    if args.json is not None:
        args.json.write_text(json.dumps(results.as_json(), indent=1), encoding="utf-8")
    return 0


def measure(plan: Plan, results: Results, peer: str | None, rounds: int) -> None:
    """Run every case `rounds` times; cases that only count run once."""
    for case in plan.compared():
        for _ in range(rounds):
            progress(f"{case}")
            results.measure("ours", sys.executable, case)
            if peer is not None and case.robots <= PEER_LIMIT:
                results.measure("peer", peer, case)
    for case in plan.own():
        for _ in range(rounds):
            progress(f"{case}")
            results.measure("ours", sys.executable, case)
    for case in plan.parity():
        progress(f"{case}")
        results.measure("ours", sys.executable, case)
    progress("")


def progress(text: str) -> None:
    """Show the running case if the output is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 robots, half moving, omnidirectional")
    parser.add_argument("--rounds", type=int, default=3, help="number of measurements per case (default 3)")
    parser.add_argument("--peer", metavar="PYTHON", help="interpreter with pybullet-fleet; without it: fleet_sim alone")
    parser.add_argument("--robots", type=int, nargs="+", metavar="N", help="fleet sizes to measure instead")
    parser.add_argument("--steps", type=int, metavar="N", help="steps measured in each run (default: by size)")
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu: time used by the process (one thread in both), for a machine that does other work as well",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all measurements to this file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
