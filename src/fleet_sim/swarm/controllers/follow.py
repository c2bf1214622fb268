"""Follow the leader: a chain, each behind the one before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.settings import setting
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.parameters import Configured, Vector, documented
from fleet_sim.swarm.unicycle import steered


@documented
@dataclass(eq=False, repr=False)
class FollowController(Configured, Controller):
    """Keeps each agent of a group at a distance behind the one in front, in order of spawning.

    The first one follows the agent or object called `leader`; without one it leads and drives `lead`. It turns
    towards the one ahead; its speed is that at which the one ahead draws away, plus `gain` times what is missing to the
    `gap`.
    """

    gap: float = setting(0.4, low=0, unit="m", doc="Distance to keep to the agent in front.")
    gain: float = setting(1.5, low=0, unit="1/s", doc="Speed per metre of deviation from the gap.")
    max_speed: float = setting(1.0, low=0, unit="m/s", doc="Limit of the speed.")
    max_turn: float = setting(4.0, low=0, unit="rad/s", doc="Limit of the angular velocity.")
    turn_gain: float = setting(4.0, low=0, unit="1/s", doc="Angular velocity per rad of bearing.")
    leader: str | None = setting(None, doc="Name of the agent that the first one follows; null: the first one leads.")
    lead: Vector = setting((0.3, 0.3), doc="Action of the first agent if there is no `leader`.")

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        columns = group.columns
        numbers = group.numbers
        # For the first agent this is the last one; its row or its action is replaced below.
        ahead = group.whole.rows[numbers - 1]
        first_mask = numbers == 0
        if self.leader is not None:
            ahead[first_mask] = columns.index.row_named(self.leader)
        way = columns.position[ahead, :2] - group.positions
        distances = np.sqrt(way[:, 0] ** 2 + way[:, 1] ** 2)
        # In one place with the one ahead there is no course; the way is 0 then and makes it 0.
        scale = 1.0 / np.maximum(distances, 1e-9)
        course_x, course_y = way[:, 0] * scale, way[:, 1] * scale
        velocities = columns.velocity[ahead, :2]
        leaving = velocities[:, 0] * course_x + velocities[:, 1] * course_y
        # Never exactly 0, so that a waiting agent keeps turning towards the one in front.
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
