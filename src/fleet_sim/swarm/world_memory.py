"""A world's part of checkpoints: its state outside the columns of the core."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from fleet_sim.core.saving.forms import Form
from fleet_sim.swarm import equipment, spawning
from fleet_sim.swarm.agents import Group, SwarmAgent
from fleet_sim.swarm.component import Component
from fleet_sim.swarm.saved_forms import SwarmForms
from fleet_sim.swarm.swarm_world import SwarmWorld


class SwarmMemory:
    """Saves and restores groups, spawners, metrics, and what components keep in attributes of their own."""

    def __init__(self, world: SwarmWorld) -> None:
        self._world = world

    def save(self) -> dict[str, Any]:
        """Return the state as values that later changes do not touch."""
        world = self._world
        return {
            "steps": world.steps,
            "stopped": world.stopped,
            "names": dict(world.name_counts),
            "teams": set(world.teams),
            "team_order": list(world.team_order),
            "population": list(world.population),
            "objects": list(world.objects),
            "spawners": self._parts(world.spawners),
            "metrics": self._parts(world.metrics),
            "groups": [self._group(group) for group in world.groups],
        }

    def _parts(self, parts: list[Any]) -> list[tuple[Any, dict[str, Any]]]:
        return [(part, self._copied(vars(part))) for part in parts]

    def _copied(self, own: dict[str, Any]) -> dict[str, Any]:
        """Return a copy of the attributes of a part; worlds, groups and agents in it stay the same ones.

        What cannot be copied, such as an open file, stays the same one too.
        """
        world = self._world
        # deepcopy returns what is in its memo: these are kept, not copied.
        memo: dict[int, Any] = {id(kept): kept for kept in (world, world.sim, world.columns, world.swarm)}
        return {name: _copy(value, memo) for name, value in own.items()}

    def _group(self, group: Group) -> dict[str, Any]:
        """Return the state of a group as copies: its agents, its arrays and what its parts remember."""
        owners: list[Any] = [group, *group.agents]
        parts = [part for owner in owners for part in (owner.controller, *owner.sensors)]
        # What works on arrays is shared by all agents of a group, and is saved once.
        components = {id(part): part for part in parts if isinstance(part, Component)}
        return {
            "group": group,
            "rows": group.rows.copy(),
            "agents": list(group.agents),
            "own": [self._copied(_own(agent)) for agent in group.agents],
            "defaults": group.defaults,
            "equipment": [(agent.controller, agent.plain_sensors) for agent in group.agents],
            "parts": (group.controller, list(group.sensors)),
            "state": {name: values.copy() for name, values in group.state.items()},
            "readings": {index: values.copy() for index, values in group.readings.items()},
            "components": self._parts(list(components.values())),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go back to what `save` returned."""
        world = self._world
        world.steps, world.stopped, world.in_progress = saved["steps"], saved["stopped"], False
        world.name_counts = dict(saved["names"])
        world.teams, world.team_order = set(saved["teams"]), list(saved["team_order"])
        self._add_groups([known["group"] for known in saved["groups"]])
        world.population.put(saved["population"])
        world.objects.put(saved["objects"])
        for name in ("spawners", "metrics"):
            parts = getattr(world, name)
            parts[:] = [part for part, _ in saved[name]]
            self._give_back(saved[name])
        # Groups made since stay, empty: rows refer to groups by index.
        for group in world.groups[len(saved["groups"]) :]:
            group.set_members(group.rows[:0], [], {}, {})
        for group, known in zip(world.groups, saved["groups"], strict=False):
            group.set_members(known["rows"], known["agents"], known["state"], known["readings"])
            group.take_defaults(known["defaults"])
            for agent, own in zip(group.agents, known["own"], strict=True):
                vars(agent).update(self._copied(own))
            group.controller, group.sensors = known["parts"][0], list(known["parts"][1])
            for agent, parts in zip(group.agents, known["equipment"], strict=True):
                agent.enter(group)
                agent.hold(*parts)
            self._give_back(known["components"])
        world.forget_cached()

    def _add_groups(self, groups: list[Group]) -> None:
        """Add groups that this world does not have yet, as those from a state file."""
        world = self._world
        new = groups[len(world.groups) :]
        if new:
            world.groups += new
            world.rekey(key_of)

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how the parts of the world are written in state files."""
        return SwarmForms(self._world).forms()

    def _give_back(self, parts: list[tuple[Any, dict[str, Any]]]) -> None:
        for part, own in parts:
            # In place, since user code may hold the part. Copied again, since a checkpoint can be restored more than
            # once.
            vars(part).clear()
            vars(part).update(self._copied(own))


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    try:
        return copy.deepcopy(value, memo)
    except (TypeError, copy.Error):
        return value


_OUTER = frozenset(
    ("columns", "swarm", "world", "row", "_handle", "_start", "_group", "_controller", "_sensors", "is_made")
)


def _own(agent: SwarmAgent) -> dict[str, Any]:
    """Return the settings of an agent and what a subclass keeps in attributes, not what world and group know of it."""
    return {name: value for name, value in vars(agent).items() if name not in _OUTER}


def key_of(group: Group) -> str:
    """Return the key of a group, which is made of identities and so is another one in another process."""
    if group.origin is group:
        return spawning.group_key(group.kind, group.config, group.is_object)
    return equipment.group_key(group.origin, group.controller, group.sensors)
