"""Base of sensors with small fixed messages, which are written for all sensors at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.ros.sensors.topics import MessageTopics
from fleet_sim.ros.wire import stamped_template
from fleet_sim.sensors import Readings


class TemplatedTopics(MessageTopics):
    """Publishes stamped messages of a fixed layout; `fields` are the groups of float64 in them, by their paths."""

    fields: ClassVar[Mapping[str, Sequence[str]]] = {}

    def values_of(self, readings: Readings) -> Mapping[str, Floats]:
        """Return the numbers of the groups `fields`, one row per sensor."""
        return readings.values

    def prepare(self) -> None:
        """Lay out one block of bytes with the messages of all sensors of the kind."""
        super().prepare()
        self._template = stamped_template(self._messages, self.fields) if self._messages else None
        # Kept from step to step: sensors that were not read now keep their last values in the template.
        self._values = {name: np.zeros((len(self._messages), len(paths))) for name, paths in self.fields.items()}

    def send(self, readings: Readings, now: int) -> None:
        """Write the readings into the messages of their sensors, and publish these."""
        wanted = list(self.with_channels(readings))
        if self._template is None or not wanted:
            return
        indices, slots = [index for index, _ in wanted], [channel.slot for _, channel in wanted]
        found = self.values_of(readings)
        self._template.write_stamp(now)
        for name, values in self._values.items():
            values[slots] = found[name][indices]
            self._template.write(name, values)
        pieces = self._template.pieces()
        # The template holds all sensors of the kind, but only those read now are published.
        for _, channel in wanted:
            channel.publisher.publish(pieces[channel.slot])
