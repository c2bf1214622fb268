"""`fleet-sim evolve`: search the parameters of a swarm world for the best value of a metric."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet_sim.apps.cli.arguments import LENGTH, StatusLine, add_workers, bar, positive
from fleet_sim.base.files import remove, resolve_config

if TYPE_CHECKING:
    from fleet_sim.swarm.evolution import Search, SearchOutcome


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("evolve", help="search parameters of a swarm world for the best value of a metric")
    parser.add_argument("config", metavar="CONFIG", help="a YAML file with world, parameters and metric")
    parser.add_argument("--generations", type=positive, metavar="N", help="number of generations to search")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the search")
    parser.add_argument(
        "--output", metavar="FILE", help="file for the best world (default: CONFIG.best.yaml in this folder)"
    )
    add_workers(parser, "worker processes")
    parser.add_argument("--restart", action="store_true", help="start again instead of continuing from the log")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Search, write the best world and print its parameters; return 0, or 130 after Ctrl-C, which keeps the log."""
    from fleet_sim.swarm.evolution import evolve, load_search, write_best

    path = resolve_config(args.config)
    search = load_search(path)
    for name in ("generations", "seed"):
        if getattr(args, name) is not None:
            # Set past the reader, with values that argparse has checked.
            setattr(search.config, name, getattr(args, name))
    output = Path(args.output or f"{path.stem}.best.yaml")
    log = output.with_suffix(".log.jsonl")
    # Missing is fine: there may have been no run before this one.
    if args.restart:
        remove(log)
    line = ProgressLine(search)
    try:
        outcome = evolve(search, log=log, processes=args.processes, report=line.show)
    except KeyboardInterrupt:
        print(f"\nstopped; the same command continues from {log}", file=sys.stderr)
        # As shells report a program that ended by SIGINT: 128 + 2.
        return 130
    line.end()
    write_best(search, outcome, output)
    print(f"{search.config.metric}: {outcome.best_value:.6g} after {outcome.generation} generations")
    for place, value in outcome.best.items():
        print(f"  {place}: {value:.6g}")
    print(f"wrote {output}; run it with: fleet-sim swarm {output}")
    return 0


class ProgressLine(StatusLine):
    """The line with the progress of the search."""

    def __init__(self, search: Search) -> None:
        super().__init__()
        self._total = search.config.generations
        self._metric = search.config.metric
        self._begin = time.perf_counter()
        self._first: int | None = None

    def show(self, outcome: SearchOutcome) -> None:
        """Print the progress after a generation."""
        # A search that continues from a log starts at a later generation. Only the generations of this run count for
        # the time per generation.
        if self._first is None:
            self._first = outcome.generation - 1
        # As generations are all of one size, so far is a good guess of what is left.
        share = outcome.generation / self._total
        per_generation = (time.perf_counter() - self._begin) / (outcome.generation - self._first)
        left = per_generation * (self._total - outcome.generation)
        self.write(
            f"{bar(round(LENGTH * share))} generation {outcome.generation}/{self._total}"
            f"  best {self._metric} {outcome.best_value:.5g}  this {outcome.history[-1]:.5g}  {left:.0f} s left"
        )
