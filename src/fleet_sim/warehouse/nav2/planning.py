"""Paths on request, compatible with Nav2: compute_path_to_pose, compute_path_through_poses, smooth_path."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import ComputePathThroughPoses, ComputePathToPose, SmoothPath
from nav_msgs.msg import Path as PathMsg
from rclpy.action import ActionServer, CancelResponse, GoalResponse

from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.base.errors import FleetSimError, UnknownNameError
from fleet_sim.base.gate import check_extent
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import ActionCause, RouteMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots import drive
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.ros import messages
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge
from fleet_sim.sensing.sensors import OccupancyGrid
from fleet_sim.warehouse.nav2.maps import INSCRIBED, Costs, RobotMaps
from fleet_sim.warehouse.nav2.navigate import goals_of
from fleet_sim.warehouse.sites import Site, Zone, ZoneKind
from fleet_sim.world.routes import NoRoute

# What the actions have in common that look only: the robot goes on with whatever it does.


class RefusedGoal(Exception):
    """There is no result; `code` is the name of Nav2's code."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class LookingServers:
    """Action servers of one robot whose goals are carried out by callbacks, in the executor."""

    def __init__(self, bridge: Bridge, robot: str) -> None:
        self._bridge = bridge
        self._robot = robot
        self._servers: list[Any] = []

    def destroy(self) -> None:
        """Serve no longer."""
        for server in self._servers:
            server.destroy()

    def serve(self, kind: Any, name: str, execute: Callable[[Any], Awaitable[Any]]) -> None:
        """Serve an action below the name of the robot; `execute(goal_handle)` returns the result."""
        server = ActionServer(
            self._bridge.node,
            kind,
            f"{self._robot}/{name}",
            execute,
            goal_callback=self._wants,
            cancel_callback=lambda handle: CancelResponse.REJECT,
            callback_group=self._bridge.group,
            **qos.GOALS,
        )
        self._servers.append(server)

    def _wants(self, goal: Any) -> GoalResponse:
        return GoalResponse.REJECT if self._robot in self._bridge.resting else GoalResponse.ACCEPT


def aborted(handle: Any, result: Any, error: Exception) -> Any:
    """Abort a goal, and return `result` with the code of the error and its text."""
    code = error.code if isinstance(error, RefusedGoal) else "UNKNOWN"
    handle.abort()
    # Older versions of Nav2 have none of these.
    for field, value in (("error_code", getattr(type(result), code, 0)), ("error_msg", str(error))):
        if hasattr(result, field):
            setattr(result, field, value)
    return result


PLANNER_ID = "GridBased"
FASTEST = 100.0


class PathServer(LookingServers):
    """The two planning actions of a robot.

    compute_path_to_pose and compute_path_through_poses: routes of the scenario's site for the robot's footprint.
    """

    def __init__(self, bridge: Bridge, robot: str) -> None:
        super().__init__(bridge, robot)
        self.serve(ComputePathToPose, "compute_path_to_pose", self._execute)
        self.serve(ComputePathThroughPoses, "compute_path_through_poses", self._execute)

    async def _execute(self, handle: Any) -> Any:
        """Plan between two steps; the result has the path and the time it took, or Nav2's code of the reason."""
        goal = handle.request
        one = hasattr(goal, "goal")
        result = (ComputePathToPose if one else ComputePathThroughPoses).Result()
        begin = time.perf_counter()
        gateway = self._bridge.gateway
        try:
            poses = [goal.goal] if one else list(goals_of(goal.goals))
            result.path = await gateway.wait(gateway.between_steps(lambda: self._plan(goal, poses)))
        except (RefusedGoal, FleetSimError) as error:
            return aborted(handle, result, error)
        result.planning_time = messages.duration_to_msg(time.perf_counter() - begin)
        handle.succeed()
        return result

    # ---- between two steps -------------------------------------------------------------------------------------------

    def _plan(self, goal: Any, stamped: list[PoseStamped]) -> PathMsg:
        """Return the path of a goal; raises RefusedGoal."""
        if goal.planner_id not in ("", PLANNER_ID):
            raise RefusedGoal(
                "INVALID_PLANNER", f"planner_id: only {PLANNER_ID!r} is here, got {goal.planner_id[:80]!r}"
            )
        if not stamped:
            raise RefusedGoal("NO_VIAPOINTS_GIVEN", "goals: at least one is needed")
        world = self._bridge.sim.world
        row = world.index.row_named(self._robot)
        here = Pose(world.position[row].tolist(), world.orientation[row].tolist())
        start = self._pose(goal.start) if goal.use_start else here
        goals = [self._pose(one) for one in stamped]
        points, begin = [np.array([start.position[:2]])], start
        for end in goals:
            points.append(self._way(row, np.array(begin.position), np.array(end.position))[1:])
            begin = end
        return self._message(np.concatenate(points), start, goals[-1])

    def _pose(self, stamped: PoseStamped) -> Pose:
        try:
            return self._bridge.transforms.pose_to_map(stamped.header.frame_id, messages.pose_from_msg(stamped.pose))
        except UnknownNameError as error:
            raise RefusedGoal("TF_ERROR", str(error)) from error

    def _way(self, row: int, start: Floats, end: Floats) -> Floats:
        """Return the points (K, 2) of a way: along a route, or straight where the scenario has no site."""
        world = self._bridge.sim.world
        if not world.routes.known:
            return np.array([start[:2], end[:2]])
        radius = footprint_radius(world, row)
        speed = min(drive.limits_ahead(world, row)[0], FASTEST)
        found = world.routes.source.find(start, end, radius, speed=speed, mode=RouteMode.AUTO)
        if isinstance(found, NoRoute):
            raise RefusedGoal(self._code(start[:2], end[:2], radius, found), found.reason)
        return found.points

    def _code(self, start: Floats, end: Floats, radius: float, found: NoRoute) -> str:
        """Return Nav2's code for why there is no route."""
        site: Site | None = self._bridge.sim.extensions.find_manager("site")
        if site is None:
            # A building has several sites; of what is wrong there only the kind is told.
            return "GOAL_OCCUPIED" if found.cause is ActionCause.INVALID_GOAL else "NO_VALID_PATH"
        room = site.open_grid.clear_of(radius)
        for what, point in (("START", start), ("GOAL", end)):
            cells = site.grid.cells_at(point[None])
            if cells[0] < 0:
                return f"{what}_OUTSIDE_MAP"
            if not room.is_free(cells)[0]:
                return f"{what}_OCCUPIED"
        return "NO_VALID_PATH"

    def _message(self, points: Floats, start: Pose, goal: Pose) -> PathMsg:
        """Return the path through `points` (K, 2): headings along it, at the end that of the goal."""
        message = PathMsg()
        message.header.frame_id = self._bridge.frames.map
        message.header.stamp = messages.time_to_msg(self._bridge.time.last)
        steps = np.diff(points, axis=0)
        yaws = trig.arctan2(steps[:, 1], steps[:, 0])
        turns = np.concatenate((quaternions.from_yaws(yaws), np.array([goal.orientation])))
        if not len(steps):
            turns = np.array([start.orientation])
        message.poses = [
            PoseStamped(header=message.header, pose=messages.row_to_pose_msg((x, y, 0.0), turn))
            for (x, y), turn in zip(points.tolist(), turns.tolist(), strict=True)
        ]
        return message


# Smoothing of paths: corners become curves, the ends stay, and nothing that was free gets into an obstacle.


SPACING = 0.1
"""The largest distance of poses of a smoothed path in m, unless that were too many."""
MOST_POINTS = 5_000
REACH = 0.5
"""How far from a corner, in m, its curve begins."""
CLOSE = 1e-4
"""A round that moves no point by more than this (m) is the last one."""
MOST_ROUNDS = 2_000
TURN_BACK = -0.7
"""Cosine of the turn from which on a path turns back there, as a robot that parks: such a place stays."""
TRIES = 8
"""How often a round that would enter an obstacle is tried with fewer points."""

BETWEEN = np.array([0.25, 0.5, 0.75])[:, None, None]
"""Places on the lines between points that have to be free too."""

IsFree = Callable[[Floats], Bools]


class Smoothed(NamedTuple):
    """A path (N, 2), and whether it was completed before its time was up."""

    points: Floats
    is_complete: bool


def dense(points: Floats) -> Floats:
    """Return `points` (K, 2) with points between them, evenly and not much farther apart than SPACING.

    Points of the same place become one.
    """
    lengths = trig.hypot(*np.diff(points, axis=0).T)
    kept_mask = np.concatenate(([True], lengths > 0.0))
    points, lengths = points[kept_mask], lengths[kept_mask[1:]]
    spacing = max(SPACING, float(lengths.sum()) / MOST_POINTS)
    counts = np.maximum(np.ceil(lengths / spacing - 1e-9), 1).astype(np.int64)
    line = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts)
    share = (number / counts[line])[:, None]
    between: Floats = points[line] + share * (points[line + 1] - points[line])
    return np.concatenate((between, points[-1:]))


def smoothed(points: Floats, is_free: IsFree, in_time: Callable[[], bool]) -> Smoothed:
    """Return the path through `points` (N, 2), which `dense` returned, with curves for corners.

    Each point moves towards the middle of its neighbours, and less so back to its old place: gradient descent, to where
    both are in balance. `is_free` tells of points (M, 2) whether a robot may be there. Ends when `in_time` says no.
    """
    current = points.copy()
    loose_mask = _loose(points)
    # With these weights a corner is spread over REACH, and the descent is stable: 4 * pull + back < 2.
    pull = 0.45
    back = pull * (_spacing(points) / REACH) ** 2
    for _ in range(MOST_ROUNDS):
        if not in_time():
            return Smoothed(current, False)
        wanted = current.copy()
        inner = current[1:-1]
        wanted[1:-1] += pull * (current[:-2] + current[2:] - 2.0 * inner) + back * (points[1:-1] - inner)
        trial = _admitted(current, wanted, loose_mask, is_free)
        change = np.abs(trial - current).max(initial=0.0)
        current = trial
        if change <= CLOSE * back:
            break
    return Smoothed(current, True)


def headings(points: Floats, first: float, last: float) -> Floats:
    """Return headings (N,) in rad along `points` (N, 2), backwards where the path began so; at the end it is `last`.

    `first` is the heading of the path at its beginning.
    """
    if len(points) < 2:
        return np.array([last])
    steps = np.diff(points, axis=0)
    yaws = trig.arctan2(steps[:, 1], steps[:, 0])
    sine, cosine = trig.sin_cos_of(first)
    if steps[0, 0] * cosine + steps[0, 1] * sine < 0.0:
        yaws += np.pi
    return np.concatenate((yaws, [last]))


def is_clear(points: Floats, is_free: IsFree) -> bool:
    """Return whether the path (N, 2) and the lines of it are free."""
    between = (points[:-1] + BETWEEN * (points[1:] - points[:-1])).reshape(-1, 2)
    return bool(is_free(points).all() and is_free(between).all())


def _spacing(points: Floats) -> float:
    """Return the mean distance of neighbours in m, at most REACH."""
    lengths = trig.hypot(*np.diff(points, axis=0).T)
    return min(float(lengths.sum()) / max(len(lengths), 1), REACH)


def _loose(points: Floats) -> Bools:
    """Return which points may move: not the ends, nor those where the path turns back."""
    mask = np.zeros(len(points), bool)
    steps = np.diff(points, axis=0)
    lengths = trig.hypot(*steps.T)
    turns = (steps[:-1] * steps[1:]).sum(axis=1) / (lengths[:-1] * lengths[1:])
    mask[1:-1] = turns > TURN_BACK
    return mask


def _admitted(current: Floats, wanted: Floats, loose_mask: Bools, is_free: IsFree) -> Floats:
    """Return the points, moved to `wanted` where neither they nor the lines to their neighbours leave free space."""
    moved_mask = loose_mask.copy()
    for _ in range(TRIES):
        trial: Floats = np.where(moved_mask[:, None], wanted, current)
        blocked_mask = moved_mask & ~is_free(trial)
        # A line between points that stay is as good as it was.
        between = (trial[:-1] + BETWEEN * (trial[1:] - trial[:-1])).reshape(-1, 2)
        cut_mask = (moved_mask[1:] | moved_mask[:-1]) & ~is_free(between).reshape(len(BETWEEN), -1).all(axis=0)
        blocked_mask[1:] |= cut_mask
        blocked_mask[:-1] |= cut_mask
        if not blocked_mask.any():
            return trial
        moved_mask &= ~blocked_mask
    return current


# smooth_path: paths with curves for corners, compatible with Nav2's smoother server.


SMOOTHER_ID = "simple_smoother"
"""As Nav2's configuration calls its only one."""
MOST_POSES = 10_000
"""Of a path to be smoothed."""
_AROUND = trig.sin_cos(np.arange(8) * (np.pi / 4.0))
_RING: Floats = np.stack((*_AROUND,), axis=1)
"""Points (8, 2) of a circle of the radius 1."""


class SmootherServer(LookingServers):
    """The smoother of a robot. Paths are computed by `pool`, so that services go on meanwhile."""

    def __init__(self, bridge: Bridge, maps: RobotMaps, pool: ThreadPoolExecutor, robot: str) -> None:
        super().__init__(bridge, robot)
        self._maps = maps
        self._pool = pool
        self.serve(SmoothPath, "smooth_path", self._execute)

    async def _execute(self, handle: Any) -> Any:
        """Smooth a path in a thread of the pool, within the time of the goal; what is done then is the result."""
        goal, result, gateway = handle.request, SmoothPath.Result(), self._bridge.gateway
        begin = time.perf_counter()
        try:
            points, orientations, is_free = await gateway.wait(gateway.between_steps(partial(self._read, goal)))
            # The time of the goal begins when its path was read.
            end = time.perf_counter() + messages.duration_from_msg(goal.max_smoothing_duration)
            found = await gateway.wait(self._pool.submit(_smooth, points, is_free, end))
            # Also a path that is not completed is better than none.
            result.path = self._message(found.points, points, orientations)
            result.was_completed = found.is_complete
            self._check(goal, found, is_free)
        except (RefusedGoal, FleetSimError) as error:
            return aborted(handle, result, error)
        finally:
            result.smoothing_duration = messages.duration_to_msg(time.perf_counter() - begin)
        handle.succeed()
        return result

    def _check(self, goal: Any, found: Smoothed, is_free: IsFree) -> None:
        """Raise RefusedGoal where the path is not what was asked for."""
        if not found.is_complete:
            allowed = messages.duration_from_msg(goal.max_smoothing_duration)
            raise RefusedGoal("TIMEOUT", f"max_smoothing_duration: not smooth after {allowed:g} s")
        if goal.check_for_collisions and not is_clear(found.points, is_free):
            raise RefusedGoal("SMOOTHED_PATH_IN_COLLISION", "the path leads into an obstacle; plan another one")

    # ---- between two steps -------------------------------------------------------------------------------------------

    def _read(self, goal: Any) -> tuple[Floats, Floats, IsFree]:
        """Return positions (K, 3) and orientations (K, 4) of a path, and what tells where the robot may be."""
        if goal.smoother_id not in ("", SMOOTHER_ID):
            reason = f"smoother_id: only {SMOOTHER_ID!r} is here, got {goal.smoother_id[:80]!r}"
            raise RefusedGoal("INVALID_SMOOTHER", reason)
        if not 0 < len(goal.path.poses) <= MOST_POSES:
            raise RefusedGoal("INVALID_PATH", f"path: 1 to {MOST_POSES} poses, got {len(goal.path.poses)}")
        try:
            points, orientations = self._poses(goal.path)
        except FleetSimError as error:
            raise RefusedGoal("INVALID_PATH", f"path: {error}") from error
        world = self._bridge.sim.world
        row = world.index.row_named(self._robot)
        free = partial(_free, *self._maps.costs(self._robot, "global"), footprint_radius(world, row), self._zones())
        return points, orientations, free

    def _poses(self, path: Any) -> tuple[Floats, Floats]:
        """Return the poses of a path in the frame of the map; raises FleetSimError."""
        # Poses without a frame are in that of the path.
        frames = [pose.header.frame_id or path.header.frame_id for pose in path.poses]
        points, orientations = messages.poses_from_msgs([stamped.pose for stamped in path.poses])
        for frame in dict.fromkeys(frames):
            here_mask = np.array([name == frame for name in frames])
            moved = self._bridge.transforms.to_map(frame, points[here_mask], orientations[here_mask])
            points[here_mask], orientations[here_mask] = moved
        check_extent(points, self._bridge.sim.world.extent, "positions")
        return points, quaternions.normalized(orientations)

    def _zones(self) -> Sequence[Zone]:
        """Return where robots must not go."""
        site: Site | None = self._bridge.sim.extensions.find_manager("site")
        return [zone for zone in site.zones if zone.kind is ZoneKind.NO_GO] if site else ()

    # ---- results -----------------------------------------------------------------------------------------------------

    def _message(self, points: Floats, given: Floats, orientations: Floats) -> PathMsg:
        """Return the path through `points` (N, 2), with the heights of the path that was given."""
        message = PathMsg()
        message.header.frame_id = self._bridge.frames.map
        message.header.stamp = messages.time_to_msg(self._bridge.time.last)
        first, last = quaternions.yaws(orientations[[0, -1]]).tolist()
        turns = quaternions.from_yaws(headings(points, first, last))
        turns[-1] = orientations[-1]
        # Heights by shares of the way, as the smooth one is shorter.
        heights = np.interp(_shares(points), _shares(given[:, :2]), given[:, 2])
        message.poses = [
            PoseStamped(header=message.header, pose=messages.row_to_pose_msg((x, y, z), turn))
            for (x, y), z, turn in zip(points.tolist(), heights.tolist(), turns.tolist(), strict=True)
        ]
        return message


def _smooth(points: Floats, is_free: IsFree, end: float) -> Smoothed:
    """Return the smooth path; `end` is when to end, as time.perf_counter() tells it."""
    return smoothed(dense(points[:, :2]), is_free, lambda: time.perf_counter() < end)


def _shares(points: Floats) -> Floats:
    """Return how far along its path each point (N,) is, from 0 to 1."""
    ways = np.concatenate(([0.0], np.cumsum(trig.hypot(*np.diff(points, axis=0).T))))
    return np.asarray(ways / max(ways[-1], 1e-9))


def _free(grid: OccupancyGrid, costs: Costs, radius: float, zones: Sequence[Zone], points: Floats) -> Bools:
    """Return at which `points` (N, 2) the robot touches no obstacle and no zone; beyond the map nothing is known."""
    cells = grid.cells_at(points)
    # Beyond the map nothing is known to be in the way.
    inside_mask = grid.inside_mask(cells)
    free_mask = np.ones(len(points), bool)
    columns, lines = cells[inside_mask].T
    free_mask[inside_mask] = costs[lines, columns] < INSCRIBED
    for zone in zones:
        # A disc touches a zone where its middle or a point of its rim is in it.
        ring = (points[:, None] + radius * _RING).reshape(-1, 2)
        free_mask &= ~(zone.contains(points) | zone.contains(ring).reshape(-1, len(_RING)).any(axis=1))
    return free_mask
