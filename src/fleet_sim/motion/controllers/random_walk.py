"""RandomWalk: from one random place to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import as_float, as_floats
from fleet_sim.entities.agent import Agent
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose
from fleet_sim.motion.controllers.goals import GoalController
from fleet_sim.spatial import trigonometry as trig


class RandomWalk(GoalController):
    """Drives to random positions, uniform in a disc of `radius` m around the robot's first position.

    At each it waits a time drawn from `wait_range` (s). It arrives facing the way it went and keeps its height.
    Draws come from the simulation's seed, from a stream of the agent's own: other agents do not change them.
    """

    def __init__(self, radius: float = 5.0, wait_range: Sequence[float] = (1.0, 5.0)) -> None:
        super().__init__()
        self.radius = as_float(radius, "random_walk: radius in m", low=0.0)
        low, high = as_floats(wait_range, (2,), "random_walk: wait_range in s").tolist()
        if not 0.0 <= low <= high:
            raise InvalidValueError(
                f"random_walk: wait_range must be [least, most] with 0 <= least <= most, got {wait_range!r}"
            )
        self.wait_range = (low, high)
        self._home: Pose | None = None

    def next_goal(self, agent: Agent) -> Pose | None:
        """Return a random place, facing away from here."""
        here = agent.get_pose()
        home = self._home = self._home or here
        reach, angle = _stream(agent).random(2).tolist()
        # The area within a radius grows with its square, so the root spreads places evenly.
        distance = self.radius * math.sqrt(reach)
        sine, cosine = trig.sin_cos_of(2.0 * math.pi * angle)
        x, y = home.x + distance * cosine, home.y + distance * sine
        return Pose.from_yaw(x, y, here.z, trig.atan2_of(y - here.y, x - here.x))

    def wait_after(self, agent: Agent) -> float:
        """Return a random time."""
        low, high = self.wait_range
        waiting: float = low + (high - low) * _stream(agent).random()
        return waiting


def _stream(agent: Agent) -> np.random.Generator:
    return agent.world.random.stream(f"random_walk {agent.world.label(agent.row)}")
