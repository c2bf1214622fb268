"""Disturbances: begins and ends what is disturbed in a simulation, and writes what holds for robots meanwhile."""

from __future__ import annotations

import copy
import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar, cast
from zlib import crc32

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Rows
from fleet_sim.base.errors import FleetSimError, InvalidValueError, located
from fleet_sim.base.limits import LONGEST_TIME
from fleet_sim.base.params import ActionCause
from fleet_sim.base.request_budget import Work, check_name, is_from_outside
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots import drive
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.disturbances.kind import Aim, DisturbanceKind, Disturbed, Effect, Event
from fleet_sim.warehouse.disturbances.radio import radio_of
from fleet_sim.warehouse.disturbances.section import ALL, Entry, check_targets, read_entry
from fleet_sim.warehouse.traffic.figures_file import RunTable
from fleet_sim.world.clock import duration_of, purpose_key, uniforms
from fleet_sim.world.commands import Command, CommandAck, command
from fleet_sim.world.conditions import CONDITIONS, ConditionColumns, RobotError
from fleet_sim.world.features import FAULTS, Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System, each_step
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.steering import IDLE
from fleet_sim.world.world import DriveRule, FeatureRows, SpeedRule

# The commands.


@command("disturb")
class Disturb(Command):
    """Begin a disturbance: `entry` is one of the section `disturbances`, `id` its name; empty: one is given."""

    feature: ClassVar[str] = CONDITIONS

    entry: Mapping[str, Any]
    id: str = ""


@command("end_disturbances")
class EndDisturbances(Command):
    """End disturbances by the names of their entries, or by the ids of single ones."""

    feature: ClassVar[str] = CONDITIONS

    ids: tuple[str, ...]


Kind = TypeVar("Kind", bound=DisturbanceKind)

EVENTS = Work("robots, doors or stations to disturb", 10_000, 100_000)
"""Counted for each of their times, and more where the area has many corners."""
CHANCES = Work("disturbances by chance in a simulated second", 1_000, 2_000)
STACKED = Work("disturbances of one robot", math.inf, 10)
"""Each is looked at for each message of the robot."""
FOLLOWED = Work("areas in which robots are disturbed while they are there", 20, 20)
FEWEST = 1_000
"""So many robots count at least for what happens by chance: others may come."""


# The rules by which robots stand, or drive slower.


class Halted(DriveRule):
    """A robot that is disturbed so that it may not drive."""

    reason = "it is disturbed"

    def __init__(self, disturbances: Disturbances) -> None:
        self._disturbances = disturbances

    def refuses(self, rows: Rows) -> Bools:
        """Return which of `rows` may not drive."""
        return np.asarray(self._disturbances.table.halted[rows])

    def reason_of(self, row: int) -> str:
        """Return why the robot may not drive."""
        return next((effect.halts for effect in self._disturbances.effects_of(row) if effect.halts), self.reason)


class Slowed(SpeedRule):
    """Robots with a pace below 1; those of the traffic drive by the same column."""

    def __init__(self, disturbances: Disturbances) -> None:
        self._disturbances = disturbances
        self._rows = NO_ROWS

    def lower(self) -> None:
        """Lower the limits of those that are slowed."""
        rows = self._rows = self._disturbances.sums.slowed
        if len(rows):
            motion, pace = self._disturbances.world.motion, self._disturbances.table.pace[rows]
            self._limit, self._limits = motion.linear_limit[rows], motion.linear_limits[rows]
            motion.linear_limit[rows] = self._limit * pace
            motion.linear_limits[rows] = self._limits * pace[:, None]

    def restore(self) -> None:
        """Give them their own limits again."""
        if len(self._rows):
            motion = self._disturbances.world.motion
            motion.linear_limit[self._rows], motion.linear_limits[self._rows] = self._limit, self._limits


# What is counted, per kind.


class Cost(NamedTuple):
    """Of one kind: how many events began, and in ticks how long they lasted and how long their robots stood, in all."""

    events: int = 0
    disturbed: int = 0
    stood: int = 0


class _Sums(NamedTuple):
    """Rows of the robots that are disturbed: those that may not drive, those that are slowed, and all by kind."""

    halted: Rows
    slowed: Rows
    watched: dict[str, Rows]


Target = tuple[str, int, int]
"""What is aimed at: its name, its number, and the row of a robot, else -1."""
BEGIN, END = 1, 0
"""What comes up at a time: ends before begins."""
GAP = 1
"""The lane of the random numbers that say when it happens; lane 0 has those for how long."""
AT_TIMES = -1
"""Stands for the targets of an entry with times, which are looked up when it begins."""


class Disturbances(FeatureRows[ConditionColumns]):
    """The disturbances of one simulation: `sim.features.use("disturbances")`. A participant in checkpoints."""

    def __init__(self, sim: MultiRobotSimulationCore, table: ConditionColumns) -> None:
        super().__init__(sim.world, table)
        self._sim = sim
        self._begin_anew()
        sim.world.drive_rules.append(Halted(self))
        sim.world.speed_rules.append(Slowed(self))
        sim.world.on_spawn.append(self._spawned)
        sim.world.on_remove.append(self._removed)
        sim.events.on("cleared", self._begin_anew)

    def _begin_anew(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._keys: dict[int, int] = {}
        self._due: list[tuple[int, int, int, int, int]] = []
        """A heap of (tick, BEGIN or END, entry, target, count); of robots targets are object ids."""
        self._active: dict[tuple[int, int], Event] = {}
        """By entry and target."""
        self._of_robot: dict[int, list[Event]] = {}
        self._areas: dict[int, int] = {}
        """Entries that follow their areas, and until which tick; -1: to the end."""
        self._costs: dict[str, Cost] = {}
        self._made = 0
        self._chances = 0.0
        """How many begin by chance in a simulated second."""
        self._new: list[int] = []
        """Object ids of robots that came since the last step."""
        self._sums: _Sums | None = None
        self._fold_all()

    # ---- what is disturbed -------------------------------------------------------------------------------------------

    @property
    def active(self) -> list[Event]:
        """The events of now, in the order in which they began."""
        return list(self._active.values())

    def kind_of(self, event: Event) -> str:
        """Return the name of the kind of an event."""
        return self._entries[event.entry].kind_name

    def active_of(self, cls: type[Kind]) -> list[tuple[Disturbed, Kind]]:
        """Return the events of now of the kinds that `cls` is, with their settings."""
        found: list[tuple[Disturbed, Kind]] = []
        for event in self._active.values():
            kind = self._entries[event.entry].kind
            if isinstance(kind, cls):
                found.append((self._given(event), kind))
        return found

    def effects_of(self, row: int) -> list[Effect]:
        """Return what holds for the robot in `row`, disturbance by disturbance."""
        events = self._of_robot.get(int(self.world.object_id[row]), ())
        return [self._entries[event.entry].kind.effect(event) for event in events]

    def errors_of(self, row: int) -> list[RobotError]:
        """Return what the robot in `row` tells its fleet manager."""
        return [error for effect in self.effects_of(row) for error in effect.errors]

    def figures(self) -> dict[str, dict[str, float]]:
        """Return per kind: events, seconds disturbed, and seconds that disturbed robots stood, of all together."""
        seconds, now = self.world.clock.seconds, self.world.clock.tick
        running: dict[str, int] = {}
        for event in self._active.values():
            kind = self.kind_of(event)
            running[kind] = running.get(kind, 0) + now - event.begin
        return {
            kind: {
                "events": cost.events,
                "disturbed_s": seconds(cost.disturbed + running.get(kind, 0)),
                "stood_robot_s": seconds(cost.stood),
            }
            for kind, cost in sorted(self._costs.items())
        }

    # ---- at run time -------------------------------------------------------------------------------------------------

    def begin(self, kind: str, *, id: str = "", **fields: Any) -> str:
        """Begin a disturbance in the next step, with the keys of an entry as keywords; return its id, for `end`.

        Raises ConfigError naming the field, UnknownNameError and InvalidValueError.
        """
        entry = {"kind": kind, **fields}
        name = id or self._free_name(kind)
        self._check_new(read_entry(entry, name), name)
        self._sim.inbox.put(Disturb(entry=entry, id=name, source="python"))
        return name

    def end(self, *ids: str) -> None:
        """End disturbances in the next step, by the names of entries or the ids of events."""
        self._sim.inbox.put(EndDisturbances(ids=ids, source="python"))

    def disturb(self, order: Disturb) -> CommandAck:
        """Carry out a Disturb; the acknowledgement names it."""
        kind = str(order.entry.get("kind"))
        check_name(order.id, "id")
        name = order.id or self._free_name(kind)
        entry = read_entry(order.entry, name, remote=order.remote)._replace(label=name)
        self._check_new(entry, name)
        if entry.settings.at is None and entry.settings.per_hour is None:
            # Now, and not at the beginning of the run.
            now = self.world.clock.time
            entry = entry._replace(settings=_with_time(entry, now))
        self._add(entry)
        self.run(0.0)
        return order.ack(self.world.clock.time, (name,))

    def end_now(self, order: EndDisturbances) -> CommandAck:
        """Carry out an EndDisturbances; the acknowledgement says which are unknown."""
        rejected: dict[str, str] = {}
        named: dict[str, list[Event]] = {entry.label: [] for entry in self._entries.values()}
        labels = set(named)
        for event in self._active.values():
            for name in {event.id, self._entries[event.entry].label}:
                named.setdefault(name, []).append(event)
        for name in order.ids:
            events = [event for event in named.get(name, ()) if self._active.get(_key_of(event)) is event]
            if not (events or name in labels):
                rejected[name] = f"no disturbance is called {name!r}"
            for event in events:
                self.finish(event)
        return order.ack(self.world.clock.time, [name for name in order.ids if name not in rejected], rejected)

    def _check_new(self, entry: Entry, name: str) -> None:
        if any(known.label == name for known in self._entries.values()):
            raise InvalidValueError(f"id: a disturbance is called {name!r} already; end it, or choose another id")
        check_targets(self._sim, entry, dict.fromkeys(name for name, _, _ in self._all_targets(entry.aim)))
        if not self._targets(entry) and entry.settings.per_hour is None:
            raise InvalidValueError(f"{entry.aim.value}: nothing is there to be disturbed")

    def _free_name(self, kind: str) -> str:
        while True:
            self._made += 1
            name = f"{kind}-{self._made}"
            if all(entry.label != name for entry in self._entries.values()):
                return name

    # ---- entries -----------------------------------------------------------------------------------------------------

    def add(self, entries: Sequence[Entry], *, source: str = "") -> None:
        """Add the entries of a scenario; raises ConfigError naming entry and field, and then adds none."""
        # Once for all: there may be thousands of robots, and as many entries.
        targets = {aim: self._all_targets(aim) for aim in {entry.aim for entry in entries}}
        names = {aim: dict.fromkeys(name for name, _, _ in found) for aim, found in targets.items()}
        for index, entry in enumerate(entries):
            with located(f"{CONDITIONS}[{index}]", source=source):
                check_targets(self._sim, entry, names[entry.aim])
        for entry in entries:
            self._add(entry, targets[entry.aim])

    def _add(self, entry: Entry, among: Sequence[Target] | None = None) -> None:
        settings, clock = entry.settings, self.world.clock
        check_name(settings.name)
        targets = self._targets(entry, anywhere=True, among=among)
        ticks = {max(clock.ticks(time), clock.tick) for time in settings.times()}
        each = 1 + len(settings.area or ()) // 10
        EVENTS.charge(max(1, len(targets)) * len(ticks) * each, len(self._entries) + len(self._active) + len(self._due))
        if settings.per_hour is not None:
            CHANCES.charge(_chances(len(targets), settings.per_hour), self._chances)
        if entry.aim is Aim.ROBOTS and is_from_outside():
            live = self._live()
            FOLLOWED.charge(_is_followed(entry), sum(map(_is_followed, live)))
            STACKED.charge(1, self._most_of_one(live, [name for name, _, _ in targets]))
        number = max(self._entries, default=-1) + 1
        self._keep(number, entry)
        if settings.per_hour is not None:
            self._chances += _chances(len(targets), settings.per_hour)
            for _, target, _ in targets:
                self._draw_next(number, target, 0, clock.tick)
            return
        for tick in sorted(ticks):
            heapq.heappush(self._due, (tick, BEGIN, number, AT_TIMES, 0))

    def _live(self) -> list[Entry]:
        """Return the entries that disturb robots, or may do so."""
        due = {number for number, _ in self._active} | {number for _, _, number, _, _ in self._due} | set(self._areas)
        return [
            entry
            for number, entry in self._entries.items()
            if entry.aim is Aim.ROBOTS and (number in due or entry.settings.per_hour is not None)
        ]

    def _most_of_one(self, live: Sequence[Entry], names: Sequence[str]) -> int:
        """Return how many of `live` are aimed at that robot of `names` which has most; of none, at nobody yet."""
        single: Counter[str] = Counter()
        patterns = []
        for entry in live:
            given = entry.settings.names(Aim.ROBOTS)
            if len(given) == 1 and given[0].isidentifier() and given[0] != ALL:
                single.update(given)
            else:
                patterns.append(entry)
        if not names:
            return sum(not self._targets(entry, anywhere=True) for entry in live)
        return max(single[name] + sum(entry.matches(name) for entry in patterns) for name in names)

    def _keep(self, number: int, entry: Entry) -> None:
        self._entries[number] = entry
        self._keys[number] = purpose_key(self.world.random.seed, f"disturbance\n{entry.key_text}")

    def _draw_next(self, number: int, target: int, count: int, now: int) -> None:
        """Draw when the entry next disturbs a target that it does not disturb from tick `now` on."""
        entry, clock = self._entries[number], self.world.clock
        rate = entry.settings.per_hour
        if rate is not None:
            share = uniforms(self._keys[number], np.array([target]), count, GAP)
            gap = float(-trig.log(1.0 - share)[0]) * 3600.0 / rate
            if gap > LONGEST_TIME:
                return
            # At least one step, so that two events of one target are two.
            heapq.heappush(self._due, (now + max(1, clock.ticks(gap)), BEGIN, number, target, count))

    # ---- targets -----------------------------------------------------------------------------------------------------

    def _all_targets(self, aim: Aim) -> list[Target]:
        """Return all that may be aimed at."""
        world, sim = self.world, self._sim
        if aim is Aim.ROBOTS:
            rows = world.rows[(world.kind[world.rows] == KIND_AGENT) & ~self.table.spared[world.rows]]
            # Those with a fixed base are part of the furniture.
            rows = rows[world.motion.law[rows] != 0]
            return [(world.label(row), int(world.object_id[row]), row) for row in rows.tolist()]
        if aim is Aim.AREA:
            return [("", _number(""), -1)]
        if aim is Aim.STATIONS:
            site = sim.extensions.find_manager("site") or sim.extensions.find_manager("building")
            names = [] if site is None else [station.name for station in site.stations]
        else:
            handles = [world.handles[row] for row in self._having(aim.value[:-1])]
            names = [handle.name for handle in handles if handle.name]
        return [(name, _number(name), -1) for name in names]

    def _having(self, feature: str) -> list[int]:
        table = self.world.tables.get(feature)
        part = self._sim.features.use(feature) if table is not None else None
        return [] if part is None else [int(row) for row in part.rows.tolist()]

    def _targets(self, entry: Entry, *, anywhere: bool = False, among: Sequence[Target] | None = None) -> list[Target]:
        """Return the targets of an entry, of all or `among` some: those in its area now, or that may come there."""
        among = self._all_targets(entry.aim) if among is None else among
        found = [target for target in among if entry.aim is Aim.AREA or entry.matches(target[0])]
        if anywhere or entry.area is None or entry.aim is not Aim.ROBOTS:
            return found
        inside_mask = entry.area.contains(self.world.position[[row for _, _, row in found], :2])
        return [target for target, inside in zip(found, inside_mask.tolist(), strict=True) if inside]

    def _row_of(self, robot: int) -> int:
        try:
            return self.world.index.row_of(robot)
        except FleetSimError:
            return NO_ROW

    # ---- the step ----------------------------------------------------------------------------------------------------

    def has_work(self) -> bool:
        """Return whether something is due, or has to be stepped."""
        due = self._due
        return bool(self._new or self._active or self._areas or (due and due[0][0] <= self.world.clock.tick))

    def run(self, dt: float) -> None:
        """Begin and end what is due; step what is active."""
        if self._new:
            self._enter_new()
        due, tick = self._due, self.world.clock.tick
        while due and due[0][0] <= tick:
            _, what, number, target, count = heapq.heappop(due)
            if number not in self._entries:
                continue
            event = self._active.get((number, target))
            if what == END:
                # It may have been made longer since, or ended before its time.
                if event is not None and event.end <= tick and event.end >= 0:
                    self.finish(event)
            elif target == AT_TIMES and self._follows(number):
                self._areas[number] = self._end_of(number, AT_TIMES, count)
            elif target == AT_TIMES:
                for name, own, row in self._targets(self._entries[number]):
                    self._begin(number, name, own, row, count)
            else:
                self._begin_drawn(number, target, count)
        if self._areas:
            self._follow_areas()
        if dt > 0.0:
            self._step(dt)

    def _follows(self, number: int) -> bool:
        return _is_followed(self._entries[number])

    def _follow_areas(self) -> None:
        """Begin with who has come into an area, and end with who has left it."""
        tick = self.world.clock.tick
        # All else ends by itself.
        self._areas = {number: end for number, end in self._areas.items() if not 0 <= end <= tick}
        for number, end in self._areas.items():
            inside = {target: (name, row) for name, target, row in self._targets(self._entries[number])}
            for target, (name, row) in inside.items():
                if (number, target) not in self._active:
                    # By the tick, as nobody counts how often one comes.
                    self._begin(number, name, target, row, tick, end)
            left = [key for key in self._active if key[0] == number and key[1] not in inside]
            for key in left:
                self.finish(self._active[key])

    def _begin_drawn(self, number: int, target: int, count: int) -> None:
        """Begin what was drawn for a target, if it is there; of one outside of the area draw the next."""
        entry = self._entries[number]
        if entry.aim is Aim.ROBOTS:
            row = self._row_of(target)
            if row < 0:
                return
            if entry.contains(self.world.position[row]):
                self._begin(number, self.world.label(row), target, row, count)
            else:
                self._draw_next(number, target, count + 1, self.world.clock.tick)
            return
        for name, own, row in self._targets(entry):
            if own == target:
                self._begin(number, name, own, row, count)

    def _step(self, dt: float) -> None:
        stepped: dict[int, list[Disturbed]] = {}
        for event in self._active.values():
            if type(self._entries[event.entry].kind).steps:
                stepped.setdefault(event.entry, []).append(self._given(event))
        for number, events in stepped.items():
            self._entries[number].kind.step(events, dt)

    def _enter_new(self) -> None:
        """Draw for robots that came since the last step."""
        new, self._new = set(self._new), []
        for number, entry in self._entries.items():
            if entry.settings.per_hour is not None and entry.aim is Aim.ROBOTS:
                for _, target, _ in self._targets(entry, anywhere=True):
                    if target in new:
                        self._draw_next(number, target, 0, self.world.clock.tick)

    def _end_of(self, number: int, target: int, count: int) -> int:
        """Return the tick at which what begins now ends; -1: never."""
        lasts, clock = self._entries[number].settings.lasts, self.world.clock
        if lasts is None:
            return -1
        return clock.tick + max(1, clock.ticks(duration_of(lasts, self._keys[number], target, count)))

    def _begin(self, number: int, name: str, target: int, row: int, count: int, end: int | None = None) -> None:
        entry, clock = self._entries[number], self.world.clock
        end = self._end_of(number, target, count) if end is None else end
        known = self._active.get((number, target))
        if known is not None:
            # A second time while it lasts: it lasts until the later end.
            known.end = -1 if end < 0 or known.end < 0 else max(known.end, end)
        else:
            event = Event(f"{entry.label}:{name}" if name else entry.label, number, name, -1, count, clock.tick, end)
            if row >= 0:
                event.robot = target
                self._of_robot.setdefault(target, []).append(event)
            self._active[number, target] = event
            self._count(entry.kind_name, events=1)
            given = self._given(event)
            entry.kind.begin(given)
            entry.kind.hold(given)
            self._fold(row)
            self._tell("disturbance_began", event, row)
        if end >= 0:
            heapq.heappush(self._due, (end, END, number, target, count))

    def finish(self, event: Event) -> None:
        """End an event now."""
        number, target = _key_of(event)
        entry, tick = self._entries[number], self.world.clock.tick
        del self._active[number, target]
        row = self._row_of(event.robot) if event.robot >= 0 else -1
        if event.robot >= 0:
            self._forget(event)
        self._count(entry.kind_name, disturbed=tick - event.begin)
        self._fold(row)
        given = self._given(event)
        entry.kind.withdraw(given)
        entry.kind.end(given)
        self._tell("disturbance_ended", event, row)
        self._draw_next(number, target, event.count + 1, tick)

    def _forget(self, event: Event) -> None:
        left = [known for known in self._of_robot[event.robot] if known is not event]
        if left:
            self._of_robot[event.robot] = left
        else:
            del self._of_robot[event.robot]

    def _given(self, event: Event) -> Disturbed:
        row = self._row_of(event.robot) if event.robot >= 0 else -1
        corners = self._entries[event.entry].settings.area or ()
        return Disturbed(self._sim, event, row, corners, self._keys[event.entry])

    def _tell(self, what: str, event: Event, row: int) -> None:
        world = self.world
        details = {"id": event.id, "kind": self.kind_of(event), "target": event.target}
        world.events.emit(what, **details)
        if row >= 0 and world.alive[row]:
            world.entity_events.emit(row, what, **details)

    def _count(self, kind: str, *, events: int = 0, disturbed: int = 0, stood: int = 0) -> None:
        cost = self._costs.get(kind, Cost())
        self._costs[kind] = Cost(cost.events + events, cost.disturbed + disturbed, cost.stood + stood)

    # ---- robots that come and go -------------------------------------------------------------------------------------

    def _spawned(self, rows: Rows) -> None:
        if self._entries:
            self._new.extend(self.world.object_id[rows].tolist())

    def _removed(self, rows: Rows) -> None:
        for robot in self.world.object_id[rows].tolist() if self._of_robot else ():
            for event in list(self._of_robot.get(robot, ())):
                self.finish(event)

    # ---- what holds for robots ---------------------------------------------------------------------------------------

    def _fold(self, row: int) -> None:
        """Write what holds for the robot in `row` by all that disturbs it."""
        if row < 0:
            return
        table, effects = self.table, self.effects_of(row)
        if not table.present[row]:
            table.present[row] = True
            self.world.version += 1
        faults = {name for effect in effects for name in effect.faults}
        table.faults[row] = sum(FAULTS[name] for name in faults)
        table.operating_mode[row] = max((effect.mode.code for effect in effects), default=0)
        table.emergency_stop[row] = max((effect.emergency_stop.code for effect in effects), default=0)
        halts = next((effect for effect in effects if effect.halts), None)
        table.halted[row], table.cause[row] = halts is not None, 0 if halts is None else halts.cause.code
        table.pace[row] = min((effect.pace for effect in effects), default=1.0)
        table.silent[row] = any(effect.silent for effect in effects)
        if table.silent[row]:
            # What carries messages, or does not.
            radio_of(self._sim)
        table.charge_error[row] = sum(effect.charge_error for effect in effects)
        table.uncharged[row] = any(effect.uncharged for effect in effects)
        table.failure[row] = max((effect.failure for effect in effects), default=0.0)
        self._changed()
        if halts is not None:
            for busy in self.world.actions.busy(np.array([row])).tolist():
                self.world.actions.cancel_base(busy, halts.halts, halts.cause)

    def _changed(self) -> None:
        # Summed up when it is asked for: thousands may change in a step.
        self._sums = None
        self.table.version += 1

    @property
    def sums(self) -> _Sums:
        """Which robots are disturbed, and how."""
        if self._sums is None:
            rows = self.rows
            watched: dict[str, list[int]] = {}
            for event in self._active.values():
                if event.robot >= 0 and (row := self._row_of(event.robot)) >= 0:
                    watched.setdefault(self.kind_of(event), []).append(row)
            self._sums = _Sums(
                rows[self.table.halted[rows]],
                rows[self.table.pace[rows] < 1.0],
                {kind: np.array(rows, np.int64) for kind, rows in watched.items()},
            )
        return self._sums

    def _fold_all(self) -> None:
        for event in self._active.values():
            if event.robot >= 0:
                self._of_robot.setdefault(event.robot, []).append(event)
        self._changed()

    def hold(self) -> None:
        """Stop robots that would drive though they may not, and end their actions."""
        world = self.world
        rows = self.sums.halted
        # Who stands already has nothing to stop, and would lose actions of its arm.
        rows = rows[world.alive[rows] & (world.motion.control[rows] != IDLE)]
        if not len(rows):
            return
        for row in world.actions.busy(rows).tolist():
            halts = next((effect for effect in self.effects_of(row) if effect.halts), None)
            reason, cause = (Halted.reason, ActionCause.DISTURBED) if halts is None else (halts.halts, halts.cause)
            world.actions.cancel_base(row, reason, cause)
        # What drives robots itself, such as a path of their fleet manager, goes on when it may.
        drive.stop(world, rows, told=False)

    def measure(self) -> None:
        """Count who stood in this step of those that are disturbed."""
        for kind, rows in self.sums.watched.items():
            self._count(kind, stood=int(np.count_nonzero(~self.world.velocity[rows].any(axis=1))))

    # ---- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the state outside the columns, for a checkpoint."""
        entries = {number: (entry.label, entry.key_text, entry.given) for number, entry in self._entries.items()}
        return copy.deepcopy(
            {
                "entries": entries,
                "due": list(self._due),
                "active": [(*key, event) for key, event in self._active.items()],
                "costs": {kind: list(cost) for kind, cost in self._costs.items()},
                "areas": dict(self._areas),
                "made": self._made,
                "new": list(self._new),
            }
        )

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        known, saved = self._entries, copy.deepcopy(saved)
        for event in self._active.values():
            known[event.entry].kind.withdraw(self._given(event))
        self._begin_anew()
        for number, (label, text, given) in saved["entries"].items():
            entry = known.get(number)
            if entry is None or entry.given != given or entry.label != label:
                entry = read_entry(given, label)._replace(label=label, key_text=text)
            self._keep(number, entry)
            self._chances += _chances(0, entry.settings.per_hour or 0.0)
        # A heap is a list in a certain order, which it was saved in.
        self._due = [tuple(item) for item in saved["due"]]
        self._active = {(number, target): event for number, target, event in saved["active"]}
        self._costs = {kind: Cost(*cost) for kind, cost in saved["costs"].items()}
        self._areas = saved["areas"]
        self._made, self._new = saved["made"], saved["new"]
        self._fold_all()
        for event in self._active.values():
            self._entries[event.entry].kind.hold(self._given(event))


def cost_tables(sim: MultiRobotSimulationCore) -> list[RunTable]:
    """Return the table of what each kind of disturbance cost, for the report of a run; none where there was none."""
    figures = sim.features.use(CONDITIONS).figures() if CONDITIONS in sim.features.used else {}
    rows = [(kind.replace("_", " "), *(round(number, 2) for number in cost.values())) for kind, cost in figures.items()]
    return [RunTable("Disturbances", ("kind", "events", "lasted, s", "robots stood, s"), rows)] if rows else []


def _is_followed(entry: Entry) -> bool:
    """Return whether it holds for a robot as long as that is in an area."""
    return type(entry.kind).follows_area and entry.area is not None and entry.aim is Aim.ROBOTS


def _number(name: str) -> int:
    """Return the number by which a target that is no robot is known, and its random numbers are drawn."""
    return crc32(name.encode())


def _key_of(event: Event) -> tuple[int, int]:
    """Return the entry and the target of an event."""
    return event.entry, _number(event.target) if event.robot < 0 else event.robot


def _chances(targets: int, per_hour: float) -> float:
    return max(targets, FEWEST) * per_hour / 3600.0


def _with_time(entry: Entry, now: float) -> Any:
    settings = copy.copy(entry.settings)
    settings.at = [now]
    return settings


# The entry point of the feature, which `setup.cfg` declares.


@dataclass
class DisturbedRobotSettings(Checked):
    """How a robot may be disturbed."""

    spared: bool = setting(False, doc="Whether no disturbance chooses it.")


class DisturbancesFeature(Feature[DisturbedRobotSettings, ConditionColumns]):
    """Disturbances: the section `disturbances`, `sim.features.use("disturbances")`."""

    doc = "How it may be disturbed."
    settings = DisturbedRobotSettings
    table = ConditionColumns

    def start(self, host: FeatureHost, table: ConditionColumns) -> Disturbances:
        """Begin and end before actions look at their robots; hold before they move."""
        part = Disturbances(cast(MultiRobotSimulationCore, host), table)
        host.pipeline.add(System(CONDITIONS, Phase.UPDATE, part.run, part.has_work), before="inbox")
        host.pipeline.add(
            System("disturbances_hold", Phase.UPDATE, each_step(part.hold), lambda: len(part.sums.halted)),
            before="motion",
        )
        host.pipeline.add(
            System("disturbances_cost", Phase.OBSERVE, each_step(part.measure), lambda: len(part.active)),
            before="sensors",
        )
        host.dispatcher.handle(Disturb, part.disturb)
        host.dispatcher.handle(EndDisturbances, part.end_now)
        host.checkpoints.register_late(CONDITIONS, part)
        return part

    def report(self, columns: Mapping[str, AnyArray]) -> Mapping[str, AnyArray]:
        """Return what is wrong with robots, and in which mode they are."""
        return {"faults": columns["faults"], "operating_mode": columns["operating_mode"]}

    def details(self, table: ConditionColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say what is wrong."""
        names = [name for name, bit in FAULTS.items() if int(table.faults[row]) & bit]
        return [("faults", ", ".join(names).replace("_", " "))] if names else []


FEATURE = DisturbancesFeature()
