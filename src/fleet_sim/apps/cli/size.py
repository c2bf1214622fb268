"""`fleet-sim size`: find how many robots, or how much of anything, a scenario needs to reach its goals."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fleet_sim.apps.cli.arguments import add_workers, positive, seeds
from fleet_sim.apps.cli.sweep import SweepLine
from fleet_sim.base.errors import InvalidValueError, unknown_name
from fleet_sim.base.files import resolve_config, scratch_folder
from fleet_sim.base.settings import load_mapping

if TYPE_CHECKING:
    from fleet_sim.apps.sweeps import Spread

COUNTS = ("at", "grid")
"""Where an entry of robots has their number."""


class Goal(NamedTuple):
    """A figure of a run, and the most or the least that it may be."""

    figure: str
    is_least: bool
    bound: float

    def is_met(self, spread: Spread) -> bool:
        """Return whether the whole 95 % confidence interval of the mean is on the right side of the bound."""
        half = spread.half_width or 0.0
        return spread.mean - half >= self.bound if self.is_least else spread.mean + half <= self.bound


def _goal(text: str) -> Goal:
    found = re.fullmatch(r"\s*([\w.:]+)\s*(>=|<=)\s*([-+.\de]+)\s*", text)
    try:
        if found is not None:
            return Goal(found[1], found[2] == ">=", float(found[3]))
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"must be a figure and a bound, as in throughput_per_h>=800, got {text!r}")


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser(
        "size",
        help="find how many robots a scenario needs to reach its goals",
        description="Run a scenario with more and more robots, each number with all seeds, and find the least number "
        "with which every goal is met: the 95 % confidence interval of the mean is on the right side of its bound.",
    )
    parser.add_argument("scenario", metavar="SCENARIO", help="a scenario file, or the name of a shipped one")
    parser.add_argument(
        "--goal",
        type=_goal,
        action="append",
        required=True,
        metavar="FIGURE>=N",
        help="such as throughput_per_h>=800 or orders_late<=5; can be given several times, all have to be met",
    )
    parser.add_argument("--key", help="the setting that is the number (default: the count of the first robots)")
    parser.add_argument("--least", type=positive, default=1, help="the first number to try (%(default)s)")
    parser.add_argument("--most", type=positive, default=256, help="the last one (%(default)s)")
    parser.add_argument("--seeds", type=seeds, default=[1, 2, 3, 4, 5], metavar="1-5", help="of each number (1-5)")
    parser.add_argument("--duration", type=float, metavar="SECONDS", help="simulated time of each run")
    add_workers(parser, "runs at the same time")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Try numbers and print each; return 0 with the answer, or 1 where no number meets the goals."""
    if args.most < args.least:
        raise InvalidValueError(f"--most: must be at least --least, {args.least}, got {args.most}")
    args.key = args.key or _count_of(args.scenario)
    unmet, tried = args.least - 1, args.least
    # Twice as many until it is enough; more robots are in each other's way at some number, so from below.
    while not _is_enough(args, tried):
        unmet = tried
        if tried == args.most:
            print(f"no number of {args.key} up to {args.most} meets all goals")
            return 1
        tried = min(2 * tried, args.most)
    while tried - unmet > 1:
        middle = (tried + unmet) // 2
        if _is_enough(args, middle):
            tried = middle
        else:
            unmet = middle
    print(f"{args.key}: {tried} meets all goals" + (f", {unmet} does not" if unmet >= args.least else ""))
    return 0


def _count_of(scenario: str) -> str:
    """Return the key path of the number of the first robots; raises InvalidValueError where there is none."""
    robots = load_mapping(resolve_config(scenario)).get("robots")
    first = robots[0] if isinstance(robots, list) and robots and isinstance(robots[0], dict) else {}
    for name in COUNTS:
        if isinstance(first.get(name), dict) and "count" in first[name]:
            return f"robots[0].{name}.count"
    raise InvalidValueError(f"{scenario}: its first robots have no count; say with --key which setting is the number")


def _is_enough(args: argparse.Namespace, number: int) -> bool:
    """Run all seeds with `number`, print what came of it, and return whether all goals are met."""
    from fleet_sim.apps.sweeps import groups_of, limits_of, load_sweep, read_table, run_sweep
    from fleet_sim.base.parallel import LocalExecutor

    plan = load_sweep(
        {"scenario": args.scenario, "parameters": {args.key: [number]}, "seeds": args.seeds, "duration": args.duration}
    )
    line = SweepLine()
    with scratch_folder() as folder:
        table = Path(folder, "size.csv")
        run_sweep(plan, table, LocalExecutor(args.processes, limits_of(plan)), report=line.show)
        line.end()
        (group,) = groups_of(read_table(table))
    if group.failed:
        raise InvalidValueError(f"{group.failed} of {group.runs} runs with {args.key} = {number} failed")
    shown, met = [], []
    for goal in args.goal:
        spread = group.spreads.get(goal.figure)
        if spread is None:
            raise unknown_name("figure of the run", goal.figure, group.spreads)
        met.append(goal.is_met(spread))
        half = f" \u00b1 {spread.half_width:.4g}" if spread.half_width else ""
        shown.append(f"{goal.figure} {spread.mean:.4g}{half} ({'met' if met[-1] else 'not met'})")
    print(f"{number}: {', '.join(shown)}", flush=True)
    return all(met)
