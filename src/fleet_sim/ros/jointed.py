"""The robots with movable joints: only they have joint interfaces."""

from __future__ import annotations

from fleet_sim.core.world import World
from fleet_sim.errors import UnknownNameError
from fleet_sim.ros.roster import Roster


def with_joints(roster: Roster, world: World) -> Roster:
    """Return the part of `roster` that has joints."""
    return roster.where(world.robots.joint_count[roster.rows] > 0)


def has_joints(world: World, robot: str) -> bool:
    """Return whether there is a robot of that name, with joints. May be asked from any thread."""
    try:
        return bool(world.robots.joint_count[world.index.row_named(robot)])
    except UnknownNameError:
        return False
