"""Levy walks: many short legs and a few very long ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Floats, Ints
from fleet_sim.settings import setting
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.draws import AgentDraws
from fleet_sim.swarm.parameters import Configured, documented, seed_setting

_HEADING, _INDEX, _NUMERATOR, _DENOMINATOR = 0, 1, 2, 3


@documented
@dataclass(eq=False, repr=False)
class LevyController(Configured, Controller):
    """Drives straight on for a random length, turns to a random heading, and so on.

    Lengths have heavy tails: they are |u| / |v|^(1 / b) with normal u and v (Mantegna, "Fast, accurate algorithm for
    numerical simulation of Levy stable stochastic processes", 1994), in m, times `step_scale`. A new heading is any,
    evenly. An agent that touches something turns at once.
    """

    per_square = ("velocity", "angular_velocity", "step_scale")
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
