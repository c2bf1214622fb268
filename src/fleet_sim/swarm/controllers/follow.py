"""Follow the leader: a chain, each behind the one before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.controllers.heading import steered

_WHAT = "FollowController"


class FollowController(Controller):
    """Keeps each agent of a group at a distance behind the one before it, in order of spawning.

    The first one follows the agent or object called `leader`; without one it leads and drives `lead`. It turns
    towards the one ahead; its speed is that at which the one ahead draws away, plus `gain` times what is missing to the
    `gap`.
    """

    def __init__(
        self,
        gap: float = 0.4,
        gain: float = 1.5,
        max_speed: float = 1.0,
        max_turn: float = 4.0,
        turn_gain: float = 4.0,
        leader: str | None = None,
        lead: Sequence[float] = (0.3, 0.3),
    ) -> None:
        """`gap`: distance kept, m. `gain`: speed per distance, 1/s. `max_speed`: m/s. `max_turn`: rad/s.

        `turn_gain`: turning speed per bearing, 1/s. `leader`: name of whom the first one follows. `lead`: the action of
        the first one where there is no `leader`.
        """
        self.gap = as_float(gap, f"{_WHAT}: gap in m", low=0.0)
        self.gain = as_float(gain, f"{_WHAT}: gain", low=0.0)
        self.max_speed = as_float(max_speed, f"{_WHAT}: max_speed in m/s", low=0.0)
        self.max_turn = as_float(max_turn, f"{_WHAT}: max_turn in rad/s", low=0.0)
        self.turn_gain = as_float(turn_gain, f"{_WHAT}: turn_gain", low=0.0)
        if leader is not None and not isinstance(leader, str):
            raise InvalidValueError(f"{_WHAT}: leader must be a name, got {leader!r}")
        self.leader = leader
        self.lead = as_floats(lead, (2,), f"{_WHAT}: lead")

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        columns = group.columns
        numbers = group.numbers
        ahead = group.whole.rows[numbers - 1]
        first_mask = numbers == 0
        if self.leader is not None:
            ahead[first_mask] = columns.row_named(self.leader)
        way = columns.position[ahead, :2] - group.positions
        distances = np.sqrt(way[:, 0] ** 2 + way[:, 1] ** 2)
        scale = 1.0 / np.maximum(distances, 1e-9)
        course_x, course_y = way[:, 0] * scale, way[:, 1] * scale
        velocities = columns.velocity[ahead, :2]
        leaving = velocities[:, 0] * course_x + velocities[:, 1] * course_y
        # Never quite 0: who waits goes on looking at the one ahead.
        wanted = np.maximum(leaving + self.gain * (distances - self.gap), 1e-9)
        actions = steered(
            group.headings,
            wanted * course_x,
            wanted * course_y,
            top_speed=self.max_speed,
            turn_gain=self.turn_gain,
            top_turn=self.max_turn,
        )
        if self.leader is None:
            actions[first_mask] = self.lead
        return actions
