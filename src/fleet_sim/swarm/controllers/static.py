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

    per_square = ("output",)

    output: Vector = setting(
        (0.0, 0.0), doc="The action; for a unicycle linear velocity in m/s and angular velocity in rad/s."
    )

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._actions: tuple[Vector, Floats] | None = None

    def act(self, group: Group) -> Floats:
        """Return the action (N, 2)."""
        known = self._actions
        if known is None or known[0] is not self.output or len(known[1]) != len(group):
            actions = np.empty((len(group), 2))
            actions[:] = self.output
            # Numbers in an array may be changed where they are, those of a pair cannot.
            if not isinstance(self.output, tuple):
                return actions
            known = self._actions = self.output, actions
        return known[1].copy()
