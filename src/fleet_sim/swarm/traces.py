"""Where agents have been, for drawing: as many positions per agent as its `trace_length` says."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.swarm.agents import Group, SwarmAgent

COLUMN = "trace"


def follow_traces(groups: Iterable[Group], steps: int) -> None:
    """Store the positions of the agents of `groups` at the end of step number `steps`."""
    for group in groups:
        length = getattr(group.config, "trace_length", 0)
        if length and len(group):
            # A ring: the oldest position is overwritten.
            positions = group.column(COLUMN, (length, 2), default=np.nan)
            positions[:, steps % length] = group.positions


def trace_of(agent: SwarmAgent) -> Floats | None:
    """Return the positions (K, 2) where `agent` was, oldest first; None where it leaves no trace."""
    positions = agent.group.state.get(COLUMN)
    if positions is None:
        return None
    own = positions[agent.group.number_of(agent.row)]
    own = np.roll(own, -(agent.world.steps % len(own)), axis=0)
    trace: Floats = own[~np.isnan(own[:, 0])]
    return trace
