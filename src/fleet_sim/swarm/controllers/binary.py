"""Two actions, chosen by one binary sensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.controllers.readings import check_sensor_id, detections

_WHAT = "BinaryController"


class BinaryController(Controller):
    """Takes action `a` while the sensor detects nothing and action `b` while it detects something.

    With `sense_avg_time` above 1 it goes by the last so many readings: `b` where at least half of them were detections.
    """

    def __init__(
        self,
        a: Sequence[Any],
        b: Sequence[float] | None = None,
        sensor_id: int = 0,
        sense_avg_time: int = 1,
    ) -> None:
        """`a`, `b`: actions of two numbers; without `b`, `a` holds both: [a, b], or [a1, a2, b1, b2].

        `sensor_id`: which of the agent's sensors, from 0. `sense_avg_time`: readings to go by, at least 1.
        """
        both = (
            np.array([as_floats(a, (2,), f"{_WHAT}: a"), as_floats(b, (2,), f"{_WHAT}: b")])
            if b is not None
            else _both(a)
        )
        self.a, self.b = both
        self.sensor_id = check_sensor_id(sensor_id, _WHAT)
        if isinstance(sense_avg_time, bool) or not isinstance(sense_avg_time, int) or sense_avg_time < 1:
            raise InvalidValueError(
                f"{_WHAT}: sense_avg_time must be a whole number of at least 1, got {sense_avg_time!r}"
            )
        self.sense_avg_time = sense_avg_time

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        detected = detections(group, self.sensor_id, _WHAT)
        if self.sense_avg_time > 1:
            recent = self.column(group, "recent", (self.sense_avg_time,), dtype=bool, default=False)
            taken = self.column(group, "taken", dtype=np.int64)
            recent[np.arange(len(group)), taken % self.sense_avg_time] = detected
            taken += 1
            known = np.minimum(taken, self.sense_avg_time)
            detected = 2 * np.count_nonzero(recent, axis=1) >= known
        return np.where(detected[:, None], self.b, self.a)


def _both(a: Sequence[Any]) -> Floats:
    try:
        numbers = np.asarray(a, np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape not in ((4,), (2, 2)) or not np.isfinite(numbers).all():
        raise InvalidValueError(
            f"{_WHAT}: without b, a must hold both actions: [[a1, a2], [b1, b2]] or [a1, a2, b1, b2], got {a!r}"
        )
    return numbers.reshape(2, 2)
