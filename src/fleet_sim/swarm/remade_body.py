"""Agents as state files have them: made without their settings, which they get afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_sim.entities.sim_object import SimObject
from fleet_sim.swarm.body_names import NamedBody
from fleet_sim.swarm.swarm_state import SwarmState

_OUTER = frozenset(
    ("columns", "swarm", "world", "row", "_handle", "_start", "_group", "_controller", "_sensors", "is_made")
)


class RemadeBody(NamedBody):
    """A body that can be made from a state file."""

    @classmethod
    def remade(cls, world: SwarmState, handle: SimObject) -> Any:
        """Return an agent for `handle`, as a state file has it; it gets its settings and parts afterwards."""
        agent = object.__new__(cls)
        vars(agent).update(
            columns=world.columns, swarm=world.swarm, world=world, row=handle.place[0], config=None, _handle=handle
        )
        vars(agent).update(_start=None, _last=None, _group=None, _controller=None, is_made=True)
        agent.watch_sensors()
        return agent

    def watch_sensors(self) -> None:
        """Begin with an empty list of sensors, whose changes are followed."""
        raise NotImplementedError

    @property
    def own_state(self) -> dict[str, Any]:
        """Its settings and what a subclass keeps in attributes, without what its world and its group know."""
        return {name: value for name, value in vars(self).items() if name not in _OUTER}

    def take_own(self, own: Mapping[str, Any]) -> None:
        """Go back to what `own_state` was."""
        vars(self).update(own)
