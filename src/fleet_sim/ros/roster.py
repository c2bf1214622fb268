"""The roster of the fleet: a frozen snapshot that is replaced when robots are spawned or removed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Rows
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.world import World
from fleet_sim.errors import UnknownNameError


@dataclass(frozen=True)
class Roster:
    """The robots, in order of spawning. May be read from any thread."""

    version: int
    rows: Rows
    names: tuple[str, ...]
    known: frozenset[str]

    def rows_of(self, names: list[str]) -> Rows:
        """Return the rows of the robots called `names`."""
        index = dict(zip(self.names, self.rows.tolist(), strict=True))
        return np.array([index[name] for name in names], np.int64)

    def where(self, mask: Bools) -> Roster:
        """Return the part of the roster in `mask`, aligned with `rows`."""
        names = tuple(name for name, has in zip(self.names, mask.tolist(), strict=True) if has)
        return Roster(self.version, self.rows[mask], names, frozenset(names))


def take_roster(world: World) -> Roster:
    """Return the current robots of `world`."""
    rows = world.rows[world.kind[world.rows] == KIND_AGENT]
    names = tuple(world.label(row) for row in rows.tolist())
    return Roster(world.version, rows, names, frozenset(names))


def with_joints(roster: Roster, world: World) -> Roster:
    """Return the part of `roster` that has joints."""
    return roster.where(world.robots.joint_count[roster.rows] > 0)


def has_joints(world: World, robot: str) -> bool:
    """Return whether there is a robot of that name, with joints. May be asked from any thread."""
    try:
        return bool(world.robots.joint_count[world.index.row_named(robot)])
    except UnknownNameError:
        return False
