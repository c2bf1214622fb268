"""Agents as arrays: the columns that a swarm has besides those of the core, and sets of rows of them."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.core.columns import ColumnTable, column
from fleet_sim.core.planar import PlanarRows, read_only
from fleet_sim.core.world import World

NO_TEAM, NO_GROUP = -1, -1


class SwarmColumns(ColumnTable):
    """What a member of a swarm world has besides the columns of the core."""

    group: Ints = column(np.int64, default=NO_GROUP, writer="spawning", doc="index in RectangularWorld.groups")
    team: Ints = column(np.int64, default=NO_TEAM, writer="spawning", doc="code of a team; -1: none")
    agent_radius: Floats = column(float, unit="m", writer="spawning", doc="of the disc it collides and is seen as")
    collides: Bools = column(bool, writer="spawning", doc="is kept apart from others")
    grounded: Bools = column(bool, writer="spawning", doc="is not pushed by others")
    stop_on_collision: Bools = column(bool, writer="spawning")
    catastrophic: Bools = column(bool, writer="spawning", doc="is disabled by its first collision")
    stop_at_goal: Bools = column(bool, writer="spawning")
    previous: Floats = column(
        float, (2,), unit="m", frame="world", writer="commands", doc="where it was before it moved"
    )
    touching: Bools = column(bool, writer="collisions", doc="touched a wall, an object or another one in this step")
    stopped: Ints = column(np.int64, unit="steps", writer="users", doc="for how long it turns only, from now on")
    halted: Bools = column(bool, writer="collisions, goals", doc="moves no more: at a goal, or disabled")


class Crowd(PlanarRows):
    """Agents as arrays (N,), one entry each in order of spawning; copies that are made at each access."""

    def __init__(self, columns: World, swarm: SwarmColumns, rows: Rows) -> None:
        super().__init__(columns, rows)
        self.swarm = swarm

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def positions(self) -> Floats:
        """Positions (N, 2) in the world frame, in m."""
        # Several times faster than one index in rows and columns, with the same layout.
        return read_only(np.ascontiguousarray(self.columns.position.take(self.rows, axis=0)[:, :2]))

    @property
    def ways(self) -> Floats:
        """How far they came (N, 2) in the last step, in m: what they drove, with what pushed or stopped them."""
        return read_only(self.positions - self.swarm.previous[self.rows])

    @property
    def radii(self) -> Floats:
        """Radii of their discs (N,), in m; 0 for a point."""
        return read_only(self.swarm.agent_radius[self.rows])

    @property
    def teams(self) -> Ints:
        """Codes of their teams (N,), see `RectangularWorld.team_code`; -1 for none."""
        return read_only(self.swarm.team[self.rows])

    @property
    def touching(self) -> Bools:
        """Whether they touched a wall, an object or another agent in this step (N,)."""
        return read_only(self.swarm.touching[self.rows])


def joined(known: AnyArray, more: AnyArray) -> AnyArray:
    """Return readings `known` followed by `more`, which become zeros of the shape of `known` where theirs differs."""
    if not len(known):
        return more
    # A sensor whose readings grew since: old ones cannot be made to fit new agents, so these begin with zeros.
    if more.shape[1:] != known.shape[1:]:
        more = np.zeros((len(more), *known.shape[1:]), known.dtype)
    return np.concatenate((known, more))
