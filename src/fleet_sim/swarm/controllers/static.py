"""The same action for ever."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats, as_floats
from fleet_sim.swarm.agents import Controller, Group


class StaticController(Controller):
    """Gives every agent the action `output`, for ever."""

    def __init__(self, output: Sequence[float] = (0.0, 0.0)) -> None:
        """`output`: the action, for a unicycle (speed in m/s, turning speed in rad/s)."""
        self.output = as_floats(output, (2,), "StaticController: output")

    def act(self, group: Group) -> Floats:
        """Return the action (N, 2)."""
        return np.tile(self.output, (len(group), 1))
