"""Detours: when a robot on a route that stands before another one looks for a way around it, or out of its way."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.actions.doorways import Leg
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities import drive
from fleet_sim.entities.agent import Agent

PATIENCE = 2.0
"""Seconds that a robot stands before another one until it looks for a way around it."""
LOOKED_EACH = 0.5
"""Seconds between two looks at whether it stands."""


def may_detour(agent: Agent) -> bool:
    """Return whether the robot stops before others, and there may be ways around them."""
    return agent.block_on_collision and agent.world.routes.source.detours


def patience(agent: Agent, leg: Leg, drives: bool, since: float) -> tuple[float, bool]:
    """Return from when on (s) the robot has stood before another one, or in its way, and whether it goes around it now.

    inf: it does not; `since` is what was returned when it was asked last. Who waits for a lift (it does not drive), or
    gets in, makes room for who found no way around it.
    """
    if not may_detour(agent):
        return math.inf, False
    world, waits = agent.world, leg.stop is not None and not drives
    blocker = blocker_of(world, agent.row)
    if not (is_in_the_way(agent) if waits else blocker != NO_ROW):
        return math.inf, False
    since = min(since, world.clock.time)
    # Of two that stand before each other, the one that was spawned first goes first.
    mutual = not waits and int(world.motion.blocked_by[blocker]) == agent.row
    later = mutual and world.object_id[blocker] < world.object_id[agent.row]
    times = 1.0 + 2.0 * later + 2.0 * (leg.stop is not None)
    return since, world.clock.time - since >= times * PATIENCE - 1e-9


def is_in_the_way(agent: Agent) -> bool:
    """Return whether another robot stands before this one."""
    world = agent.world
    rows = np.flatnonzero(world.motion.blocked_by == agent.row)
    return any(world.alive[row] and _stands(world, row) for row in rows.tolist())


def blocker_of(world: World, robot: int) -> int:
    """Return the row of the robot that stands before the one in row `robot`, which therefore stands; or NO_ROW."""
    row = int(world.motion.blocked_by[robot])
    while row != NO_ROW and world.parent[row] != NO_ROW:
        row = int(world.parent[row])
    return row if row != NO_ROW and _stands(world, row) else NO_ROW


def _stands(world: World, row: int) -> bool:
    return bool(world.kind[row] == KIND_AGENT) and drive.stands(world, row)
