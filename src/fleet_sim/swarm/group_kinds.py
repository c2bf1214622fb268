"""The groups of a world by what a step has to do for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fleet_sim.swarm.agents import Group, SwarmAgent


class GroupKinds(NamedTuple):
    """`total` groups, each in the order of the world: those of agents, of objects, and those whose traces are drawn.

    `plain` are those of agents that are stepped as groups, as their type has no `step` of its own.
    """

    total: int = 0
    population: tuple[Group, ...] = ()
    objects: tuple[Group, ...] = ()
    plain: tuple[Group, ...] = ()
    traced: tuple[Group, ...] = ()

    @classmethod
    def of(cls, groups: Sequence[Group]) -> GroupKinds:
        """Return all `groups` sorted."""
        return cls(
            len(groups),
            tuple(group for group in groups if not group.is_object),
            tuple(group for group in groups if group.is_object),
            tuple(group for group in groups if not group.is_object and not steps_itself(group)),
            tuple(group for group in groups if getattr(group.config, "trace_length", 0)),
        )


def steps_itself(group: Group) -> bool:
    """Return whether the type of its agents has a `step` of its own, so that each is stepped by that."""
    return group.kind.step is not SwarmAgent.step
