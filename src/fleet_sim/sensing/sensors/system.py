"""The system that reads sensors that are due and have a consumer, all of a group in one call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any

import numpy as np

from fleet_sim.base.arrays import AnyArray, Floats, Ints, Rows
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, StateError, StateFileError, brief, unknown_name
from fleet_sim.base.geometry import Pose
from fleet_sim.base.request_budget import Work, check_name
from fleet_sim.sensing.sensors.registry import SensorPlan, plan_sensor, plan_sensors, sensor_kind, sensor_params_class
from fleet_sim.sensing.sensors.sensor import (
    Batch,
    Readings,
    Sensor,
    SensorContext,
    SensorKind,
    SensorParams,
    frame_poses,
    link_index,
)
from fleet_sim.world.clock import Keys, Schedule
from fleet_sim.world.entity_index import Handle
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.state_files import Form, attributes_of, copied
from fleet_sim.world.user_code import GuardedPart
from fleet_sim.world.world import World

# Sensors that are computed together: one kind, common parameters, one schedule.


LEAST_RATE = 10.0
"""Readings per second that sensors are counted with at least: one of them must not hold a step for long either."""


def work_of(params: SensorParams, world: World) -> tuple[Work, float] | None:
    """Return the work per simulated second of one sensor; None: hardly any."""
    if params.work is None:
        return None
    kind, amount = params.work
    steps = 1.0 / world.clock.dt
    return kind, amount * max(LEAST_RATE, steps if params.rate is None else min(params.rate, steps))


Members = Ints
"""Indices into the sensors of a group."""

GroupKey = tuple[str, SensorParams, int]
"""The type of the sensors, what their settings have in common, and their step of the period."""


class SensorGroup:
    """Holds its sensors in arrays and computes any of them in one call of their kind.

    `slot` is the step of the period in which they are due, for kinds that are spread over it.
    """

    def __init__(self, kind: SensorKind, params: SensorParams, slot: int = 0) -> None:
        """Hold no sensors yet; `params` are the common ones."""
        self.kind = kind
        self.params = params
        self.slot = slot
        self.sensors: list[Sensor] = []
        self.wanted = 0
        """The number of sensors with consumers."""
        self.state = kind.state(params)
        self._world = kind.world
        self.work = work_of(params, kind.world)
        self.part = kind.world.guard.part(f"{type(kind).__name__} sensors")
        """Computes them in steps, and is switched off where that fails again and again."""
        self._rows: Rows = np.empty(0, np.int64)
        self._links: Ints = np.empty(0, np.int64)
        self._positions: Floats = np.empty((0, 3))
        self._orientations: Floats = np.empty((0, 4))
        self._keys: Keys = np.empty(0, np.uint64)
        self._schedule = self._new_schedule()

    # ---- who belongs to it -------------------------------------------------------------------------------------------

    def add(self, sensors: Sequence[Sensor], keys: Sequence[int]) -> None:
        """Add `sensors` that belong to no group, with the keys of their noise."""
        first = len(self.sensors)
        self.sensors += sensors
        for index, sensor in enumerate(sensors, first):
            sensor.group, sensor.index = self, index
        poses = [sensor.params.pose for sensor in sensors]
        owners = [NO_ROW if sensor.owner is None else sensor.owner.row for sensor in sensors]
        self._rows = np.append(self._rows, np.array(owners, np.int64))
        self._links = np.append(self._links, np.array([sensor.link for sensor in sensors], np.int64))
        self._positions = np.concatenate((self._positions, np.array([pose.position for pose in poses])))
        self._orientations = np.concatenate((self._orientations, np.array([pose.orientation for pose in poses])))
        self._keys = np.append(self._keys, np.array(keys, np.uint64))
        for name, values in self.state.items():
            fresh = np.zeros((len(sensors), *values.shape[1:]), values.dtype)
            self.state[name] = np.concatenate((values, fresh))
        self.wanted += sum(sensor.has_consumer for sensor in sensors)
        self.begin(np.arange(first, len(self.sensors)))

    def remove(self, sensors: Sequence[Sensor]) -> None:
        """Remove some of its sensors."""
        kept_mask = np.ones(len(self.sensors), np.bool_)
        kept_mask[[sensor.index for sensor in sensors]] = False
        for sensor in sensors:
            self.wanted -= sensor.has_consumer
            sensor.group, sensor.index = None, -1
            sensor.last = None
        self.sensors = [sensor for sensor, kept in zip(self.sensors, kept_mask.tolist(), strict=True) if kept]
        for index, sensor in enumerate(self.sensors):
            sensor.index = index
        self._rows, self._links, self._keys = self._rows[kept_mask], self._links[kept_mask], self._keys[kept_mask]
        self._positions, self._orientations = self._positions[kept_mask], self._orientations[kept_mask]
        self.state = {name: values[kept_mask] for name, values in self.state.items()}

    # ---- reading -----------------------------------------------------------------------------------------------------

    def due(self) -> bool:
        """Return whether its sensors are due in this step. Call it once per step."""
        return self._schedule.poll() is not None

    def compute_wanted(self, time: float, tick: int) -> Readings:
        """Read the sensors that have consumers."""
        if self.wanted == len(self.sensors):
            return self.compute(np.arange(len(self.sensors)), time, tick)
        wanted = [index for index, sensor in enumerate(self.sensors) if sensor.has_consumer]
        return self.compute(np.array(wanted, np.int64), time, tick)

    def compute(self, members: Members, time: float, tick: int) -> Readings:
        """Read the sensors at the indices `members`."""
        batch = self._batch(members, time, tick)
        values = dict(self.kind.sense(batch))
        self._keep(members, batch)
        for value in values.values():
            if isinstance(value, np.ndarray):
                # Every reading of the group is a view of these arrays.
                value.flags.writeable = False
        readings = Readings(batch.sensors, time, tick, values, self.kind.reading_class)
        for index, sensor in enumerate(batch.sensors):
            sensor.last = readings, index
        return readings

    def read_with(self, sensor: Sensor, params: SensorParams) -> Any:
        """Read one sensor now as if it had `params`, of the same kind; what it read last stays.

        For kinds without state. The noise is that of a reading in this step.
        """
        clock = self._world.clock
        batch = replace(self._batch(np.array([sensor.index]), clock.time, clock.tick), params=params)
        return Readings(batch.sensors, batch.time, batch.tick, self.kind.sense(batch), self.kind.reading_class)[0]

    def poses(self, members: Sequence[int] | Members) -> tuple[Floats, Floats]:
        """Return the world poses (N, 3), (N, 4) of the frames of the sensors at `members`."""
        chosen = np.asarray(members, np.int64)
        return frame_poses(
            self._world, self._rows[chosen], self._links[chosen], self._positions[chosen], self._orientations[chosen]
        )

    def begin(self, members: Members) -> None:
        """Reset the state of the sensors at `members` to the initial one, as of now."""
        for values in self.state.values():
            values[members] = 0
        self._prepare(members, self.kind.begin)

    def _prepare(self, members: Members, prepare: Callable[[Batch], None]) -> None:
        if self.state and len(members):
            clock = self._world.clock
            batch = self._batch(members, clock.time, clock.tick)
            prepare(batch)
            self._keep(members, batch)

    def _batch(self, members: Members, time: float, tick: int) -> Batch:
        """Return what a kind of sensor reads `members` from; its state is a copy."""
        positions, orientations = self.poses(members)
        return Batch(
            params=self.params,
            sensors=[self.sensors[index] for index in members.tolist()],
            rows=self._rows[members],
            links=self._links[members],
            positions=positions,
            orientations=orientations,
            keys=self._keys[members],
            time=time,
            tick=tick,
            # Indexing copies: a kind writes into its copy, and `_keep` takes it over only if it did not raise.
            state={name: values[members] for name, values in self.state.items()},
        )

    def _keep(self, members: Members, batch: Batch) -> None:
        for name, values in batch.state.items():
            self.state[name][members] = values

    # ---- consumers ---------------------------------------------------------------------------------------------------

    def consumer_changed(self, sensor: Sensor) -> None:
        """Called when `sensor` gets its first consumer, and when it loses its last one."""
        self.wanted += 1 if sensor.has_consumer else -1
        if sensor.has_consumer:
            self._prepare(np.array([sensor.index]), self.kind.resume)

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def _new_schedule(self) -> Schedule:
        clock = self._world.clock
        schedule = clock.schedule(self.params.rate)
        # Counting from an earlier tick brings the firing forward, so that each slot is due in a step of its own.
        schedule.progress = (clock.tick - self.slot, clock.tick)
        return schedule

    def restart(self) -> None:
        """Reset, as if all sensors had just been added."""
        self._schedule = self._new_schedule()
        for sensor in self.sensors:
            sensor.last = None
        self.begin(np.arange(len(self.sensors)))

    def save(self) -> dict[str, Any]:
        """Return the state of its sensors, for a checkpoint."""
        return {
            "sensors": list(self.sensors),
            "keys": self._keys.tolist(),
            "state": {name: values.copy() for name, values in self.state.items()},
            "progress": self._schedule.progress,
            "latest": [sensor.last for sensor in self.sensors],
            "read": [sensor.has_consumer for sensor in self.sensors],
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what `save` returned, for the sensors that exist."""
        self._schedule.progress = saved["progress"]
        # Sensors may have been removed or moved to other indices since, so each is looked up by its handle.
        places = [place for place, sensor in enumerate(saved["sensors"]) if sensor.is_alive]
        members = [saved["sensors"][place].index for place in places]
        for name, values in saved["state"].items():
            kept: AnyArray = self.state[name]
            kept[members] = values[places]
        for place in places:
            saved["sensors"][place].last = saved["latest"][place]
        # Consumers are not saved: whose sensor was not read then has subscribed to it as of now.
        idle = [place for place, read in enumerate(saved["read"]) if not read and saved["sensors"][place].is_alive]
        again = [saved["sensors"][place] for place in idle if saved["sensors"][place].has_consumer]
        self._prepare(np.array([sensor.index for sensor in again], np.int64), self.kind.resume)


# How sensors, their groups and their readings are written in state files, and found again.


def _of_sensor(sensor: Sensor) -> object:
    return sensor.type, sensor.params, sensor.owner, sensor.link


def _of_params(params: SensorParams) -> object:
    return plan_sensor(params).type, attributes_of(params)


def _params(saved: tuple[str, dict[str, Any]]) -> SensorParams:
    # By the constructor: it checks every value as one of a scenario.
    kind, values = saved
    return sensor_params_class(kind)(**values)


def _of_readings(readings: Readings) -> object:
    return readings.sensors[0].type, list(readings.sensors), readings.time, readings.tick, dict(readings.values)


def _readings(saved: tuple[str, list[Sensor], float, int, dict[str, Any]]) -> Readings:
    kind, sensors, time, tick, values = saved
    if not all(isinstance(sensor, Sensor) for sensor in sensors) or any(
        len(value) != len(sensors) for value in values.values()
    ):
        raise StateFileError(f"readings of {brief(kind)}: not one for each sensor")
    return Readings(sensors, time, tick, values, sensor_kind(kind).reading_class)


class SensorSystem:
    """All sensors of a simulation, on entities and fixed in the world.

    A reading made by a step is valid at the end of the step: its time is the start of the next step. `fresh` lists the
    readings of the last step, group by group.
    """

    def __init__(self, context: SensorContext) -> None:
        self.fresh: list[Readings] = []
        self.version = 0
        """Increases whenever sensors are added or removed."""
        self._context = context
        self._world = context.world
        self._kinds: dict[str, SensorKind] = {}
        """Each is made when its first group is."""
        self._groups: dict[GroupKey, SensorGroup] = {}
        """In the order in which they were made."""
        self._work: defaultdict[Work, float] = defaultdict(float)
        """What all sensors take per simulated second."""
        self._of_row: dict[int, dict[str, Sensor]] = {}
        """The sensors of each row by name, in order of adding; those fixed in the world are in row -1."""
        self.busy: list[SensorGroup] | None = []
        # Of kinds with a limit of readings per step, in the order in which they became due. Dictionaries keep it: a
        # sensor that is due again before its turn keeps its place in the queue.
        self._waiting: dict[SensorKind, dict[Sensor, None]] = {}
        context.world.on_remove.append(self._owners_removed)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def run(self, dt: float) -> None:
        """Read the sensors that are due and have a consumer, then call their handlers."""
        self.fresh = []
        # Which groups have consumers changes rarely; looking through all of them in every step would cost more than
        # reading a few.
        if self.busy is None:
            self.busy = [group for group in self._groups.values() if group.wanted]
        if not self.busy:
            return
        clock = self._world.clock
        tick = clock.tick + 1
        time = clock.seconds(tick)
        fresh: list[Readings | None] = []
        for group in self.busy:
            if group.due():
                # Kinds with a budget only queue here; `_take_turns` decides who is read in this step.
                if group.kind.budget is None:
                    fresh.append(group.part.call(group.compute_wanted, time, tick))
                else:
                    waiting = self._waiting.setdefault(group.kind, {})
                    waiting.update(dict.fromkeys(sensor for sensor in group.sensors if sensor.has_consumer))
        if any(self._waiting.values()):
            for group, members in self._by_group(self._take_turns()):
                chosen = np.array([sensor.index for sensor in members], np.int64)
                fresh.append(group.part.call(group.compute, chosen, time, tick))
        self.fresh = [readings for readings in fresh if readings is not None]
        for readings in self.fresh:
            self._notify_handlers(readings)

    def _take_turns(self) -> list[Sensor]:
        """Return the waiting sensors whose turn it is: of each kind as many as its budget allows."""
        taken: list[Sensor] = []
        for kind, waiting in self._waiting.items():
            for sensor in [sensor for sensor in waiting if not (sensor.is_alive and sensor.has_consumer)]:
                del waiting[sensor]
            turn = list(islice(waiting, kind.budget))
            for sensor in turn:
                del waiting[sensor]
            taken += turn
        return taken

    def _notify_handlers(self, readings: Readings) -> None:
        for index, sensor in enumerate(readings.sensors):
            for handler, part in sensor.handlers:
                # An earlier handler may have removed the sensor.
                if sensor.is_alive:
                    part.call(handler, sensor, readings[index])

    def new_part(self) -> GuardedPart:
        """Return what calls a new handler of a sensor."""
        return self._world.guard.part("sensor handler")

    def consumer_changed(self, sensor: Sensor) -> None:
        """Called when `sensor` gets its first consumer, and when it loses its last one."""
        self._group_of(sensor).consumer_changed(sensor)
        self.busy = None

    # ---- adding and removing -----------------------------------------------------------------------------------------

    plan = staticmethod(plan_sensors)

    def add(self, spec: Any, owner: Handle | None = None, **settings: Any) -> Sensor:
        """Add one sensor and return it: see `sim.add_sensor`."""
        plan = plan_sensor(spec, settings)
        if owner is not None and not isinstance(getattr(owner, "row", None), int):
            raise InvalidValueError(f"owner: expected an entity, its name, or None for the world, got {brief(owner)}")
        row = NO_ROW if owner is None else owner.row
        return self._mount([row], [owner], [plan])[0]

    def place(self, specs: Any, *, source: str = "") -> list[Sensor]:
        """Add sensors fixed in the world, from the `sensors` section of a scenario; raises ConfigError."""
        return self._mount([NO_ROW], [None], plan_sensors(specs, source=source))

    def mount(self, rows: Rows, plans: Sequence[SensorPlan]) -> None:
        """Add the same sensors to every entity of `rows`."""
        if plans:
            self._mount(rows.tolist(), [self._world.handles[row] for row in rows.tolist()], plans)

    def check(self, row: int, plans: Sequence[SensorPlan]) -> None:
        """Raise unless the entity in `row` can carry the sensors: UnknownNameError, DuplicateNameError."""
        for plan in plans:
            if self._has(row, plan.params.name):
                holder = f"{self._world.label(row)!r} has" if row != NO_ROW else "the world has"
                raise DuplicateNameError(
                    f"{holder} a sensor named {plan.params.name!r} already; give this one another name"
                )
            link = -1 if row == NO_ROW else link_index(self._world, row, plan.params.link)
            kind = sensor_kind(plan.type)
            kind.check_mount(self._world, row, link)
            kind.check_params(plan.params)

    def _mount(self, rows: Sequence[int], owners: Sequence[Handle | None], plans: Sequence[SensorPlan]) -> list[Sensor]:
        """Mount the sensors of all `plans` on `rows`; nothing is mounted where one of them cannot be."""
        for plan in plans:
            check_name(plan.params.name, "name of a sensor")
            if (work := work_of(plan.params, self._world)) is not None:
                kind, amount = work
                kind.charge(len(rows) * amount, self._work[kind])
        for row in rows:
            self.check(row, plans)
        made: list[Sensor] = []
        for plan in plans:
            sensors = []
            for row, owner in zip(rows, owners, strict=True):
                link = -1 if row == NO_ROW else link_index(self._world, row, plan.params.link)
                sensor = Sensor(self, plan.type, plan.params, owner, link)
                self._of_row.setdefault(row, {})[sensor.name] = sensor
                sensors.append(sensor)
            # Keyed by name, not by a counter: the noise of a sensor does not depend on what was added before it.
            keys = [self._world.random.key(f"sensor {sensor.label}") for sensor in sensors]
            self._assign_groups(sensors, keys)
            made += sensors
        return made

    def _assign_groups(self, sensors: Sequence[Sensor], keys: Sequence[int]) -> None:
        """Put new sensors of one plan into groups."""
        self.version += 1
        first = sensors[0]
        common = first.params.common()
        slots = self._slots(first.type, common, len(sensors))
        # `groupby` joins neighbours only. Sorting is stable, so sensors of a slot keep their order.
        places = sorted(range(len(sensors)), key=slots.__getitem__)
        for slot, chosen in groupby(places, key=slots.__getitem__):
            group = self._group_with((first.type, common, slot))
            members = list(chosen)
            self._join(group, [sensors[place] for place in members], [keys[place] for place in members])

    def remove(self, sensors: Sequence[Sensor]) -> None:
        """Remove sensors; raises StateError for a removed one, InvalidValueError for what is none."""
        for sensor in sensors:
            if not isinstance(sensor, Sensor):
                raise InvalidValueError(f"expected a sensor, got {brief(sensor)}; see sim.get_sensor(name)")
        chosen = list(dict.fromkeys(sensors))
        self._leave(chosen)
        # The row of an owner that was removed belongs to nobody by now, so rows are searched for their sensors.
        gone = set(chosen)
        for row, known in list(self._of_row.items()):
            if gone.intersection(known.values()):
                self._of_row[row] = {name: sensor for name, sensor in known.items() if sensor not in gone}

    def clear(self) -> None:
        """Remove all sensors."""
        self.remove(self.all)
        self.fresh = []

    def _owners_removed(self, rows: Rows) -> None:
        if not self._of_row:
            return
        gone = [sensor for row in rows.tolist() for sensor in self._of_row.pop(row, {}).values()]
        if gone:
            self._leave(gone)

    # ---- groups ------------------------------------------------------------------------------------------------------

    def _kind(self, name: str) -> SensorKind:
        """Return the kind called `name`, made at the first use; raises UnknownNameError."""
        if name not in self._kinds:
            self._kinds[name] = sensor_kind(name)(self._context)
        return self._kinds[name]

    def _group_with(self, key: GroupKey) -> SensorGroup:
        """Return the group of sensors with this key, made at the first use."""
        if key not in self._groups:
            kind, common, slot = key
            self._groups[key] = SensorGroup(self._kind(kind), common, slot)
        return self._groups[key]

    def _slots(self, type_name: str, params: SensorParams, count: int) -> list[int]:
        """Return the steps of the period for `count` more sensors: those in which the fewest are due."""
        kind = self._kind(type_name)
        if not kind.spread or params.rate is None:
            return [0] * count
        load = np.zeros(max(1, self._world.clock.ticks(1.0 / params.rate)), np.int64)
        for (_, other, slot), group in self._groups.items():
            if group.kind is kind and other.rate == params.rate:
                load[slot] += len(group.sensors)
        slots = []
        for _ in range(count):
            # Of equally loaded steps the first: the choice is reproducible.
            slots.append(int(np.argmin(load)))
            load[slots[-1]] += 1
        return slots

    def _join(self, group: SensorGroup, sensors: Sequence[Sensor], keys: Sequence[int]) -> None:
        """Put new sensors into `group`, with the keys of their noise."""
        group.add(sensors, keys)
        self._count(group, len(sensors))

    def _leave(self, sensors: Sequence[Sensor]) -> None:
        """Take sensors out of their groups, of which empty ones go; raises StateError for a removed one."""
        for group, members in self._by_group(sensors):
            group.remove(members)
            self._count(group, -len(members))
        self.version += 1
        self._groups = {key: group for key, group in self._groups.items() if group.sensors}
        self.busy = None

    def _count(self, group: SensorGroup, sensors: int) -> None:
        if group.work is not None:
            kind, amount = group.work
            self._work[kind] += sensors * amount

    def _group_of(self, sensor: Sensor) -> SensorGroup:
        """Return the sensors that `sensor` is computed with; raises StateError for a removed one."""
        sensor.check_alive()
        group: SensorGroup = sensor.group
        if group.kind.context is not self._context:
            raise StateError(f"sensor {sensor.label!r} belongs to another simulation; ask that one")
        return group

    def _by_group(self, sensors: Sequence[Sensor]) -> list[tuple[SensorGroup, list[Sensor]]]:
        """Return (group, its sensors) for all groups of `sensors`; raises StateError for a removed sensor."""
        groups: dict[int, tuple[SensorGroup, list[Sensor]]] = {}
        for sensor in sensors:
            group = self._group_of(sensor)
            groups.setdefault(id(group), (group, []))[1].append(sensor)
        return list(groups.values())

    # ---- asking ------------------------------------------------------------------------------------------------------

    @property
    def all(self) -> list[Sensor]:
        """All sensors, those of one entity together."""
        return [sensor for known in self._of_row.values() for sensor in known.values()]

    def __len__(self) -> int:
        return sum(len(group.sensors) for group in self._groups.values())

    def of(self, row: int) -> list[Sensor]:
        """Return the sensors of the entity in `row` (-1: those fixed in the world), in order of adding."""
        return list(self._of_row.get(row, {}).values())

    def named(self, row: int, name: str) -> Sensor:
        """Return one sensor of the entity in `row` (-1: fixed in the world); raises UnknownNameError."""
        if not self._has(row, name):
            holder = "the world" if row == NO_ROW else repr(self._world.label(row))
            raise unknown_name(f"sensor of {holder}", name, self._of_row.get(row, {}))
        return self._of_row[row][name]

    def labelled(self, label: str) -> Sensor:
        """Return the sensor `<owner>/<name>`, or one fixed in the world by its name; raises UnknownNameError."""
        owner, _, name = label.rpartition("/")
        return self.named(self._world.index.row_named(owner) if owner else NO_ROW, name)

    def _has(self, row: int, name: str) -> bool:
        return name in self._of_row.get(row, {})

    def read(self, sensors: Sequence[Sensor]) -> list[Any]:
        """Read sensors now, in as few calls as possible, and return their readings in the same order.

        Raises StateError for a removed one, and what the sensors' kind raises.
        """
        clock = self._world.clock
        out: dict[Sensor, Any] = {}
        for group, members in self._by_group(sensors):
            # A sensor that is asked for twice is read once: some kinds change their state when they are read.
            unique = list(dict.fromkeys(members))
            readings = group.compute(np.array([sensor.index for sensor in unique]), clock.time, clock.tick)
            out.update(zip(unique, map(readings.__getitem__, range(len(unique))), strict=True))
        return [out[sensor] for sensor in sensors]

    def read_with(self, sensor: Sensor, params: SensorParams) -> Any:
        """Read a sensor of a kind without state now, as if it had `params`: a camera with fewer channels."""
        return self._group_of(sensor).read_with(sensor, params)

    def pose(self, sensor: Sensor) -> Pose:
        """Return the pose of the sensor's own frame in the world; raises StateError for a removed one."""
        positions, orientations = self._group_of(sensor).poses([sensor.index])
        return Pose(positions[0].tolist(), orientations[0].tolist())

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return all sensors, their state, and those that wait for their turn."""
        groups = [(key, group, group.save()) for key, group in self._groups.items()]
        return {"groups": groups, "waiting": copied(self._waiting)}

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how sensors are written in state files."""
        yield Form("sensor", Sensor, _of_sensor, self._sensor)
        yield Form("sensor_group", SensorGroup, self._of_group, self._group)
        yield Form("sensor_kind", SensorKind, self._of_kind, self._kind)
        yield Form("sensor_params", SensorParams, _of_params, _params)
        yield Form("readings", Readings, _of_readings, _readings)

    def _sensor(self, saved: tuple[str, SensorParams, Handle | None, int]) -> Sensor:
        """Return the sensor that `saved` stands for: the one that is mounted if it is the same, else a new one."""
        kind, params, owner, link = saved
        if type(params) is not sensor_params_class(kind) or type(link) is not int or link < -1:
            raise StateFileError(f"{brief(saved)} is no sensor")
        if owner is None or owner.is_alive:
            row = NO_ROW if owner is None else owner.row
            known = self._of_row.get(row, {}).get(params.name)
            if known is not None and (known.type, known.params, known.link) == (kind, params, link):
                return known
        return Sensor(self, kind, params, owner, link)

    def _of_kind(self, kind: SensorKind) -> str:
        return next(name for name, known in self._kinds.items() if known is kind)

    def _of_group(self, group: SensorGroup) -> GroupKey:
        return next(key for key, known in self._groups.items() if known is group)

    def _group(self, key: GroupKey) -> SensorGroup:
        kind, common, slot = key
        if type(common) is not sensor_params_class(kind) or type(slot) is not int or slot < 0:
            raise StateFileError(f"{brief(key)} is no group of sensors")
        return self._group_with(key)

    def keep_only(self, saved: Any) -> None:
        """Remove the sensors that are not in `saved`, of another process."""
        known = {sensor for _, _, content in saved["groups"] for sensor in content["sensors"]}
        gone = [sensor for sensor in self.all if sensor not in known]
        if gone:
            self.remove(gone)

    def restore(self, saved: Any) -> None:
        """Go back to what `save` returned: removed sensors are added again, those added since stay and are reset.

        Called after the world is back.
        """
        self.fresh = []
        self.busy = None
        groups = saved["groups"]
        # Compared by identity: a group that was dropped and made again under the same key is another one.
        kept = {id(group) for _, group, _ in groups}
        for group in self._groups.values():
            if id(group) not in kept:
                group.restart()
        for key, group, content in groups:
            # Where it was dropped meanwhile, it is there again.
            group = self._groups.setdefault(key, group)
            self._revive(group, content)
            # Resets sensors that were added since; those that were saved get their state back next.
            group.begin(np.arange(len(group.sensors)))
            group.restore(content)
        self._waiting = copied(saved["waiting"])

    def _revive(self, group: SensorGroup, content: dict[str, Any]) -> None:
        """Add removed sensors again, unless their owner is gone or their name is taken."""
        back = []
        for index, sensor in enumerate(content["sensors"]):
            if sensor.is_alive or not (sensor.owner is None or sensor.owner.is_alive):
                continue
            known = self._of_row.setdefault(NO_ROW if sensor.owner is None else sensor.owner.row, {})
            if known.setdefault(sensor.name, sensor) is sensor:
                back.append(index)
        if back:
            self.version += 1
            self._join(group, [content["sensors"][index] for index in back], [content["keys"][index] for index in back])
