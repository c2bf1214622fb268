"""From a case that fails to a small one that fails in the same way, and the files of such cases."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from fleet_sim.apps.lab.managers import class_at
from fleet_sim.apps.lab.oracles import oracles_of
from fleet_sim.apps.lab.run import Case, Failure, LabRun, Outcome, without_vehicles
from fleet_sim.apps.lab.settings import LabSettings, read_lab
from fleet_sim.base.errors import ConfigError, brief
from fleet_sim.base.files import program_named, write_file
from fleet_sim.base.settings import load_mapping

FORMAT = 1


AT_THE_END = ("end", "progress", "vehicle")
"""Oracles that see a failure long after it was made."""
LATER = 60.0
"""How much later (s) than at first a failure may be seen in a smaller case."""


def run_case(lab: LabSettings, case: Case, until: float = math.inf) -> Outcome:
    """Run a case with the oracles of its lab."""
    return LabRun(lab, case, oracles_of(lab)).run(until)


@dataclass
class Shrunk:
    """The smallest case that was found, what came of it, and how many runs that took."""

    case: Case
    outcome: Outcome
    runs: int


class Shrinker:
    """Delta debugging: leaves out events, orders and vehicles, and makes numbers smaller, while the failure stays.

    The failure is the same where oracle and kind of cause are. It ends after `most` runs with the best case until then.
    """

    def __init__(self, lab: LabSettings, failed: Outcome, most: int = 200) -> None:
        assert failed.failure is not None
        self._lab, self._left, self._most = lab, most, most
        self._wanted = failed.failure.group
        self.best, self.outcome = failed.case, failed

    def shrink(self) -> Shrunk:
        """Return the smallest case that was found."""
        self._end_early()
        size = -1
        while size != self._size() and self._left > 0:
            size = self._size()
            self._without("events", lambda case, items: replace(case, events=items))
            self._without("orders", lambda case, items: replace(case, orders=items))
            self._without_vehicles()
            self._simpler()
        return Shrunk(self.best, self.outcome, self._most - self._left)

    def _end_early(self) -> None:
        """Leave out all that comes after the failure."""
        assert self.outcome.failure is not None
        case, at = self.best, self.outcome.failure.at
        self._fails(
            replace(
                case,
                events=[event for event in case.events if event["at"] <= at],
                orders=[order for order in case.orders if order["at"] <= at],
            )
        )

    def _size(self) -> int:
        return len(self.best.events) + len(self.best.orders) + len(self.best.vehicles)

    def _fails(self, case: Case) -> bool:
        """Run a case; keep it where it fails in the same way."""
        if self._left <= 0:
            return False
        self._left -= 1
        assert self.outcome.failure is not None
        until = math.inf if self._wanted[0] in AT_THE_END else self.outcome.failure.at + LATER
        outcome = run_case(self._lab, case, until)
        if outcome.failure is None or outcome.failure.group != self._wanted:
            return False
        self.best, self.outcome = case, outcome
        return True

    def _without(self, name: str, make: Callable[[Case, list[Any]], Case]) -> None:
        """Leave out what is not needed of a list: halves first, then smaller parts, as Zeller's ddmin does."""
        parts = 2
        while (items := getattr(self.best, name)) and self._left > 0:
            parts = min(parts, len(items))
            size = -(-len(items) // parts)
            for begin in range(0, len(items), size):
                if self._fails(make(self.best, items[:begin] + items[begin + size :])):
                    parts = max(2, parts - 1)
                    break
            else:
                if size == 1:
                    return
                parts *= 2

    def _without_vehicles(self) -> None:
        for name in list(self.best.vehicles):
            if len(self.best.vehicles) > 1:
                self._fails(without_vehicles(self.best, [name]))

    def _simpler(self) -> None:
        """Make the numbers of events smaller, and let orders stand."""
        for index in range(len(self.best.events)):
            for key, value in list(self.best.events[index].items()):
                if key in ("at", "do", "on") or isinstance(value, (str, bool)):
                    continue
                for simple in (0, 1) if isinstance(value, int) else (1.0, round(value / 2.0, 1)):
                    if simple < value and (simple or key == "after"):
                        events = [dict(event) for event in self.best.events]
                        events[index][key] = simple
                        if self._fails(replace(self.best, events=events)):
                            break
        for index, order in enumerate(self.best.orders):
            if order["cancel"] is not None:
                orders = [dict(order) for order in self.best.orders]
                orders[index]["cancel"] = None
                self._fails(replace(self.best, orders=orders))


def check_parts(lab: LabSettings) -> None:
    """Raise ConfigError for a manager or an oracle that cannot be found, before anything starts."""
    oracles_of(lab)
    if lab.manager.python:
        class_at(lab.manager.python, "manager.python", lab.source)
        return
    if lab.manager.ros and find_spec("rclpy") is None:
        raise ConfigError("there is no ROS 2 here, and no pocket_ros", path="manager.ros", source=lab.source)
    try:
        given = {"site": "", "storage": ""} | ({"port": 1} if lab.manager.command else {})
        (program, *_), _ = shlex.split(lab.manager.program), lab.manager.program.format(**given)
    except (ValueError, KeyError, IndexError) as error:
        expected = f"expected a program with {', '.join(f'{{{name}}}' for name in given)}"
        raise ConfigError(f"{expected}: {error!r}", path="manager", source=lab.source) from error
    if program not in ("python", "python3") and program_named(program) is None:
        raise ConfigError(f"there is no program {program!r}", path="manager", source=lab.source)


# Files of cases.


def write_case(path: str | Path, lab: LabSettings, case: Case, failure: Failure | None, came: str = "") -> None:
    """Write a case and how it fails into a file that can be edited and replayed."""
    plain: dict[str, Any] = {"format": FORMAT, "lab": _found(lab), "case": case.plain()}
    if failure is not None:
        plain["failure"] = failure._asdict()
    if came:
        plain["came_back"] = came
    write_file(path, yaml.safe_dump(plain, sort_keys=False, width=120, allow_unicode=True))


def _found(lab: LabSettings) -> dict[str, Any]:
    """Return the lab with the file of its manager as a path from anywhere."""
    from fleet_sim.base.files import beside

    plain = {key: value for key, value in lab.plain.items() if key != "disturbances"}
    file, _, name = lab.manager.python.rpartition(":")
    if file.endswith(".py"):
        found = Path(beside(lab.source, file) if lab.source else file).resolve()
        plain["manager"] = {**plain["manager"], "python": f"{found}:{name}"}
    return plain


def read_case(path: str | Path) -> tuple[LabSettings, Case, Failure | None]:
    """Return what `write_case` has written; raises ConfigError."""
    plain, source = load_mapping(path), str(path)
    if plain.get("format") != FORMAT or not all(isinstance(plain.get(key), Mapping) for key in ("case", "lab")):
        raise ConfigError("is no case of a lab: expected `format: 1`, `lab` and `case`", source=source)
    lab = read_lab(plain["lab"])
    lab.source = source
    try:
        case = Case(**plain["case"])
        failure = Failure(**plain["failure"]) if plain.get("failure") else None
        _check(lab, case)
    except (TypeError, KeyError, ValueError) as error:
        raise ConfigError(f"case: {error}", source=source) from error
    return lab, case, failure


def _check(lab: LabSettings, case: Case) -> None:
    """Raise ValueError for what a run could not carry out."""
    from fleet_sim.apps.lab.faults import check_event

    starts, nodes = lab.starts(), lab.site["nodes"]
    for name in case.vehicles:
        if not name[1:].isdecimal() or name[0] != "v" or int(name[1:]) >= len(starts):
            raise ValueError(f"vehicles: {name!r} is none of v0 to v{len(starts) - 1}")
    if not case.vehicles or len(set(case.vehicles)) < len(case.vehicles):
        raise ValueError(f"vehicles: expected some, each once, got {case.vehicles}")
    if isinstance(case.seed, bool) or not isinstance(case.seed, int):
        raise ValueError(f"seed: expected a whole number, got {brief(case.seed)}")
    if not all(isinstance(order["id"], str) for order in case.orders):
        raise ValueError("orders: expected texts as ids")
    if len({order["id"] for order in case.orders}) < len(case.orders):
        raise ValueError("orders: two have the same id")
    for order in case.orders:
        for at in (order["at"], 0.0 if order["cancel"] is None else order["cancel"]):
            if isinstance(at, bool) or not isinstance(at, (int, float)) or not 0 <= at <= 1e6:
                raise ValueError(f"orders: expected seconds, got {brief(at)}")
        for key in ("from", "to"):
            if order[key] not in nodes:
                raise ValueError(f"orders: there is no node {order[key]!r}")
    for event in case.events:
        check_event(event, case.vehicles)
