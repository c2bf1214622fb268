"""Routes for actions: from the place of a robot through its waypoints, around walls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.actions.base import Failure
from fleet_sim.arrays import Floats, Ints
from fleet_sim.config.modes import ActionCause, MovementDirection, RouteMode
from fleet_sim.core.routes import NoRoute
from fleet_sim.core.world import World
from fleet_sim.entities import drive
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.entities.template import pose_arrays
from fleet_sim.errors import FleetSimError
from fleet_sim.geometry import Path
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

AT_REST = 0.01
"""Below this speed (m/s) a robot stays where it is while it turns; bodies with physics are never quite at rest."""
FASTEST = 100.0


@saved
class RoutedPath(NamedTuple):
    """Waypoints around walls: `positions` (K, 3), `orientations` (K, 4), and what holds on the line to each.

    `speed_limits` (K,) in m/s; `left` (K,) in m is the way from each waypoint to the last one. `ends`
    are the numbers of the waypoints that are poses of the path asked for.
    """

    positions: Floats
    orientations: Floats
    speed_limits: Floats
    left: Floats
    ends: Ints


def brakes(agent: Agent) -> bool:
    """Brake, if the robot is moving; return whether it is."""
    world, rows = agent.world, np.array([agent.row])
    if trig.hypot_of(*world.velocity[agent.row, :2].tolist()) < AT_REST:
        return False
    rest = np.zeros((1, 3))
    drive.start_velocities(world, rows, rest, rest, 0.0)
    return True


def routed(agent: Agent, path: Path, mode: RouteMode) -> RoutedPath | Failure:
    """Return the way from the robot's place through the poses of `path` to the last, or why there is none.

    Between them the robot's footprint, with all that it carries, stays off walls.
    """
    world, row = agent.world, agent.row
    if drive.is_steered(world, row):
        # Routes turn at corners with no more room than a robot needs that turns there.
        reason = "routes are for robots that turn on the spot, and this one is steered like a car; send it along a path"
        return Failure(reason, ActionCause.UNREACHABLE)
    goals, turns = pose_arrays(path)
    at = world.position[row].copy()
    radius, speed = footprint_radius(world, row), _fastest(world, row)
    pieces: list[Floats] = []
    limits: list[Floats] = []
    for goal in goals:
        try:
            found = world.routes.source.find(at[:2], goal[:2], radius, speed=speed, mode=mode)
        except FleetSimError as error:
            return Failure(str(error), ActionCause.INVALID_GOAL)
        if isinstance(found, NoRoute):
            return Failure(found.reason, found.cause)
        shares = np.cumsum(found.lengths) / max(found.length, 1e-12)
        # A flying robot climbs evenly on the way.
        pieces.append(np.column_stack((found.points[1:], at[2] + shares * (goal[2] - at[2]))))
        pieces[-1][-1] = goal
        limits.append(found.speed_limits)
        at = goal
    positions = np.concatenate(pieces)
    steps = np.diff(positions, axis=0, prepend=world.position[row][None])
    orientations = quaternions.from_yaws(trig.arctan2(steps[:, 1], steps[:, 0]))
    orientations[-1] = turns[-1]
    lengths = np.sqrt((steps[1:] ** 2).sum(axis=1))
    left = np.append(np.cumsum(lengths[::-1])[::-1], 0.0)
    ends = np.cumsum([len(piece) for piece in pieces]) - 1
    return RoutedPath(positions, orientations, np.concatenate(limits), left, ends)


def follow(agent: Agent, way: RoutedPath, align_final: bool, direction: MovementDirection | None, tol: float) -> None:
    """Start to drive along `way`."""
    drive.start_paths(
        agent.world,
        np.array([agent.row]),
        np.array([len(way.positions)]),
        way.positions,
        way.orientations,
        direction=direction,
        align_final=align_final,
        tolerance=tol,
        speed_limits=way.speed_limits,
    )


def distance_left(agent: Agent, way: RoutedPath) -> float:
    """Return the rest (m) of the way that the robot drives along."""
    # Who has arrived has no waypoints any more, until the action hears of it in the next step.
    last = len(way.left) - 1
    at = last if agent.goal_pose is None or agent.is_goal_reached() else min(agent.current_waypoint_index, last)
    return trig.hypot_of(*(way.positions[at] - agent.world.position[agent.row])[:2].tolist()) + float(way.left[at])


def _fastest(world: World, row: int) -> float:
    motion = world.motion
    # Along the heading, which is how a robot with limits by axis drives far.
    return float(min(motion.linear_limit[row], motion.linear_limits[row, 0], FASTEST))
