"""Driving to a point, by two PID controllers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial.quaternions import wrapped
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.controllers.pid import PID
from fleet_sim.swarm.controllers.readings import check_sensor_id, positions

_WHAT = "WaypointPIDController"
_EMPTY = (0.0, np.nan)


class WaypointPIDController(Controller):
    """Drives to a waypoint: one PID makes the speed from the distance, one the turning speed from the bearing.

    An agent without a waypoint stands still.
    """

    def __init__(
        self,
        sensor_id: int | None = None,
        speed_pid: Mapping[str, Any] | PID | None = None,
        steer_pid: Mapping[str, Any] | PID | None = None,
        static_waypoint: Sequence[float] | None = None,
    ) -> None:
        """`sensor_id`: a sensor that reads positions, such as a Targeter; without it, `static_waypoint` (x, y).

        `speed_pid`, `steer_pid`: p, i, d, imax, min, max; gains default to 0, limits to none. Distances are in m,
        bearings in rad from the heading.
        """
        if (sensor_id is None) == (static_waypoint is None):
            raise InvalidValueError(f"{_WHAT}: give either sensor_id or static_waypoint")
        self.sensor_id = None if sensor_id is None else check_sensor_id(sensor_id, _WHAT)
        self.speed_pid = PID.read(speed_pid, f"{_WHAT}: speed_pid")
        self.steer_pid = PID.read(steer_pid, f"{_WHAT}: steer_pid")
        self.static_waypoint = (
            None if static_waypoint is None else as_floats(static_waypoint, (2,), f"{_WHAT}: static_waypoint")
        )

    def waypoints(self, group: Group) -> Floats:
        """Return where each agent is headed (N, 2); NaN for nowhere."""
        if self.sensor_id is not None:
            return positions(group, self.sensor_id, _WHAT)
        return np.broadcast_to(np.asarray(self.static_waypoint), (len(group), 2))

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        way = self.waypoints(group) - group.positions
        x, y = way[:, 0], way[:, 1]
        lost_mask = np.isnan(x) | np.isnan(y)
        x, y = np.where(lost_mask, 0.0, x), np.where(lost_mask, 0.0, y)
        distances = np.sqrt(x * x + y * y)
        bearings = np.where(distances > 0.0, wrapped(np.arctan2(y, x) - group.headings), 0.0)
        speeds, turns = (self.column(group, name, (2,), default=_EMPTY) for name in ("speed", "steer"))
        dt = group.world.dt
        actions = np.stack(
            (self.speed_pid.output(distances, speeds, dt), self.steer_pid.output(bearings, turns, dt)), axis=1
        )
        for memory in (speeds, turns):
            memory[lost_mask] = _EMPTY
        return np.where(lost_mask[:, None], 0.0, actions)
