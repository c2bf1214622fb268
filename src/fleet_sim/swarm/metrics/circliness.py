"""How well the agents go round on one circle."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats, as_whole
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, ScaledMetric, centred
from fleet_sim.swarm.parameters import documented


def fatness(positions: Floats) -> float:
    """Return 1 - min|x_i - c|^2 / max|x_i - c|^2, with the centroid c of `positions` (N, 2): 0 on a circle, 1 filled.

    Taylor, Luzzi and Nowzari, "The impact of catastrophic collisions and collision avoidance on a swarming behavior"
    (2021), equation 6. Agents that are all in one place have fatness 1.
    """
    _, distances = centred(positions)
    largest = float(distances.max())
    # All agents in one place are no circle.
    return 1.0 - float(distances.min()) ** 2 / largest**2 if largest > 0.0 else 1.0


def tangentness(positions: Floats, headings: Floats) -> float:
    """Return 1/N sum |cos(h_i - b_i)|, with headings h_i (N,) and bearings b_i from the centroid of `positions` (N, 2).

    0 where all go around the centroid, 1 where all go towards or away from it. Taylor, Luzzi and Nowzari (2021), as for
    `fatness`.
    """
    offsets, _ = centred(positions)
    # Both ways round count alike.
    return float(np.abs(trig.cos(headings - trig.arctan2(offsets[:, 1], offsets[:, 0]))).mean())


class Fatness(CrowdMetric):
    """How far from one circle the agents are, 0 to 1; see `fatness`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return fatness(crowd.positions)


class Fatness2(ScaledMetric):
    """How near to one circle the agents are, 0 to 1: 1 less `fatness`."""

    def unscaled(self, crowd: Crowd) -> float:
        """Return the value before `scale`."""
        return 1.0 - fatness(crowd.positions)


class Tangentness(CrowdMetric):
    """How far from going around the centroid the agents are, 0 to 1; see `tangentness`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return tangentness(crowd.positions, crowd.headings)


@documented
@dataclass(eq=False, repr=False)
class Circliness(CrowdMetric):
    """1 - max(mean fatness, mean tangentness), each over the last `avg_history_max` steps: 1 is perfect milling.

    Taylor, Luzzi and Nowzari, "The impact of catastrophic collisions and collision avoidance on a swarming behavior"
    (2021).
    """

    avg_history_max: int = setting(100, low=1, unit="steps", doc="Number of steps of the two means.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._recent: deque[tuple[float, float]] = deque(maxlen=self.avg_history_max)

    def __setattr__(self, name: str, value: object) -> None:
        """Take the two means over as many steps as `avg_history_max` says, also where it is set later."""
        if name == "avg_history_max" and "_recent" in vars(self):
            value = as_whole(value, name, low=1)
            self._recent = deque(self._recent, maxlen=value)
        super().__setattr__(name, value)

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        positions = crowd.positions
        self._recent.append((fatness(positions), tangentness(positions, crowd.headings)))
        return 1.0 - float(np.mean(self._recent, axis=0).max())

    def steps_counted(self) -> int | None:
        """Return the steps of the history, and those that the oldest value in it is the mean of."""
        return None if self.history_size is None else self.history_size + self.avg_history_max - 1

    def reset(self) -> None:
        """Forget the history."""
        super().reset()
        self._recent.clear()
