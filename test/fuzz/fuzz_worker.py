"""Feeds one target in a process of its own, with limits of memory and time: `fuzz_worker.py TARGET --seconds 10`

It prints a line of JSON each second and one for each new fault. The input that is being read is in a file that outlives
the process, for inputs that end it.
"""

from __future__ import annotations

import argparse
import json
import logging
import mmap
import os
import resource
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NoReturn

from fuzz_mutator import LARGEST, Mutator
from fuzz_target import Outcome, Target, Watch, outcome_of
from fuzz_targets import TARGETS

MOST_KEPT = 3000
"""Inputs with an outcome of their own that mutants are made of, besides the seeds."""


class Current:
    """The input being read, in a file: its length, then its bytes."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(4 + 2 * LARGEST))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)

    def put(self, data: bytes) -> None:
        """Remember `data`."""
        self._memory[: 4 + len(data)] = len(data).to_bytes(4, "little") + data

    @staticmethod
    def read(path: Path) -> bytes:
        """Return what was remembered last."""
        content = path.read_bytes()
        return content[4 : 4 + int.from_bytes(content[:4], "little")]


class Run:
    """Feeds inputs and tells what came of them."""

    def __init__(self, name: str, target: Target, folder: Path) -> None:
        self.inputs = self.refused = self.faults = 0
        self.known: set[str] = set()
        self._name, self._target, self._folder = name, target, folder
        self._current = Current(folder / f"{name}.current")
        self._watch = Watch(target.seconds)
        self._started = self._told = time.monotonic()

    def feed(self, data: bytes) -> Outcome:
        """Feed one input; a fault is written to the folder, the first of each kind."""
        if len(data) > 2 * LARGEST:
            raise ValueError(f"a mutant of {len(data)} bytes; cut off, it would only be refused")
        self._current.put(data)
        outcome = outcome_of(self._target, data, self._watch)
        self.inputs += 1
        self.refused += not outcome.where.startswith("accepted")
        if outcome.fault:
            self.faults += 1
            if outcome.where not in self.known:
                self._keep(data, outcome)
        if time.monotonic() > self._told + 1.0:
            self.tell()
        return outcome

    def is_new(self, outcome: Outcome) -> bool:
        """Return whether there was no outcome like this before."""
        new = outcome.where not in self.known
        self.known.add(outcome.where)
        return new

    def tell(self) -> None:
        """Print the figures."""
        self._told = time.monotonic()
        figures = {"inputs": self.inputs, "refused": self.refused, "outcomes": len(self.known), "faults": self.faults}
        count = self._target.operations
        figures["operations"] = 0 if count is None else count()
        print(json.dumps(figures | {"seconds": round(self._told - self._started, 2)}), flush=True)

    def _keep(self, data: bytes, outcome: Outcome) -> None:
        path = self._folder / f"{self._name}-{len(list(self._folder.glob(f'{self._name}-*.bin')))}.bin"
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(f"{outcome.where}\n\n{outcome.fault}", encoding="utf-8")
        print(json.dumps({"fault": outcome.where, "file": str(path)}), flush=True)


def mutants(target: Target, random: Random, kept: list[bytes]) -> Iterator[bytes]:
    """Yield mutants of `kept` for ever; the list may grow in between."""
    mutator = Mutator(random, target.words)
    while True:
        # Half of a valid input: what was refused once is mostly refused again.
        data, other = random.choice(kept if random.random() < 0.5 else target.seeds), random.choice(kept)
        if target.mutate is not None and random.random() < target.mutate_share:
            yield target.mutate(data, random)
        else:
            yield mutator.mutant(data, other)


def feed_mutants(run: Run, target: Target, random: Random, *, seconds: float, most: int) -> None:
    """Feed all seeds, then mutants, until `seconds` or `most` inputs are over.

    An input with a new outcome, such as a refusal at another line, is kept: mutants of it get further than those of the
    seeds.
    """
    kept = list(target.seeds)
    for seed in target.seeds:
        run.is_new(run.feed(seed))
    stop, random_inputs = time.monotonic() + seconds, mutants(target, random, kept)
    while run.inputs < most and time.monotonic() < stop:
        data = next(random_inputs)
        if run.is_new(run.feed(data)) and len(kept) < MOST_KEPT:
            kept.append(data)


def feed_by_coverage(run: Run, target: Target, random: Random, corpus: Path, *, seconds: float, most: int) -> NoReturn:
    """The same with atheris, which keeps inputs that reach new branches in the folder `corpus`. Ends the process."""
    import atheris

    mutator = Mutator(random, target.words)

    def mutate(data: bytes, size: int, seed: int) -> bytes:
        if seed % 2:
            return bytes(atheris.Mutate(data, size))
        own = Random(seed)
        if target.mutate is not None and seed % 4:
            return target.mutate(data, own)[:size]
        return mutator.mutant(data, target.seeds[seed % len(target.seeds)])[:size]

    stop = time.monotonic() + seconds

    def feed(data: bytes) -> None:
        run.is_new(run.feed(data))
        if run.inputs >= most or time.monotonic() >= stop:
            # libFuzzer would end the process in its own way, without the last figures.
            run.tell()
            os._exit(0)

    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed{number}").write_bytes(seed)
    options = [sys.argv[0], str(corpus), f"-max_len={LARGEST}", "-verbosity=0", "-rss_limit_mb=0", "-timeout=0"]
    atheris.Setup(options, feed, custom_mutator=mutate)
    atheris.Fuzz()
    raise AssertionError("libFuzzer ends the process")


def limit_memory(bytes_more: int) -> None:
    """Let this process have `bytes_more` beyond what it has."""
    have = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (have + bytes_more, have + bytes_more))


def arguments() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--most", type=int, default=1 << 62, help="inputs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("fuzz"), help="where faults are written to")
    parser.add_argument("--coverage", action="store_true", help="with atheris")
    return parser.parse_args()


def main() -> None:
    """Feed the target that the command line names."""
    options = arguments()
    options.folder.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    make: Any = TARGETS[options.target]
    if options.coverage:
        import atheris

        with atheris.instrument_imports(include=["fleet_sim", "pocket_ros", "yaml"]):
            target = make()
    else:
        target = make()
    run = Run(options.target, target, options.folder)
    # Once before the limit, so that everything is loaded.
    for seed in target.seeds:
        outcome_of(target, seed, Watch(60.0))
    limit_memory(target.memory)
    random, ends = Random(options.seed), {"seconds": options.seconds, "most": options.most}
    if options.coverage:
        feed_by_coverage(run, target, random, options.folder / f"{options.target}.corpus", **ends)
    feed_mutants(run, target, random, **ends)
    run.tell()


if __name__ == "__main__":
    main()
