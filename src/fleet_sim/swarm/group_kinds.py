"""The groups of a world by what a step has to do for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fleet_sim.swarm.agents import Group, SwarmAgent


class GroupKinds(NamedTuple):
    """`total` groups, each in the order of the world: those of agents, of objects, and those whose traces are drawn.

    `plain` are those of agents that are stepped as groups, as their type has no `step` of its own; `all_plain` says
    whether these are all of the population.
    """

    total: int = 0
    population: tuple[Group, ...] = ()
    objects: tuple[Group, ...] = ()
    plain: tuple[Group, ...] = ()
    traced: tuple[Group, ...] = ()
    all_plain: bool = True

    @classmethod
    def of(cls, groups: Sequence[Group]) -> GroupKinds:
        """Return all `groups` sorted."""
        population = tuple(group for group in groups if not group.is_object)
        plain = tuple(group for group in population if not steps_itself(group))
        return cls(
            len(groups),
            population,
            tuple(group for group in groups if group.is_object),
            plain,
            tuple(group for group in groups if getattr(group.config, "trace_length", 0)),
            len(plain) == len(population),
        )


def steps_itself(group: Group) -> bool:
    """Return whether the type of its agents has a `step` of its own, so that each is stepped by that."""
    return group.kind.step is not SwarmAgent.step
