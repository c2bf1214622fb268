"""What goes wrong in a lab: the kinds of disturbances with their ranges, and schedules that are drawn from a seed.

A schedule is a list of plain events {at, do, on, ...}: it can be written down, edited, replayed and shrunk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from fleet_sim.base.errors import FleetSimError, brief
from fleet_sim.warehouse.disturbances.section import DISTURBANCES, read_entry

VEHICLE, MANAGER, BROKER = "vehicle", "manager", "broker"
Range = Any
"""Two numbers, from and to; a list of words, one of which is chosen; or a value."""
Event = dict[str, Any]


class Fault(NamedTuple):
    """A kind of event: whom it is aimed at, and the ranges of its parameters where the lab file says nothing."""

    aim: str
    ranges: Mapping[str, Range]
    doc: str


_WAY = ["to", "from"]
FAULTS: dict[str, Fault] = {
    "late": Fault(VEHICLE, {"way": _WAY, "count": [1, 4], "by": [0.3, 3.0]}, "The next `count` messages are late."),
    "lost": Fault(VEHICLE, {"way": _WAY, "count": [1, 4]}, "The next `count` messages never come."),
    "twice": Fault(VEHICLE, {"way": _WAY, "count": [1, 4]}, "The next `count` messages come twice."),
    "overtaken": Fault(VEHICLE, {"way": _WAY, "count": [1, 2], "by": [0.3, 3.0]}, "Later messages pass them."),
    "cut": Fault(
        VEHICLE, {"lasts": [0.5, 30.0], "told": [0.0, 20.0]}, "No connection; its last will comes `told` later."
    ),
    "old_state": Fault(VEHICLE, {}, "The first state that it sent is retained, and comes again."),
    "old_order": Fault(VEHICLE, {}, "The first order that it got is retained on its topic, and comes again."),
    "garbage": Fault(VEHICLE, {"way": _WAY}, "Bytes that are no message are retained on a topic."),
    "cut_manager": Fault(MANAGER, {"lasts": [0.5, 20.0]}, "The manager has no connection."),
    "kill": Fault(MANAGER, {"lasts": [0.5, 20.0], "after": [0, 3]}, "The manager is killed, now or `after` messages."),
    "broker_restart": Fault(BROKER, {"lasts": [0.5, 10.0], "keeps": ["yes", "no"]}, "With retained messages or not."),
    "breakdown": Fault(VEHICLE, {"lasts": [3.0, 40.0]}, "It stands and tells a fatal error."),
    "slow": Fault(VEHICLE, {"lasts": [5.0, 60.0], "pace": [0.2, 0.8]}, "It drives slowly."),
    "emergency_stop": Fault(VEHICLE, {"lasts": [2.0, 30.0], "release": ["autoack", "manual"]}, "It is stopped."),
    "manual": Fault(VEHICLE, {"lasts": [5.0, 40.0]}, "A person drives it; orders are refused."),
    "reboot": Fault(VEHICLE, {"lasts": [1.0, 20.0]}, "It is switched off and on, and forgets its order."),
    "action_failure": Fault(VEHICLE, {"next": [1, 1], "lasts": [60.0, 60.0]}, "Its next action fails."),
    "silent": Fault(VEHICLE, {"lasts": [2.0, 40.0]}, "It sends and hears nothing, and drives on."),
    "battery_fault": Fault(
        VEHICLE, {"level": [0.05, 0.15], "lasts": [1.0, 1.0]}, "Its battery is nearly empty at once."
    ),
    "radio": Fault(
        VEHICLE,
        {"lasts": [2.0, 30.0], "loss": [0.0, 1.0], "latency": [0.0, 2.0], "duplicates": [0.0, 0.5]},
        "Its radio loses messages, and brings them late or twice.",
    ),
}
"""What the lab does by itself, and kinds of the section `disturbances`; a lab file may name all others of those."""

OF_MESSAGES = ("late", "lost", "twice", "overtaken")
OF_BUS = (*OF_MESSAGES, "cut", "old_state", "old_order", "garbage", "cut_manager", "broker_restart")
"""What happens between vehicles and their manager by VDA 5050."""
OF_LAB = (*OF_BUS, "kill")


@dataclass
class Faults:
    """Which kinds are drawn, with the ranges of their parameters, and how many a run has."""

    ranges: dict[str, dict[str, Range]] = field(default_factory=dict)
    most: int = 8

    def draw(self, random: Random, at: float, targets: Mapping[str, Sequence[str]], on: str = "") -> Event:
        """Return an event at the time `at`; `on` is its vehicle, if its kind has one."""
        kind = random.choice(sorted(self.ranges))
        aim = FAULTS[kind].aim if kind in FAULTS else VEHICLE
        target = random.choice(list(targets[aim]))
        event: Event = {"at": round(at, 1), "do": kind, "on": on if on and aim == VEHICLE else target}
        for name, span in self.ranges[kind].items():
            event[name] = drawn(span, random)
        return event


def drawn(span: Range, random: Random) -> Any:
    """Return a value in a range; numbers are rounded so that people can read them."""
    if not isinstance(span, list):
        return span
    if len(span) == 2 and all(isinstance(end, (int, float)) and not isinstance(end, bool) for end in span):
        low, high = span
        return (
            random.randint(low, high) if isinstance(low, int) and isinstance(high, int) else _round(low, high, random)
        )
    return random.choice(span)


def _round(low: float, high: float, random: Random) -> float:
    return min(max(round(random.uniform(low, high), 1), low), high)


def read_faults(given: object, problems: list[str], *, batteries: bool, over_ros: bool = False) -> Faults:
    """Return what a lab file says about disturbances of vehicles; what is wrong is added to `problems`."""
    if not isinstance(given, Mapping):
        problems.append(
            f"disturbances: expected kinds with ranges, such as {{lost: {{count: [1, 3]}}}}, got {brief(given)}"
        )
        return Faults()
    most = given.get("most", 8)
    if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= 1000:
        problems.append(f"disturbances.most: expected a whole number up to 1000, got {brief(most)}")
    kinds = {key: value for key, value in given.items() if key != "most"}
    if not kinds:
        left_out = [] if batteries else ["battery_fault"]
        left_out += OF_BUS if over_ros else ["radio"]
        names = [name for name in FAULTS if name not in left_out]
        return Faults({name: dict(FAULTS[name].ranges) for name in names}, most)
    found: dict[str, dict[str, Range]] = {}
    for name, ranges in kinds.items():
        path = f"disturbances.{name}"
        if name == "battery_fault" and not batteries:
            problems.append(f"{path}: the vehicles have no battery")
        if over_ros and name in OF_BUS:
            problems.append(f"{path}: is no disturbance over ROS; `radio` is what messages suffer there")
        if name not in FAULTS and name not in DISTURBANCES:
            problems.append(f"{path}: expected one of {', '.join(sorted({*FAULTS, *DISTURBANCES.names()}))}")
            continue
        if ranges is not None and not isinstance(ranges, Mapping):
            problems.append(f"{path}: expected ranges of its parameters, got {brief(ranges)}")
            continue
        known = dict(FAULTS[name].ranges) if name in FAULTS else {}
        found[name] = {**known, **(ranges or {})}
        problems += _check(name, found[name], path)
    return Faults(found, most)


def _check(name: str, ranges: Mapping[str, Range], path: str) -> list[str]:
    """Return what is wrong with the ranges of a kind."""
    if name in OF_LAB:
        unknown = [key for key in ranges if key not in FAULTS[name].ranges]
        if unknown:
            return [f"{path}.{key}: expected one of {', '.join(FAULTS[name].ranges) or 'nothing'}" for key in unknown]
    problems = []
    for key, span in ranges.items():
        known = FAULTS[name].ranges.get(key) if name in OF_LAB else None
        if isinstance(known, list) and isinstance(known[0], str):
            words = span if isinstance(span, list) else [span]
            if not words or any(word not in known for word in words):
                problems.append(f"{path}.{key}: expected some of {', '.join(known)}, got {brief(span)}")
        elif known is not None:
            ends = span if isinstance(span, list) else [span, span]
            numbers = [end for end in ends if isinstance(end, (int, float)) and not isinstance(end, bool)]
            if len(ends) != 2 or len(numbers) != 2 or not 0 <= ends[0] <= ends[1] <= 1e6:
                problems.append(f"{path}.{key}: expected [from, to], got {brief(span)}")
    if name not in OF_LAB and not problems:
        # Both ends of each range must be allowed.
        for end in (0, -1):
            entry = {key: span[end] if isinstance(span, list) and span else span for key, span in ranges.items()}
            try:
                read_entry({"kind": name, **entry}, name)
            except FleetSimError as error:
                return [f"{path}: {error}"]
    return problems


def check_event(event: Event, vehicles: Sequence[str]) -> None:
    """Raise ValueError for an event that cannot happen: of no known kind, aimed at nobody, or with wrong parameters."""
    kind, on, at = event["do"], event["on"], event["at"]
    if isinstance(at, bool) or not isinstance(at, (int, float)) or not 0 <= at <= 1e6:
        raise ValueError(f"events: at: expected seconds, got {brief(at)}")
    aim = FAULTS[kind].aim if kind in FAULTS else VEHICLE
    if on not in (vehicles if aim == VEHICLE else [aim]):
        raise ValueError(
            f"events: {kind} is aimed at one of {', '.join(vehicles) if aim == VEHICLE else aim}, got {brief(on)}"
        )
    given = {key: value for key, value in event.items() if key not in ("at", "do", "on")}
    missing = set(FAULTS[kind].ranges) - set(given) if kind in OF_LAB else set()
    problems = [f"{kind}: {name} is missing" for name in sorted(missing)]
    problems += (
        [f"expected a kind of disturbance, got {brief(kind)}"] if kind not in {*FAULTS, *DISTURBANCES.names()} else []
    )
    problems = problems or _check(kind, given, kind)
    if problems:
        raise ValueError(f"events: {problems[0]}")


# Schedules.


class Moment(NamedTuple):
    """A change of state in a run without disturbances: bursts are drawn around these."""

    at: float
    what: str
    vehicle: str


def random_schedule(
    random: Random, faults: Faults, targets: Mapping[str, Sequence[str]], duration: float
) -> list[Event]:
    """Return events at any time."""
    count = random.randint(1, max(1, faults.most))
    return in_order([faults.draw(random, random.uniform(0.0, duration), targets) for _ in range(count)])


def burst_schedule(
    random: Random, faults: Faults, targets: Mapping[str, Sequence[str]], moments: Sequence[Moment]
) -> list[Event]:
    """Return events close to changes of state: two or three around each of a few moments."""
    events: list[Event] = []
    kinds = sorted({moment.what for moment in moments})
    while len(events) < max(1, faults.most):
        # By kind first: accepted orders are rarer than new positions.
        what = random.choice(kinds)
        moment = random.choice([one for one in moments if one.what == what])
        for _ in range(random.randint(1, 3)):
            at = max(0.0, moment.at + random.uniform(-1.0, 1.5))
            events.append(faults.draw(random, at, targets, moment.vehicle))
        if random.random() < 0.3:
            break
    return in_order(events[: max(1, faults.most)])


def changed_schedule(
    random: Random, events: Sequence[Event], faults: Faults, targets: Mapping[str, Sequence[str]], duration: float
) -> list[Event]:
    """Return a schedule a little different from one that reached something new."""
    events = [dict(event) for event in events]
    for _ in range(random.randint(1, 3)):
        choice = random.random()
        if events and choice < 0.25:
            events.pop(random.randrange(len(events)))
        elif events and choice < 0.5:
            event = random.choice(events)
            event["at"] = round(max(0.0, event["at"] + random.uniform(-5.0, 5.0)), 1)
        elif events and choice < 0.8:
            near = random.choice(events)["at"] + random.uniform(0.0, 8.0)
            events.append(faults.draw(random, near, targets))
        else:
            events.append(faults.draw(random, random.uniform(0.0, duration), targets))
    return in_order(events[: max(1, 2 * faults.most)])


def in_order(events: Sequence[Event]) -> list[Event]:
    """Return events by time; those of one time keep their order."""
    return sorted(events, key=lambda event: event["at"])
