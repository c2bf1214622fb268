"""Two actions, chosen by one binary sensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import setting
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.controllers.readings import detections
from fleet_sim.swarm.parameters import Configured, documented

_WHAT = "BinaryController"


@documented
@dataclass(eq=False, repr=False)
class BinaryController(Configured, Controller):
    """Takes action `a` while the sensor detects nothing and action `b` while it detects something.

    With `sense_avg_time` above 1 it uses that many of the last readings: `b` where at least half were detections.
    """

    per_square = ("a", "b")

    a: Any = setting(doc="Action of two numbers; without `b` it holds both: [a, b], or [a1, a2, b1, b2].")
    b: Any = setting(None, doc="Action of two numbers while the sensor detects something.")
    sensor_id: int = setting(0, low=0, doc="Index of the agent's sensor, from 0.")
    sense_avg_time: int = setting(1, low=1, doc="Number of readings to average.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        if self.b is None:
            self.a, self.b = _both(self.a)
        else:
            self.a, self.b = as_floats(self.a, (2,), f"{_WHAT}: a"), as_floats(self.b, (2,), f"{_WHAT}: b")

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        detected = detections(group, self.sensor_id, _WHAT)
        if self.sense_avg_time > 1:
            recent = self.column(group, "recent", (self.sense_avg_time,), dtype=bool, default=False)
            taken = self.column(group, "taken", dtype=np.int64)
            # A ring per agent: the oldest reading is overwritten, and their order does not matter for a count.
            recent[np.arange(len(group)), taken % self.sense_avg_time] = detected
            taken += 1
            known = np.minimum(taken, self.sense_avg_time)
            # A tie counts as detected; before the ring is full, only what was read so far is counted.
            detected = 2 * np.count_nonzero(recent, axis=1) >= known
        return np.where(detected[:, None], self.b, self.a)


def _both(a: Sequence[Any]) -> Floats:
    """Return two actions (2, 2) from a list of both; raises InvalidValueError."""
    try:
        # Ragged lists raise ValueError in NumPy; they get the same message as a wrong length.
        numbers = np.asarray(a, np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape not in ((4,), (2, 2)) or not np.isfinite(numbers).all():
        raise InvalidValueError(
            f"{_WHAT}: without b, a must hold both actions: [[a1, a2], [b1, b2]] or [a1, a2, b1, b2], got {a!r}"
        )
    return numbers.reshape(2, 2)
