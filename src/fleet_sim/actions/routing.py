"""Routes for actions: from the place of a robot through its waypoints, around walls and with lifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fleet_sim.actions.base import Failure
from fleet_sim.arrays import Floats, Ints
from fleet_sim.config.modes import ActionCause, MovementDirection, RouteMode
from fleet_sim.core.routes import LiftStop, NoRoute, RouteNeeds, Stretch, Wanted
from fleet_sim.core.world import World
from fleet_sim.entities import drive
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.errors import FleetSimError
from fleet_sim.geometry import Path, Pose
from fleet_sim.geometry.pose import pose_arrays
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

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
    if drive.stands(world, agent.row):
        return False
    rest = np.zeros((1, 3))
    drive.start_velocities(world, rows, rest, rest, 0.0)
    return True


def at_heights(agent: Agent, path: Path | Sequence[Pose], *, storeys: bool) -> Path:
    """Return `path` at the agent's height above the floor; with `storeys` on the storey of each pose."""
    here, routes = agent.get_pose(), agent.world.routes
    poses = []
    for pose in path:
        # Only a building has storeys; elsewhere goals in a plane are at the robot's height.
        rise = routes.source.rise(here.z, pose.z) if routes.known and storeys else 0.0
        poses.append(Pose.from_euler(pose.x, pose.y, here.z + rise, here.roll, here.pitch, pose.yaw))
    return Path(poses)


class RoutedPart(NamedTuple):
    """A part of a route: `way`, from `start` (3,) on; it begins when the lift is at `stop`, if there is one."""

    start: Floats
    way: RoutedPath
    stop: LiftStop | None


def routed(agent: Agent, path: Path, mode: RouteMode, *, detour: bool = False) -> list[RoutedPart] | Failure:
    """Return the way from the robot's place through the poses of `path` to the last, or why there is none.

    Between them the robot's footprint, with all that it carries, stays off walls. It is one part, and two more for each
    ride with a lift. A `detour` leads around robots that stand near, on the way to the first pose.
    """
    world, row = agent.world, agent.row
    if drive.is_steered(world, row):
        # Routes turn at corners with no more room than a robot needs that turns there.
        reason = "routes are for robots that turn on the spot, and this one is steered like a car; send it along a path"
        return Failure(reason, ActionCause.UNREACHABLE)
    goals, turns = pose_arrays(path)
    at = world.position[row].copy()
    needs = RouteNeeds(footprint_radius(world, row), _fastest(world, row), mode)
    parts: list[_PartUnderWay] = [_PartUnderWay(at, None)]
    for number, goal in enumerate(goals):
        try:
            here = detour and number == 0
            found = world.routes.source.journey(row, at, goal, needs, detour=here)
        except FleetSimError as error:
            return Failure(str(error), ActionCause.INVALID_GOAL)
        if isinstance(found, NoRoute):
            return Failure(found.reason, found.cause)
        for stretch in found:
            if stretch.stop is not None or parts[-1].stop is not None:
                parts.append(_PartUnderWay(parts[-1].end, stretch.stop))
            height = float(at[2] + stretch.rise)
            # A flying robot climbs evenly on the way, on the storey of its goal.
            parts[-1].add(stretch, height, float(goal[2]) if stretch is found[-1] else height)
        parts[-1].close(goal)
        at = goal
    # Without the first where the robot stands in a cabin.
    driven = [part for part in parts if part.pieces]
    return [part.finished(turns[-1] if part is driven[-1] else None) for part in driven]


def routed_aside(agent: Agent, wanted: Wanted) -> RoutedPart | Failure:
    """Return the way around robots that stand near to the nearest place that is `wanted`, or why there is none."""
    world, row = agent.world, agent.row
    if not agent.can_move or drive.is_steered(world, row):
        return Failure("it does not drive on routes", ActionCause.UNREACHABLE)
    at = world.position[row].copy()
    radius, speed = footprint_radius(world, row), _fastest(world, row)
    found = world.routes.source.retreat(row, at, radius, speed=speed, wanted=wanted)
    if isinstance(found, NoRoute):
        return Failure(found.reason, found.cause)
    part, height = _PartUnderWay(at, None), float(at[2])
    for stretch in found:
        part.add(stretch, height, height)
    part.close(part.end)
    return part.finished(None)


def lifts_of(parts: Sequence[RoutedPart]) -> list[int]:
    """Return the lifts on a way, by row, in its order."""
    return list(dict.fromkeys(part.stop.lift for part in parts if part.stop is not None))


class _PartUnderWay:
    """A part from `start` (3,) on, to which stretches are added."""

    def __init__(self, start: Floats, stop: LiftStop | None) -> None:
        self.start = self.end = start
        self.stop = stop
        self.pieces: list[Floats] = []
        self._limits: list[Floats] = []
        self._ends: list[int] = []

    def add(self, stretch: Stretch, begin: float, end: float) -> None:
        """Go on along a stretch, from the height `begin` in m to `end`."""
        found = stretch.route
        if not self.pieces:
            # Whoever rides has left the storey on which the last part ended.
            self.start = np.array([self.start[0], self.start[1], begin])
        shares = np.cumsum(found.lengths) / max(found.length, 1e-12)
        self.pieces.append(np.column_stack((found.points[1:], begin + shares * (end - begin))))
        self._limits.append(found.speed_limits)
        self.end = self.pieces[-1][-1]

    def close(self, goal: Floats) -> None:
        """End at a pose of the path."""
        self.pieces[-1][-1] = self.end = goal
        self._ends.append(sum(map(len, self.pieces)) - 1)

    def finished(self, turn: Floats | None) -> RoutedPart:
        """Return the part; `turn` (4,) is the orientation at its end, None: that of its last line."""
        positions = np.concatenate(self.pieces)
        steps = np.diff(positions, axis=0, prepend=self.start[None])
        orientations = quaternions.from_yaws(trig.arctan2(steps[:, 1], steps[:, 0]))
        if turn is not None:
            orientations[-1] = turn
        lengths = np.sqrt((steps[1:] ** 2).sum(axis=1))
        left = np.append(np.cumsum(lengths[::-1])[::-1], 0.0)
        way = RoutedPath(positions, orientations, np.concatenate(self._limits), left, np.array(self._ends, np.int64))
        return RoutedPart(self.start, way, self.stop)


def follow(
    agent: Agent,
    way: RoutedPath,
    align_final: bool,
    direction: MovementDirection | None,
    tol: float,
    blocked_timeout: float | None = None,
) -> None:
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
        blocked_timeout=blocked_timeout,
    )


def distance_left(agent: Agent, way: RoutedPath) -> float:
    """Return the rest (m) of the way that the robot drives along."""
    # Who has arrived has no waypoints any more, until the action hears of it in the next step.
    last = len(way.left) - 1
    at = last if agent.goal_pose is None or agent.is_goal_reached() else min(agent.current_waypoint_index, last)
    return trig.hypot_of(*(way.positions[at] - agent.world.position[agent.row])[:2].tolist()) + float(way.left[at])


def _fastest(world: World, row: int) -> float:
    # Along the heading, which is how a robot with limits by axis drives far.
    return min(drive.limits_ahead(world, row)[0], FASTEST)
