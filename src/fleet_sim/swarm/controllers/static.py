"""A controller whose action never changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.settings import setting
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.parameters import Configured, Vector, documented


@documented
@dataclass(eq=False, repr=False)
class StaticController(Configured, Controller):
    """Gives every agent the action `output`, for ever."""

    output: Vector = setting(
        (0.0, 0.0), doc="The action; for a unicycle linear velocity in m/s and angular velocity in rad/s."
    )

    def act(self, group: Group) -> Floats:
        """Return the action (N, 2)."""
        actions = np.empty((len(group), 2))
        actions[:] = self.output
        return actions
