"""Who is in a world: its population and objects as handles, as groups, as arrays, and what can be found from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from fleet_sim.arrays import NO_ROWS, Floats, Rows
from fleet_sim.core.world import World
from fleet_sim.errors import unknown_name
from fleet_sim.swarm.agent_config import AgentConfig, Team
from fleet_sim.swarm.config import RectangularWorldConfig
from fleet_sim.swarm.groups import NO_GROUP, NO_TEAM, Crowd, Group, SwarmColumns
from fleet_sim.swarm.regions import edges

if TYPE_CHECKING:
    from fleet_sim.swarm.agents import SwarmAgent


class Roster:
    """The agents and objects of a world. Those removed from the core leave it by themselves."""

    def __init__(self, columns: World, config: RectangularWorldConfig) -> None:
        self.columns = columns
        self.config = config
        self.swarm = columns.add_table("swarm", SwarmColumns)
        self.population: list[SwarmAgent] = []
        self.objects: list[SwarmAgent] = []
        self.groups: list[Group] = []
        self.name_counts: dict[str, int] = {}
        self._group_of_key: dict[str, Group] = {}
        self._teams: list[Team] = []
        self._cached: dict[str, Any] = {}
        self._leaving: set[SwarmAgent] = set()
        columns.on_remove.append(self._hear_removed)

    # ---- arrays ------------------------------------------------------------------------------------------------------

    @property
    def size(self) -> Floats:
        """Width and height (2,), in m."""
        return np.array(self.config.size)

    @property
    def everyone(self) -> Crowd:
        """The population as arrays, in its order."""
        rows = self._cache("population rows", lambda: rows_of(self.population))
        return Crowd(self.columns, self.swarm, rows)

    @property
    def things(self) -> Crowd:
        """The objects as arrays, in their order."""
        rows = self._cache("object rows", lambda: rows_of(self.objects))
        return Crowd(self.columns, self.swarm, rows)

    @property
    def population_groups(self) -> list[Group]:
        """The groups of the population."""
        return [group for group in self.groups if not group.is_object]

    @property
    def object_groups(self) -> list[Group]:
        """The groups of the objects."""
        return [group for group in self.groups if group.is_object]

    @property
    def collidable_rows(self) -> Rows:
        """The rows of all discs that are kept apart."""
        rows: Rows = self._cache("collidable", self._find_collidable)
        return rows

    def _find_collidable(self) -> Rows:
        rows = rows_of([*self.population, *self.objects])
        return rows[self.swarm.collides[rows]]

    @property
    def polygons(self) -> list[Floats]:
        """The polygons (K, 2) of objects that agents collide with."""
        polygons: list[Floats] = self._cache("polygons", self._find_polygons)
        return polygons

    def _find_polygons(self) -> list[Floats]:
        static = (thing for thing in self.objects if thing.config.collides and thing.law is None)
        return [outline for thing in static if (outline := thing.outline) is not None]

    @property
    def walls(self) -> Floats:
        """What agents collide with as segments (W, 4): x1, y1, x2, y2 of the border and of polygons."""
        return self._segments(self.config.collide_walls)

    @property
    def detectable_walls(self) -> Floats:
        """What sensors see as walls, as segments (W, 4): polygons, and the border where `detectable_walls` says so."""
        return self._segments(self.config.detectable_walls)

    def _segments(self, border: bool) -> Floats:
        def find() -> Floats:
            width, height = self.config.size
            frame = np.array([(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)])
            return np.concatenate([np.empty((0, 4)), *map(edges, [frame] * border + self.polygons)])

        segments: Floats = self._cache(f"segments {border}", find)
        return segments

    def agent_of(self, row: int) -> SwarmAgent:
        """Return the agent or object in `row`."""
        index = int(self.swarm.group[row])
        group = self.groups[index]
        return group.agents[group.place_of(row)]

    def agent_named(self, name: str) -> SwarmAgent:
        """Return the agent or object of that name; raises UnknownNameError with the closest one."""
        row = self.columns.row_named(name)
        if self.swarm.group[row] < 0:
            raise unknown_name("agent", name, [str(agent.name) for agent in (*self.population, *self.objects)])
        return self.agent_of(row)

    def team_code(self, team: Team | None) -> int:
        """Return the number that stands for `team` in arrays; -1 for None."""
        if team is None:
            return NO_TEAM
        if team not in self._teams:
            self._teams.append(team)
        return self._teams.index(team)

    def team_named(self, code: int) -> Team | None:
        """Return the team that `code` stands for."""
        return None if code == NO_TEAM else self._teams[code]

    # ---- bookkeeping -------------------------------------------------------------------------------------------------

    def group_for(self, key: str, kind: type[SwarmAgent], config: AgentConfig, *, is_object: bool) -> Group:
        """Return the group of agents with this key, made at the first use."""
        group = self._group_of_key.get(key)
        if group is None:
            group = self._group_of_key[key] = Group(self, len(self.groups), kind, config)  # type: ignore[arg-type]
            group.is_object = is_object
            self.groups.append(group)
        return group

    def new_names(self, name: str | None, prefix: str, count: int) -> list[str]:
        """Return `count` names: `name` itself for one agent, else `name` or `prefix` with numbers."""
        if name is not None and count == 1 and not self.columns.has_name(name):
            return [name]
        stem = name or prefix
        first = self.name_counts.get(stem, 0)
        self.name_counts[stem] = first + count
        return [f"{stem}_{index}" for index in range(first, first + count)]

    def _hear_removed(self, rows: Rows) -> None:
        self._leaving.update(self.agent_of(row) for row in rows.tolist() if self.swarm.group[row] != NO_GROUP)
        if not self.columns.in_step:
            self.refresh()

    def refresh(self) -> None:
        """Let go of agents that were removed: at once outside a step, and at the beginning of each part of one."""
        gone = self._leaving
        if not gone:
            return
        for group in self.groups:
            mask = np.array([agent not in gone for agent in group.agents], np.bool_)
            if not mask.all():
                group.keep(mask)
        self.population[:] = [agent for agent in self.population if agent not in gone]
        self.objects[:] = [thing for thing in self.objects if thing not in gone]
        self._leaving = set()
        self.forget_cached()

    def forget_cached(self) -> None:
        """Forget what was found about who is there."""
        self._cached.clear()

    def _cache(self, name: str, find: Any) -> Any:
        if name not in self._cached:
            self._cached[name] = find()
        return self._cached[name]


def rows_of(agents: Iterable[SwarmAgent]) -> Rows:
    """Return the rows of agents, in their order."""
    rows = [agent.row for agent in agents]
    return np.array(rows, np.int64) if rows else NO_ROWS
