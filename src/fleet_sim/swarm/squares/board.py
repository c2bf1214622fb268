"""The board: the columns of several worlds as one, in which each world has a square of its own.

A square is a block of rows. The arrays of a world become slices of those of the board, so what is computed for all
squares at once is in every world, under its own names and ids, and what looks at one world sees nothing of the others.
Coordinates stay each world's own: squares lie on top of each other, and nothing here compares rows of two of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.clock import Clock
from fleet_sim.core.columns import ColumnTable, part_tables, stack_tables
from fleet_sim.core.world import World
from fleet_sim.errors import StateError
from fleet_sim.kernels import is_usable
from fleet_sim.swarm.agent_config import Team
from fleet_sim.swarm.crowd import NO_TEAM, Crowd, SwarmColumns
from fleet_sim.swarm.swarm_state import SwarmState, WorldRandom
from fleet_sim.swarm.swarm_world import SwarmWorld


class Board(SwarmState):
    """The state of `worlds` alike, as parts see it that serve all of them: everybody, in the order of the worlds.

    Walls, goals and teams are those of each of them. `close` gives the worlds arrays of their own again.
    """

    def __init__(self, worlds: Sequence[SwarmWorld]) -> None:
        # Not the constructor of a state: that makes the columns of a simulation, and these are those of many.
        first = self._first = worlds[0]
        self.worlds = worlds
        self.squares = len(worlds)
        self.capacity = first.columns.capacity
        self.config, self.goals, self.keys, self.steps = first.config, first.goals, set(), first.steps
        self.in_progress = True
        self._cached = {}
        self.forget_cached()
        self._codes: dict[Team | None, int] = {None: NO_TEAM}
        clock = Clock(first.dt)
        clock.tick = first.columns.clock.tick
        self.columns = World(clock, capacity=self.capacity * self.squares)
        self.swarm = self.columns.add_table("swarm", SwarmColumns)
        for whole, parts in self._tables():
            stack_tables(whole, parts)
        # A search makes many steps of many worlds, so loading compiled code pays from the first one on.
        self.columns.compiled = all(world.sim.params.compiled_code != "never" for world in worlds) and is_usable()
        # Poses are written for all squares at once, and each world tells its engine later, as after any step.
        self.columns.in_step = True
        self._everyone = self.rows_of([world.everyone.rows for world in worlds])
        self.collidable = self.rows_of([world.collidable_rows for world in worlds])

    def _tables(self) -> list[tuple[ColumnTable, list[ColumnTable]]]:
        """Return the tables that a step of a world writes, each with those of the worlds."""
        return [
            (self.columns, [world.columns for world in self.worlds]),
            (self.columns.motion, [world.columns.motion for world in self.worlds]),
            (self.swarm, [world.swarm for world in self.worlds]),
        ]

    def close(self) -> None:
        """Give every world arrays of its own."""
        for _, parts in self._tables():
            part_tables(parts)

    def rows_of(self, rows: Sequence[Rows]) -> Rows:
        """Return the rows (N,) on the board of `rows`, those of each world, in their order."""
        return np.concatenate([index * self.capacity + own for index, own in enumerate(rows)])

    @property
    def everyone(self) -> Crowd:
        """The populations of all worlds as arrays, one after the other."""
        return Crowd(self.columns, self.swarm, self._everyone)

    @property
    def polygons(self) -> list[Floats]:
        """The polygons (K, 2) of objects that agents collide with, in each world."""
        return self._first.polygons

    def team_code(self, team: Team | None) -> int:
        """Return the number that stands for `team` in the arrays of every world; -1 for None."""
        if team not in self._codes:
            # Worlds alike have heard of the same teams in the same order, and all have to hear of this one.
            (self._codes[team],) = {world.team_code(team) for world in self.worlds}
        return self._codes[team]

    @property
    def rng(self) -> WorldRandom:
        """Refuse: a stream belongs to one world. See `Group.random_key` for numbers of each agent."""
        raise StateError("there is no random stream of several worlds; draw by `AgentDraws`")
