"""Driving to a point, by two PID controllers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import AnyArray, Floats
from fleet_sim.settings import Checked, setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.quaternions import wrapped
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.controllers.readings import positions
from fleet_sim.swarm.parameters import Configured, Vector, documented


@dataclass(frozen=True)
class PID(Checked):
    """Gains and limits of a PID controller."""

    p: float = setting(0.0, doc="Proportional gain.")
    i: float = setting(0.0, doc="Integral gain.")
    d: float = setting(0.0, doc="Derivative gain.")
    imax: float | None = setting(None, doc="Limit of the magnitude of the integral term; null: none.")
    min: float | None = setting(None, doc="Lower limit of the output; null: none.")
    max: float | None = setting(None, doc="Upper limit of the output; null: none.")

    def output(self, errors: Floats, memory: AnyArray, dt: float) -> Floats:
        """Return the outputs (N,) for `errors` (N,), one step of `dt` s after the last call.

        `memory` (N, 2) holds the i term and the last error, NaN before the first; it is updated in place.
        """
        integral, last = memory[:, 0], memory[:, 1]
        integral += self.i * errors * dt
        if self.imax is not None:
            # Against windup: a long error must not have to be unlearnt as long.
            np.clip(integral, -abs(self.imax), abs(self.imax), out=integral)
        # Without a last error there is no derivative: the first call makes no jump.
        change = np.where(np.isnan(last), 0.0, errors - last) / dt
        last[:] = errors
        out = self.p * errors + integral + self.d * change
        low, high = -np.inf if self.min is None else self.min, np.inf if self.max is None else self.max
        return np.asarray(np.minimum(np.maximum(out, low), high))


_WHAT = "WaypointPIDController"
_EMPTY = (0.0, np.nan)


@documented
@dataclass(eq=False, repr=False)
class WaypointPIDController(Configured, Controller):
    """Drives to a waypoint: one PID makes the speed from the distance, one the turning speed from the bearing.

    An agent without a waypoint stands still.
    """

    per_square = ("static_waypoint",)
    follows = ("_speed", "_steer")

    sensor_id: int | None = setting(None, low=0, doc="A sensor that reads positions, such as a Targeter.")
    speed_pid: PID | None = setting(None, doc="PID from the distance in m to the speed.")
    steer_pid: PID | None = setting(None, doc="PID from the bearing in rad to the angular velocity.")
    static_waypoint: Vector | None = setting(None, unit="m", doc="The waypoint if there is no `sensor_id`.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        if (self.sensor_id is None) == (self.static_waypoint is None):
            raise self.refuse("give either sensor_id or static_waypoint")
        self._speed, self._steer = self.speed_pid or PID(), self.steer_pid or PID()

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
        # At the waypoint there is no bearing; that of a rounding error would make the agent spin.
        bearings = np.where(distances > 0.0, wrapped(trig.arctan2(y, x) - group.headings), 0.0)
        speeds, turns = (self.column(group, name, (2,), default=_EMPTY) for name in ("speed", "steer"))
        dt = group.world.dt
        actions = np.stack((self._speed.output(distances, speeds, dt), self._steer.output(bearings, turns, dt)), axis=1)
        # The next waypoint begins without the integral and the error of the lost one.
        for memory in (speeds, turns):
            memory[lost_mask] = _EMPTY
        return np.where(lost_mask[:, None], 0.0, actions)
