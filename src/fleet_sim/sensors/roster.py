"""SensorRoster: which sensors there are, by their owners and names."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.errors import DuplicateNameError, unknown_name
from fleet_sim.sensors.sensor import Sensor


class SensorRoster:
    """The sensors of each row by name, in order of adding; those fixed in the world are in row -1."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._of_row: dict[int, dict[str, Sensor]] = {}

    def __bool__(self) -> bool:
        return bool(self._of_row)

    @property
    def all(self) -> list[Sensor]:
        """All sensors, those of one entity together."""
        return [sensor for known in self._of_row.values() for sensor in known.values()]

    def of(self, row: int) -> list[Sensor]:
        """Return the sensors in `row`."""
        return list(self._of_row.get(row, {}).values())

    def has(self, row: int, name: str) -> bool:
        """Return whether there is a sensor of that name in `row`."""
        return name in self._of_row.get(row, {})

    def named(self, row: int, name: str) -> Sensor:
        """Return one sensor in `row`; raises UnknownNameError."""
        if not self.has(row, name):
            holder = "the world" if row == NO_ROW else repr(self._world.label(row))
            raise unknown_name(f"sensor of {holder}", name, self._of_row.get(row, {}))
        return self._of_row[row][name]

    def labelled(self, label: str) -> Sensor:
        """Return the sensor `<owner>/<name>`, or one fixed in the world by its name; raises UnknownNameError."""
        owner, _, name = label.rpartition("/")
        return self.named(self._world.index.row_named(owner) if owner else NO_ROW, name)

    def check_new(self, row: int, name: str) -> None:
        """Raise DuplicateNameError where `row` has a sensor of that name."""
        if self.has(row, name):
            holder = f"{self._world.label(row)!r} has" if row != NO_ROW else "the world has"
            raise DuplicateNameError(f"{holder} a sensor named {name!r} already; give this one another name")

    def add(self, row: int, sensor: Sensor) -> None:
        """Enter a sensor whose name is new in `row`."""
        self._of_row.setdefault(row, {})[sensor.name] = sensor

    def take_back(self, sensor: Sensor) -> bool:
        """Enter a removed sensor again and return True, unless its owner is gone or its name is taken."""
        if sensor.is_alive or not (sensor.owner is None or sensor.owner.is_alive):
            return False
        row = NO_ROW if sensor.owner is None else sensor.owner.row
        if self.has(row, sensor.name):
            return False
        self.add(row, sensor)
        return True

    def discard(self, sensors: Collection[Sensor]) -> None:
        """Take `sensors` out."""
        gone = set(sensors)
        # The row of an owner that was removed belongs to nobody by now, so rows are searched for their sensors.
        for row, known in list(self._of_row.items()):
            if gone.intersection(known.values()):
                self._of_row[row] = {name: sensor for name, sensor in known.items() if sensor not in gone}

    def pop_rows(self, rows: Sequence[int]) -> list[Sensor]:
        """Take out all sensors in `rows`; returns them."""
        return [sensor for row in rows for sensor in self._of_row.pop(row, {}).values()]
