"""Patrol: a round of waypoints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fleet_sim.arrays import as_float
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.shape_params import read_pose
from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.bounds import LONGEST_TIME
from fleet_sim.geometry import Pose
from fleet_sim.motion.controllers.goals import GoalController


class Patrol(GoalController):
    """Drives to `waypoints` in turn and waits `wait_time` s at each; with `loop` for ever, else once.

    A waypoint is a Pose, [x, y, z], [x, y, z, yaw] or a mapping as in a scenario file, in the world frame.
    """

    def __init__(self, waypoints: Iterable[Any], wait_time: float = 0.0, loop: bool = True) -> None:
        super().__init__()
        self.waypoints = tuple(_waypoint(entry) for entry in waypoints)
        if not self.waypoints:
            raise InvalidValueError("patrol: waypoints must not be empty")
        self.wait_time = as_float(wait_time, "patrol: wait_time in s", low=0.0, high=LONGEST_TIME)
        self.loop = loop
        self._index = 0

    def next_goal(self, agent: Agent) -> Pose | None:
        """Return the next waypoint."""
        index = self._index
        if index >= len(self.waypoints) and not self.loop:
            return None
        self._index += 1
        return self.waypoints[index % len(self.waypoints)]

    def wait_after(self, agent: Agent) -> float:
        """Return the time to wait at a waypoint."""
        return self.wait_time


def _waypoint(entry: Any) -> Pose:
    try:
        pose = read_pose(entry)
    except InvalidValueError as error:
        raise InvalidValueError(f"patrol: waypoint {entry!r}: {error}") from error
    if pose is None:
        raise InvalidValueError("patrol: a waypoint must be a pose, got None")
    return pose
