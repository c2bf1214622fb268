"""Night: many runs of a lab, in many processes: what broke, grouped by cause, each shrunk, with what was reached.

Everything is written down as it comes: a run that is stopped goes on with the same folder.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

from fleet_sim.apps.lab.bus import MANAGER
from fleet_sim.apps.lab.faults import BROKER, VEHICLE, Event, Moment, burst_schedule, changed_schedule, random_schedule
from fleet_sim.apps.lab.page import Group, case_page, issue_text, night_page
from fleet_sim.apps.lab.run import Case, Failure, Outcome, case_of
from fleet_sim.apps.lab.settings import LabSettings, read_lab
from fleet_sim.apps.lab.shrink import Shrinker, read_case, run_case, write_case
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.files import exists, opened, read_text, write_file
from fleet_sim.base.parallel import Job, JobLimits, LocalExecutor

ORDERS = 8
"""So many streams of orders take turns; bursts need a run without disturbances of each."""
RUNS = "runs.jsonl"
LONGEST = 300.0
"""Real time in s after which a run is ended: its manager does not return."""
REPLAYS = 10
MOST_KEPT = 200
STRATEGIES = ("random", "bursts", "search")


@lru_cache(maxsize=4)
def _lab(text: str, source: str) -> LabSettings:
    lab = read_lab(json.loads(text))
    lab.source = source
    return lab


@lru_cache(maxsize=2 * ORDERS)
def _moments(text: str, source: str, seed: int) -> tuple[Moment, ...]:
    """Return the changes of state in the undisturbed run of a seed."""
    lab = _lab(text, source)
    return tuple(run_case(lab, case_of(lab, seed)).moments)


def perform(job: Mapping[str, Any]) -> dict[str, Any]:
    """Do a job in a worker: run a case that is drawn here, or shrink one; return plain values."""
    lab = _lab(job["lab"], job["source"])
    if job["do"] == "shrink":
        return _shrink(lab, job)
    seed, number, strategy = job["seed"] + job["number"] % ORDERS, job["number"], job["strategy"]
    case, random = case_of(lab, seed), Random(f"schedule {job['seed']} {number}")
    targets = {VEHICLE: case.vehicles, MANAGER: [MANAGER], BROKER: [BROKER]}
    if strategy == "random":
        case.events = random_schedule(random, lab.disturbances, targets, lab.duration)
    elif strategy == "bursts" and (moments := _moments(job["lab"], job["source"], seed)):
        case.events = burst_schedule(random, lab.disturbances, targets, moments)
    elif strategy == "search":
        case.events = changed_schedule(random, job["events"], lab.disturbances, targets, lab.duration)
    begin = time.process_time()
    outcome = run_case(lab, case)
    return {
        "number": number,
        "strategy": strategy,
        "case": case.plain(),
        "failure": None if outcome.failure is None else outcome.failure._asdict(),
        "seconds": outcome.seconds,
        "processor": time.process_time() - begin,
        "ended": dict(outcome.ended),
        "states": dict(outcome.states),
        "transitions": dict(outcome.transitions),
    }


def _shrink(lab: LabSettings, job: Mapping[str, Any]) -> dict[str, Any]:
    """Shrink a case, and write its files; return what it came to."""
    case = Case(**job["case"])
    outcome = run_case(lab, case)
    wanted = Failure(**job["failure"])
    if outcome.failure is None or outcome.failure.group != wanted.group:
        # It did not come back: all that can be kept is what was seen.
        write_case(f"{job['file']}.yaml", lab, case, wanted, "not in the first replay")
        return {"events": len(case.events), "vehicles": len(case.vehicles), "came": "not in the first replay"}
    shrunk = Shrinker(lab, outcome, job["most"]).shrink()
    came = came_back(lab, shrunk.outcome)
    write_files(job["file"], lab, shrunk.outcome, came)
    return {"events": len(shrunk.case.events), "vehicles": len(shrunk.case.vehicles), "came": came}


def came_back(lab: LabSettings, outcome: Outcome, times: int = REPLAYS) -> str:
    """Return how often a failure comes back: in all runs where two are equal bit for bit, else in `times` replays."""
    assert outcome.failure is not None
    again = run_case(lab, outcome.case)
    if not lab.manager.program and again.digest == outcome.digest:
        return "in each replay, bit for bit"
    found = [again, *(run_case(lab, outcome.case) for _ in range(times - 1))]
    count = sum(one.failure is not None and one.failure.group == outcome.failure.group for one in found)
    return f"in {count} of {times} replays"


def write_files(
    name: str | Path, lab: LabSettings, outcome: Outcome, came: str = "", *, case_file: bool = True
) -> None:
    """Write the case, unless it is there, its page and its text for an issue tracker."""
    command = f"fleet-sim lab replay {Path(name).name}.yaml"
    if case_file:
        write_case(f"{name}.yaml", lab, outcome.case, outcome.failure, came)
    write_file(f"{name}.html", case_page(outcome, command, came and f"It came back {came}."))
    write_file(f"{name}.md", issue_text(outcome, command, came and f"It came back {came}."))


@dataclass
class Seen:
    """What is kept of the failures of one cause: how many, the first run, and the one with the fewest events."""

    first: int
    failure: dict[str, Any]
    case: dict[str, Any]
    count: int = 0
    undisturbed: bool = False

    def add(self, answer: Mapping[str, Any]) -> None:
        """Count a run that failed so."""
        self.count += 1
        self.undisturbed |= answer["strategy"] == "none"
        if len(answer["case"]["events"]) < len(self.case["events"]):
            self.failure, self.case = answer["failure"], answer["case"]


@dataclass
class Night:
    """All that is known of the runs of a folder."""

    lab: LabSettings
    folder: Path
    seed: int = 1
    jobs: int = 0
    """How many processes; 0 runs all in this one."""
    runs: int | None = None
    seconds: float | None = None
    most_shrinking: int = 200
    show: Callable[[str], object] = print
    done: int = 0
    simulated: float = 0.0
    processor: float = 0.0
    states: Counter[str] = field(default_factory=Counter)
    transitions: Counter[str] = field(default_factory=Counter)
    seen: dict[tuple[str, str], Seen] = field(default_factory=dict)
    shrunk: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    corpus: list[list[Event]] = field(default_factory=list)
    _next: int = 0
    _waiting: list[tuple[str, str]] = field(default_factory=list)

    def resume(self) -> None:
        """Take over what an earlier call has written."""
        path = self.folder / RUNS
        if exists(path):
            text = read_text(path)
            whole = text[: text.rfind("\n") + 1]
            if whole != text:
                # The machine went off while the last line was written.
                write_file(path, whole)
            for line in whole.splitlines():
                self._take(json.loads(line))
        self._waiting = [group for group in self.seen if group not in self.shrunk]

    def run(self) -> None:
        """Run until the number of runs or the time is over, then shrink what is new, and write the page."""
        begin = time.monotonic()
        with opened(self.folder / RUNS, "a") as log:
            while True:
                for answer, content in self._answers(self._to_do(begin)):
                    if content["do"] == "run":
                        log.write(json.dumps(answer) + "\n")
                        log.flush()
                        self._take(answer, tell=True)
                    else:
                        self._took_shrunk(content, answer)
                # The last runs may have failed when there was nothing else to do.
                if not self._waiting:
                    break
        self.write_page()

    def _answers(self, jobs: Iterator[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Do the jobs, here or in other processes, and yield what came of each."""
        if self.jobs == 0:
            for content in jobs:
                yield perform(content), content
            return
        known: dict[int, dict[str, Any]] = {}

        def numbered() -> Iterator[Job]:
            for number, content in enumerate(jobs):
                known[number] = content
                yield Job(number, content)

        with LocalExecutor(self.jobs, JobLimits(seconds=None if self.lab.manager.program else 20 * LONGEST)).crew(
            _worker
        ) as crew:
            for ended in crew.run(numbered()):
                content = known.pop(ended.number)
                yield ended.value or self._unanswered(content, ended.error), content

    def _unanswered(self, content: dict[str, Any], error: str) -> dict[str, Any]:
        """Return what is kept of a run that never ended, or whose process died."""
        failure = Failure(
            "manager", "The manager lives: it neither ends nor falls silent, floods or grows.", error, error, 0.0
        )
        if content["do"] == "shrink":
            return {"events": -1, "vehicles": -1, "came": error}
        empty: dict[str, int] = {}
        return {
            "number": content["number"],
            "strategy": content["strategy"],
            "case": case_of(self.lab, content["seed"]).plain(),
            "failure": failure._asdict(),
            "seconds": 0.0,
            "processor": 0.0,
            "ended": empty,
            "states": empty,
            "transitions": empty,
        }

    def _to_do(self, begin: float) -> Iterator[dict[str, Any]]:
        """Yield jobs: first what is to be shrunk, then runs; the first one is undisturbed."""
        lab = {"lab": json.dumps(self.lab.plain), "source": self.lab.source}
        while True:
            while self._waiting:
                yield {"do": "shrink", **lab, **self._first_of(self._waiting.pop(0))}
            is_late = self.seconds is not None and time.monotonic() - begin > self.seconds
            if is_late or (self.runs is not None and self._next >= self.runs):
                return
            number, self._next = self._next, self._next + 1
            strategy = "none" if number == 0 else STRATEGIES[number % 3]
            events: list[Event] = []
            if strategy == "search":
                events = self.corpus[Random(f"{self.seed} {number}").randrange(len(self.corpus))] if self.corpus else []
            yield {"do": "run", **lab, "seed": self.seed, "number": number, "strategy": strategy, "events": events}

    def _first_of(self, group: tuple[str, str]) -> dict[str, Any]:
        seen = self.seen[group]
        name = re.sub(r"[^a-z0-9]+", "-", f"{group[0]} {group[1]}".lower()).strip("-")[:60]
        number = list(self.seen).index(group) + 1
        return {
            "case": seen.case,
            "failure": seen.failure,
            "group": list(group),
            "file": str(self.folder / f"{number:02d}-{name}"),
            "most": self.most_shrinking,
        }

    def _take(self, answer: dict[str, Any], *, tell: bool = False) -> None:
        """Count a run, and keep its schedule where it reached something new."""
        if answer.get("do") == "shrunk":
            self.shrunk[tuple(answer["group"])] = answer
            return
        self.done += 1
        self._next = max(self._next, answer["number"] + 1)
        self.simulated += answer["seconds"]
        self.processor += answer["processor"]
        new = [key for key in answer["transitions"] if key not in self.transitions]
        self.states.update(answer["states"])
        self.transitions.update(answer["transitions"])
        if new and len(self.corpus) < MOST_KEPT:
            self.corpus.append(answer["case"]["events"])
        if answer["failure"] is not None:
            group = Failure(**answer["failure"]).group
            is_new = group not in self.seen
            seen = Seen(answer["number"], answer["failure"], answer["case"])
            self.seen.setdefault(group, seen).add(answer)
            if is_new and tell:
                self._waiting.append(group)
                self.show(f"run {answer['number']} ({answer['strategy']}): {group[0]}: {group[1]}")

    def _took_shrunk(self, content: dict[str, Any], answer: dict[str, Any]) -> None:
        group = tuple(content["group"])
        kept = {"do": "shrunk", "group": list(group), "file": Path(content["file"]).name, **answer}
        self.shrunk[group] = kept
        with opened(self.folder / RUNS, "a") as log:
            log.write(json.dumps(kept) + "\n")
        size = f"{answer['events']} events, {answer['vehicles']} vehicles"
        self.show(f"  shrunk to {size}: {content['file']}.yaml, {answer['came']}")

    # ---- what is read ------------------------------------------------------------------------------------------------

    def groups(self) -> list[Group]:
        """Return the causes, the most frequent first."""
        found = []
        for key, seen in self.seen.items():
            small = self.shrunk.get(key, {})
            found.append(
                Group(
                    *key,
                    seen.failure["sentence"],
                    seen.count,
                    seen.first,
                    f"{small['file']}.yaml" if small else "",
                    small.get("events", -1),
                    small.get("vehicles", -1),
                    small.get("came", ""),
                )
            )
        return sorted(found, key=lambda group: -group.seen)

    def figures(self) -> dict[str, str]:
        """Return how much was run, and how fast."""
        failed = sum(seen.count for seen in self.seen.values())
        rate = self.simulated / 60.0 / self.processor if self.processor else 0.0
        return {
            "runs": str(self.done),
            "failed": str(failed),
            "causes": str(len(self.seen)),
            "simulated hours": f"{self.simulated / 3600.0:.2f}",
            "simulated hours in a minute of processor": f"{rate:.2f}",
            "states of vehicles": str(len(self.states)),
            "changes of state": str(len(self.transitions)),
            "undisturbed run": self._undisturbed(),
        }

    def _undisturbed(self) -> str:
        for key, seen in self.seen.items():
            if seen.undisturbed:
                return f"fails: {key[0]}: {key[1]}"
        return "nothing broke"

    def write_page(self) -> None:
        """Write index.html."""
        page = night_page(self.figures(), self.groups(), self.states, self.transitions)
        write_file(self.folder / "index.html", page)


def _worker() -> Callable[[Any], Any]:
    return perform


def replayed(file: str | Path) -> Outcome:
    """Return what comes of a case in a process of its own, where sets have the order that they had in the night."""
    with LocalExecutor(1).crew(_replayer) as crew:
        for ended in crew.run([Job(0, str(file))]):
            if isinstance(ended.value, Outcome):
                return ended.value
            raise FleetSimError(ended.error)
    raise AssertionError("a crew answers each job")


def _replayer() -> Callable[[Any], Any]:
    return _replay


def _replay(file: str) -> Outcome:
    lab, case, _ = read_case(file)
    return run_case(lab, case)
