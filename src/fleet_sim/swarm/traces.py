"""Where agents have been, for drawing: as many places per agent as its `trace_length` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet_sim.arrays import Floats

if TYPE_CHECKING:
    from fleet_sim.swarm.agents import SwarmAgent
    from fleet_sim.swarm.world import RectangularWorld

COLUMN = "trace"


class Traces:
    """Remembers the last places of agents with a trace."""

    def __init__(self, world: RectangularWorld) -> None:
        self._world = world

    def follow(self) -> None:
        """Note where agents are at the end of a step."""
        for group in self._world.groups:
            length = getattr(group.config, "trace_length", 0)
            if length and len(group):
                places = group.column(COLUMN, (length, 2), default=np.nan)
                places[:, self._world.steps % length] = group.positions

    def of(self, agent: SwarmAgent) -> Floats | None:
        """Return the trace (K, 2) of `agent`, oldest place first; None where it has none."""
        places = agent.group.state.get(COLUMN)
        if places is None:
            return None
        own = places[agent.group.place_of(agent.row)]
        own = np.roll(own, -(self._world.steps % len(own)), axis=0)
        trace: Floats = own[~np.isnan(own[:, 0])]
        return trace
