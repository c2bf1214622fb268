"""Which group each sensor is computed with."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_sim.errors import StateError
from fleet_sim.sensors.group import SensorGroup
from fleet_sim.sensors.sensor import Sensor


class SensorHomes:
    """The group of each sensor of a simulation."""

    def __init__(self) -> None:
        self._homes: dict[Sensor, SensorGroup] = {}

    def join(self, group: SensorGroup, sensors: Sequence[Sensor], keys: Sequence[int]) -> None:
        """Put new sensors into `group`, with the keys of their noise."""
        group.add(sensors, keys)
        self._homes.update(dict.fromkeys(sensors, group))

    def leave(self, sensors: Sequence[Sensor]) -> None:
        """Take sensors out of their groups; raises StateError for a removed one."""
        for group, members in self.by_group(sensors):
            group.remove(members)
            for sensor in members:
                del self._homes[sensor]

    def of(self, sensor: Sensor) -> SensorGroup:
        """Return the sensors that `sensor` is computed with; raises StateError for a removed one."""
        sensor.check_alive()
        group = self._homes.get(sensor)
        if group is None:
            raise StateError(f"sensor {sensor.label!r} belongs to another simulation; ask that one")
        return group

    def by_group(self, sensors: Sequence[Sensor]) -> list[tuple[SensorGroup, list[Sensor]]]:
        """Return (group, its sensors) for all groups of `sensors`; raises StateError for a removed sensor."""
        groups: dict[int, tuple[SensorGroup, list[Sensor]]] = {}
        for sensor in sensors:
            group = self._homes.get(sensor)
            if group is None or sensor.index < 0:
                group = self.of(sensor)
            known = groups.get(id(group))
            if known is None:
                known = groups[id(group)] = (group, [])
            known[1].append(sensor)
        return list(groups.values())
