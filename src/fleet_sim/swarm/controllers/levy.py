"""Levy walks: many short ways and a few very long ones."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Floats, Ints, as_float
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.draws import AgentDraws

_WHAT = "LevyController"
_HEADING, _INDEX, _NUMERATOR, _DENOMINATOR = 0, 1, 2, 3


class LevyController(Controller):
    """Drives straight on for a random length, turns to a random heading, and so on.

    Lengths have heavy tails: they are |u| / |v|^(1 / b) with normal u and v (Mantegna, "Fast, accurate algorithm for
    numerical simulation of Levy stable stochastic processes", 1994), in m, times `step_scale`. A new heading is any,
    evenly. An agent that touches something turns at once.
    """

    def __init__(
        self,
        velocity: float,
        angular_velocity: float,
        levy_constant: float | None = None,
        curving: bool = False,
        timeout: float = 5.0,
        timeout_steps: int | None = None,
        step_scale: float = 1.0,
        seed: int | None = None,
    ) -> None:
        """`velocity`: speed in m/s, above 0. `angular_velocity`: turning speed in rad/s, above 0.

        `levy_constant`: b in (0, 2], smaller is wilder; None: each agent draws its own in [1, 2). `curving`: drive on
        while turning. `timeout`: the longest straight way in s; `timeout_steps`: the same in steps. `step_scale`:
        factor of all lengths. `seed`: None takes the world's.
        """
        self.velocity = as_float(velocity, f"{_WHAT}: velocity in m/s", low=1e-12)
        self.angular_velocity = as_float(angular_velocity, f"{_WHAT}: angular_velocity in rad/s", low=1e-12)
        self.levy_constant = (
            None if levy_constant is None else as_float(levy_constant, f"{_WHAT}: levy_constant", low=1e-3, high=2.0)
        )
        self.curving = curving
        self.timeout = as_float(timeout, f"{_WHAT}: timeout in s", low=0.0)
        if timeout_steps is not None and (isinstance(timeout_steps, bool) or timeout_steps < 1):
            raise InvalidValueError(f"{_WHAT}: timeout_steps must be at least 1, got {timeout_steps!r}")
        self.timeout_steps = timeout_steps
        self.step_scale = as_float(step_scale, f"{_WHAT}: step_scale", low=0.0)
        self._draws = AgentDraws(seed, _WHAT)

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        left = self.column(group, "steps_left", dtype=np.int64)
        turning = self.column(group, "turning", dtype=bool, default=True)
        turn = self.column(group, "turn")
        count = self.column(group, "legs", dtype=np.int64)
        left -= 1
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
        index, widths = self._indices(group)
        tall = self._draws.normals(group, self.slot, count, _NUMERATOR) * widths
        small = np.abs(self._draws.normals(group, self.slot, count, _DENOMINATOR))
        lengths = self.step_scale * np.abs(tall) / np.maximum(small, 1e-300) ** (1.0 / index)
        dt = group.world.dt
        longest = self.timeout_steps or max(1, math.ceil(self.timeout / dt - 1e-9))
        steps = np.ceil(np.minimum(lengths / (self.velocity * dt), longest)).astype(np.int64)
        left[mask] = np.maximum(steps[mask], 1)
        turn[mask] = 0.0

    def _begin_turns(self, group: Group, mask: Bools, left: AnyArray, turn: AnyArray, count: Ints) -> None:
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
