"""Random numbers that belong to an agent: a function of (component, agent, how many were drawn before).

They do not depend on other agents, nor on the order of draws, so an agent draws the same numbers when agents are
stepped together, one after the other, or alone.
"""

from __future__ import annotations

from fleet_sim.arrays import Floats, Ints
from fleet_sim.core.random import Keys, normals, purpose_key, uniforms
from fleet_sim.saved_classes import saved
from fleet_sim.swarm.agents import Group


@saved
class AgentDraws:
    """The random numbers of a component of a group: each agent has a sequence of its own.

    `seed` fixes the sequences whatever the world's seed; None takes them from the world's seed, the group and the slot.
    """

    def __init__(self, seed: int | None) -> None:
        self.seed = seed

    def uniforms(self, group: Group, slot: str, counts: Ints, lane: int = 0) -> Floats:
        """Return the `counts`-th (N,) number in [0, 1) of each agent of `group`; `lane` selects a sequence."""
        return uniforms(self._key(group, slot), group.columns.object_id[group.rows], counts, lane)

    def normals(self, group: Group, slot: str, counts: Ints, lane: int = 0) -> Floats:
        """Return the `counts`-th (N,) standard normal number of each agent of `group`."""
        return normals(self._key(group, slot), group.columns.object_id[group.rows], counts, lane)

    def _key(self, group: Group, slot: str) -> Keys | int:
        if self.seed is not None:
            return purpose_key(self.seed, "swarm")
        return group.random_key(f"swarm {group.index} {slot}")
