"""Queues of due sensors, for kinds with a limit of readings per step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from fleet_sim.sensors.group import SensorGroup
from fleet_sim.sensors.kind import SensorKind
from fleet_sim.sensors.sensor import Sensor


class Turns:
    """The sensors of each kind that are due, in the order in which they became so."""

    def __init__(self) -> None:
        # Dictionaries keep insertion order: a sensor that is due again before its turn keeps its place in the queue.
        self._waiting: dict[SensorKind, dict[Sensor, None]] = {}

    def join(self, group: SensorGroup) -> None:
        """Queue the sensors of a group that have consumers."""
        waiting = self._waiting.setdefault(group.kind, {})
        waiting.update(dict.fromkeys(sensor for sensor in group.sensors if sensor.has_consumer))

    def take(self) -> list[Sensor]:
        """Return the sensors whose turn it is: of each kind as many as its budget allows."""
        taken: list[Sensor] = []
        for kind, waiting in self._waiting.items():
            for sensor in [sensor for sensor in waiting if not (sensor.is_alive and sensor.has_consumer)]:
                del waiting[sensor]
            turn = list(islice(waiting, kind.budget))
            for sensor in turn:
                del waiting[sensor]
            taken += turn
        return taken

    def __bool__(self) -> bool:
        return any(self._waiting.values())

    def save(self) -> list[tuple[SensorKind, list[Sensor]]]:
        """Return the queues, for a checkpoint."""
        return [(kind, list(waiting)) for kind, waiting in self._waiting.items()]

    def restore(self, saved: Sequence[tuple[SensorKind, list[Sensor]]]) -> None:
        """Restore what `save` returned."""
        self._waiting = {kind: dict.fromkeys(waiting) for kind, waiting in saved}
