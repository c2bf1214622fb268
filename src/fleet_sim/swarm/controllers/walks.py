"""Controllers that drive on their own: Levy walks, and to a point by two PID controllers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.quaternions import wrapped
from fleet_sim.swarm.agents import AgentDraws, Controller, Group
from fleet_sim.swarm.controllers.choices import positions
from fleet_sim.swarm.parameters import Configured, Vector, configured, seed_setting

_HEADING, _INDEX, _NUMERATOR, _DENOMINATOR = 0, 1, 2, 3


@configured
class LevyController(Configured, Controller):
    """Drives straight on for a random length, turns to a random heading, and so on.

    Lengths have heavy tails: they are |u| / |v|^(1 / b) with normal u and v (Mantegna, "Fast, accurate algorithm for
    numerical simulation of Levy stable stochastic processes", 1994), in m, times `step_scale`. A new heading is any,
    evenly. An agent that touches something turns at once.
    """

    follows = ("_draws",)

    velocity: float = setting(above=0, unit="m/s", doc="Speed when driving straight.")
    angular_velocity: float = setting(above=0, unit="rad/s", doc="Angular velocity while turning.")
    levy_constant: float | None = setting(
        None, low=1e-3, high=2.0, doc="b, smaller is wilder; null: each agent draws its own from 1 to 2."
    )
    curving: bool = setting(False, doc="Drive on while turning.")
    timeout: float = setting(5.0, low=0, unit="s", doc="Longest straight segment.")
    timeout_steps: int | None = setting(None, low=1, doc="The same in steps; null: as `timeout` says.")
    step_scale: float = setting(1.0, low=0, doc="Factor of all lengths.")
    seed: int | None = seed_setting("lengths and headings")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._draws = AgentDraws(self.seed)

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        left = self.column(group, "steps_left", dtype=np.int64)
        turning = self.column(group, "turning", dtype=bool, default=True)
        turn = self.column(group, "turn")
        count = self.column(group, "legs", dtype=np.int64)
        left -= 1
        # Who is turning already goes on: otherwise it would begin anew in each step at a wall.
        left[group.touching & ~turning] = 0
        ended_mask = left <= 0
        if ended_mask.any():
            self._begin_ways(group, ended_mask & turning, left, turn, count)
            self._begin_turns(group, ended_mask & ~turning, left, turn, count)
            turning[ended_mask] = ~turning[ended_mask]
            count[ended_mask] += 1
        speeds = np.where(turning & (not self.curving), 0.0, self.velocity)
        return np.stack((speeds, turn), axis=1)

    def _begin_ways(self, group: Group, mask: Bools, left: AnyArray, turn: AnyArray, count: Ints) -> None:
        """Draw the lengths of ways for the agents in `mask` (N,), as steps that are left; they drive straight."""
        index, widths = self._indices(group)
        # Numerator and denominator are separate sequences, so that they are independent.
        tall = self._draws.normals(group, self.slot, count, _NUMERATOR) * widths
        small = np.abs(self._draws.normals(group, self.slot, count, _DENOMINATOR))
        lengths = self.step_scale * np.abs(tall) / np.maximum(small, 1e-300) ** (1.0 / index)
        dt = group.world.dt
        longest = self.timeout_steps or max(1, math.ceil(self.timeout / dt - 1e-9))
        steps = np.ceil(np.minimum(lengths / (self.velocity * dt), longest)).astype(np.int64)
        left[mask] = np.maximum(steps[mask], 1)
        turn[mask] = 0.0

    def _begin_turns(self, group: Group, mask: Bools, left: AnyArray, turn: AnyArray, count: Ints) -> None:
        """Draw the angles of turns for the agents in `mask` (N,), spread over whole steps."""
        # Drawn for everybody and used where `mask` is set: a draw depends on agent and leg only, so unused ones change
        # nothing.
        angles = (2.0 * self._draws.uniforms(group, self.slot, count, _HEADING) - 1.0) * np.pi
        dt = group.world.dt
        steps = np.maximum(np.ceil(np.abs(angles) / (self.angular_velocity * dt)), 1.0).astype(np.int64)
        left[mask] = steps[mask]
        # Spread over whole steps, so that the angle is met.
        turn[mask] = (angles / (steps * dt))[mask]

    def _indices(self, group: Group) -> tuple[Floats, Floats]:
        """Return each agent's Levy index (N,), and the width (N,) of its numerator."""
        index = self.column(group, "index")
        widths = self.column(group, "width")
        fresh = np.flatnonzero(index == 0.0)
        if len(fresh):
            drawn = 1.0 + self._draws.uniforms(group, self.slot, np.zeros(len(group), np.int64), _INDEX)
            index[fresh] = drawn[fresh] if self.levy_constant is None else self.levy_constant
            widths[fresh] = [numerator_width(value) for value in index[fresh].tolist()]
        return index, widths


def numerator_width(index: float) -> float:
    """Return the standard deviation of the numerator in Mantegna's algorithm for a Levy `index` in (0, 2]."""
    if index >= 2.0:
        # The limit: sin(pi) is 0. Widths below make lengths that are normal to a good approximation.
        return numerator_width(2.0 - 1e-3)
    top = math.gamma(1.0 + index) * math.sin(0.5 * math.pi * index)
    bottom = math.gamma(0.5 * (1.0 + index)) * index * 2.0 ** (0.5 * (index - 1.0))
    return float((top / bottom) ** (1.0 / index))


# Driving to a point, by two PID controllers.


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


@configured
class WaypointPIDController(Configured, Controller):
    """Drives to a waypoint: one PID makes the speed from the distance, one the turning speed from the bearing.

    An agent without a waypoint stands still.
    """

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
