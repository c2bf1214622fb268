"""The system that reads sensors that are due and have a consumer, all of a group in one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.core.faults import GuardedPart
from fleet_sim.core.saving.forms import Form
from fleet_sim.core.schema import NO_ROW
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import InvalidValueError, brief
from fleet_sim.geometry import Pose
from fleet_sim.sensors.group import SensorGroup
from fleet_sim.sensors.groups import SensorGroups
from fleet_sim.sensors.homes import SensorHomes
from fleet_sim.sensors.kind import SensorContext
from fleet_sim.sensors.mounting import link_index
from fleet_sim.sensors.registry import SensorPlan, plan_sensor, plan_sensors, sensor_kind
from fleet_sim.sensors.roster import SensorRoster
from fleet_sim.sensors.saved_forms import SensorForms
from fleet_sim.sensors.sensor import Readings, Sensor, SensorParams
from fleet_sim.sensors.turns import Turns


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
        self._groups = SensorGroups(context)
        self._homes = SensorHomes()
        self._roster = SensorRoster(context.world)
        self._busy: list[SensorGroup] | None = []
        self._turns = Turns()
        context.world.on_remove.append(self._owners_removed)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def has_work(self) -> bool:
        """Return whether some sensor has a consumer, or readings of the last step are to be dropped."""
        return self._busy is None or bool(self._busy) or bool(self.fresh)

    def run(self, dt: float) -> None:
        """Read the sensors that are due and have a consumer, then call their handlers."""
        self.fresh = []
        # Which groups have consumers changes rarely; looking through all of them in every step would cost more than
        # reading a few.
        if self._busy is None:
            self._busy = [group for group in self._groups if group.wanted]
        if not self._busy:
            return
        clock = self._world.clock
        tick = clock.tick + 1
        time = clock.seconds(tick)
        fresh: list[Readings | None] = []
        for group in self._busy:
            if group.due():
                # Kinds with a budget only queue here; `Turns` decides who is read in this step.
                if group.kind.budget is None:
                    fresh.append(group.part.call(group.compute_wanted, time, tick))
                else:
                    self._turns.join(group)
        if self._turns:
            for group, members in self._homes.by_group(self._turns.take()):
                chosen = np.array([sensor.index for sensor in members], np.int64)
                fresh.append(group.part.call(group.compute, chosen, time, tick))
        self.fresh = [readings for readings in fresh if readings is not None]
        for readings in self.fresh:
            self._tell(readings)

    def _tell(self, readings: Readings) -> None:
        for index, sensor in enumerate(readings.sensors):
            for handler, part in sensor.handlers:
                # An earlier handler may have removed the sensor.
                if sensor.is_alive:
                    part.call(handler, sensor, readings[index])

    def new_part(self) -> GuardedPart:
        """Return what calls a new handler of a sensor."""
        return self._world.guard.part("sensor handler")

    def consumer_came(self, sensor: Sensor) -> None:
        """Called when `sensor` gets its first consumer."""
        self._homes.of(sensor).consumer_came(sensor)
        self._busy = None

    def consumer_went(self, sensor: Sensor) -> None:
        """Called when `sensor` loses its last consumer."""
        self._homes.of(sensor).consumer_went(sensor)
        self._busy = None

    # ---- adding and removing -----------------------------------------------------------------------------------------

    plan = staticmethod(plan_sensors)

    def add(self, spec: Any, owner: SimObject | None = None, **settings: Any) -> Sensor:
        """Add one sensor and return it: see `sim.add_sensor`."""
        plan = plan_sensor(spec, settings)
        if owner is not None and not isinstance(getattr(owner, "row", None), int):
            raise InvalidValueError(f"owner: expected an entity, its name, or None for the world, got {brief(owner)}")
        row = NO_ROW if owner is None else owner.row
        return self._mount([row], [owner], [plan])[0]

    def labelled(self, label: str) -> Sensor:
        """Return the sensor `<owner>/<name>`, or one fixed in the world by its name; raises UnknownNameError."""
        return self._roster.labelled(label)

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
            self._roster.check_new(row, plan.params.name)
            link = -1 if row == NO_ROW else link_index(self._world, row, plan.params.link)
            kind = sensor_kind(plan.type)
            kind.check_mount(self._world, row, link)
            kind.check_params(plan.params)

    def _mount(
        self, rows: Sequence[int], owners: Sequence[SimObject | None], plans: Sequence[SensorPlan]
    ) -> list[Sensor]:
        """Mount the sensors of all `plans` on `rows`; nothing is mounted where one of them cannot be."""
        for row in rows:
            self.check(row, plans)
        made: list[Sensor] = []
        for plan in plans:
            sensors = []
            for row, owner in zip(rows, owners, strict=True):
                link = -1 if row == NO_ROW else link_index(self._world, row, plan.params.link)
                sensor = Sensor(self, plan.type, plan.params, owner, link)
                self._roster.add(row, sensor)
                sensors.append(sensor)
            # Keyed by name, not by a counter: the noise of a sensor does not depend on what was added before it.
            keys = [self._world.random.key(f"sensor {sensor.label}") for sensor in sensors]
            self._take_in(sensors, keys)
            made += sensors
        return made

    def _take_in(self, sensors: Sequence[Sensor], keys: Sequence[int]) -> None:
        """Put new sensors of one plan into groups."""
        self.version += 1
        first = sensors[0]
        common = first.params.common()
        slots = self._groups.slots(first.type, common, len(sensors))
        # `groupby` joins neighbours only. Sorting is stable, so sensors of a slot keep their order.
        places = sorted(range(len(sensors)), key=slots.__getitem__)
        for slot, chosen in groupby(places, key=slots.__getitem__):
            group = self._groups.get(first.type, common, slot)
            members = list(chosen)
            self._homes.join(group, [sensors[place] for place in members], [keys[place] for place in members])

    def remove(self, sensors: Sequence[Sensor]) -> None:
        """Remove sensors; raises StateError for a removed one, InvalidValueError for what is none."""
        for sensor in sensors:
            if not isinstance(sensor, Sensor):
                raise InvalidValueError(f"expected a sensor, got {brief(sensor)}; see sim.get_sensor(name)")
        chosen = list(dict.fromkeys(sensors))
        self._homes.leave(chosen)
        self._roster.discard(chosen)
        self._drop_empty()

    def clear(self) -> None:
        """Remove all sensors."""
        self.remove(self.all)
        self.fresh = []

    def _owners_removed(self, rows: Rows) -> None:
        if not self._roster:
            return
        gone = self._roster.pop_rows(rows.tolist())
        if gone:
            self._homes.leave(gone)
            self._drop_empty()

    def _drop_empty(self) -> None:
        self.version += 1
        self._groups.drop_empty()
        self._busy = None

    # ---- asking ------------------------------------------------------------------------------------------------------

    @property
    def all(self) -> list[Sensor]:
        """All sensors, those of one entity together."""
        return self._roster.all

    def __len__(self) -> int:
        return sum(len(group.sensors) for group in self._groups)

    def of(self, row: int) -> list[Sensor]:
        """Return the sensors of the entity in `row` (-1: those fixed in the world), in order of adding."""
        return self._roster.of(row)

    def named(self, row: int, name: str) -> Sensor:
        """Return one sensor of the entity in `row` (-1: fixed in the world); raises UnknownNameError."""
        return self._roster.named(row, name)

    def read(self, sensors: Sequence[Sensor]) -> list[Any]:
        """Read sensors now, in as few calls as possible, and return their readings in the same order.

        Raises StateError for a removed one, and what the sensors' kind raises.
        """
        clock = self._world.clock
        out: dict[Sensor, Any] = {}
        for group, members in self._homes.by_group(sensors):
            # A sensor that is asked for twice is read once: some kinds change their state when they are read.
            unique = list(dict.fromkeys(members))
            readings = group.compute(np.array([sensor.index for sensor in unique]), clock.time, clock.tick)
            out.update(zip(unique, map(readings.__getitem__, range(len(unique))), strict=True))
        return [out[sensor] for sensor in sensors]

    def read_with(self, sensor: Sensor, params: SensorParams) -> Any:
        """Read a sensor of a kind without state now, as if it had `params`: a camera with fewer channels."""
        return self._homes.of(sensor).read_with(sensor, params)

    def pose(self, sensor: Sensor) -> Pose:
        """Return the pose of the sensor's own frame in the world; raises StateError for a removed one."""
        positions, orientations = self._homes.of(sensor).poses([sensor.index])
        return Pose(positions[0].tolist(), orientations[0].tolist())

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return all sensors, their state, and those that wait for their turn."""
        groups = [(key, group, group.save()) for key, group in self._groups.items()]
        return {"groups": groups, "turns": self._turns.save()}

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how sensors are written in state files."""
        return SensorForms(self, self._groups, self._roster).forms()

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
        self._busy = None
        groups = saved["groups"]
        self._groups.restart_all_but([group for _, group, _ in groups])
        for key, group, content in groups:
            group = self._groups.put_back(key, group)
            self._revive(group, content)
            # Resets sensors that were added since; those that were saved get their state back next.
            group.begin(np.arange(len(group.sensors)))
            group.restore(content)
        self._turns.restore(saved["turns"])

    def _revive(self, group: SensorGroup, content: dict[str, Any]) -> None:
        """Add removed sensors again, unless their owner is gone or their name is taken."""
        sensors, keys = content["sensors"], content["keys"]
        back = [index for index, sensor in enumerate(sensors) if self._roster.take_back(sensor)]
        if back:
            self.version += 1
            self._homes.join(group, [sensors[index] for index in back], [keys[index] for index in back])
