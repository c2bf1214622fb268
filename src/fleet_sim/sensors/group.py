"""Sensors that are computed together: one kind, common parameters, one schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, Ints, Rows
from fleet_sim.core.clock import Schedule
from fleet_sim.core.random import Keys
from fleet_sim.core.schema import NO_ROW
from fleet_sim.sensors.kind import Batch, SensorKind
from fleet_sim.sensors.mounting import frame_poses
from fleet_sim.sensors.sensor import Readings, Sensor, SensorParams

Members = Ints
"""Indices into the sensors of a group."""


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
            sensor.index = index
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
            sensor.index = -1
            sensor.took(None, -1)
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
            sensor.took(readings, index)
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
            self._world,
            self._rows[chosen],
            self._links[chosen],
            self._positions[chosen],
            self._orientations[chosen],
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

    def consumer_came(self, sensor: Sensor) -> None:
        """Called when `sensor` gets a consumer."""
        self.wanted += 1
        self._prepare(np.array([sensor.index]), self.kind.resume)

    def consumer_went(self, sensor: Sensor) -> None:
        """Called when `sensor` loses its last consumer."""
        self.wanted -= 1

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
            sensor.took(None, -1)
        self.begin(np.arange(len(self.sensors)))

    def save(self) -> dict[str, Any]:
        """Return the state of its sensors, for a checkpoint."""
        return {
            "sensors": list(self.sensors),
            "keys": self._keys.tolist(),
            "state": {name: values.copy() for name, values in self.state.items()},
            "progress": self._schedule.progress,
            "latest": [sensor.last for sensor in self.sensors],
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
            sensor, last = saved["sensors"][place], saved["latest"][place]
            sensor.took(*(last or (None, -1)))
