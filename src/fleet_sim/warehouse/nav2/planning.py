"""Paths on request, compatible with Nav2: compute_path_to_pose, compute_path_through_poses, smooth_path."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import ComputePathThroughPoses, ComputePathToPose, SmoothPath
from nav_msgs.msg import Path as PathMsg
from rclpy.action import ActionServer, CancelResponse, GoalResponse

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import FleetSimError, UnknownNameError
from fleet_sim.base.geometry import Pose
from fleet_sim.base.limits import check_extent
from fleet_sim.base.params import ActionCause, RouteMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots import drive
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.ros import messages
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge
from fleet_sim.warehouse.nav2.maps import INSCRIBED, RobotMaps
from fleet_sim.warehouse.nav2.navigate import goals_of, with_error
from fleet_sim.warehouse.sites import Site, ZoneKind
from fleet_sim.world.routes import NoRoute

# What the actions have in common that look only: the robot goes on with whatever it does.


class RefusedGoal(Exception):
    """There is no result; `code` is the name of Nav2's code."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


PLANNER_ID, SMOOTHER_ID = "GridBased", "simple_smoother"
"""As Nav2's configuration calls its only ones."""
FASTEST = 100.0
MOST_POSES = 10_000
"""Of a path to be smoothed."""
SPACING, MOST_POINTS = 0.1, 5_000
"""The largest distance of poses of a smoothed path in m, unless that were too many."""
WIDTHS = (11, 7, 3)
"""Points of a path that a smoothed one is the mean of, the most that lead into nothing."""


class PathServer:
    """The planning actions of a robot, by callbacks in the executor; the robot goes on with whatever it does.

    compute_path_to_pose and compute_path_through_poses: routes of the scenario's site for the robot's footprint.
    smooth_path: a path with curves for corners, where these are free.
    """

    def __init__(self, bridge: Bridge, maps: RobotMaps, robot: str) -> None:
        self._bridge, self._maps, self._robot = bridge, maps, robot
        self._servers = [
            ActionServer(
                bridge.node,
                kind,
                f"{robot}/{name}",
                execute,
                goal_callback=self._wants,
                cancel_callback=lambda handle: CancelResponse.REJECT,
                callback_group=bridge.group,
                **qos.GOALS,
            )
            for name, kind, execute in (
                ("compute_path_to_pose", ComputePathToPose, self._execute),
                ("compute_path_through_poses", ComputePathThroughPoses, self._execute),
                ("smooth_path", SmoothPath, self._smooth),
            )
        ]

    def destroy(self) -> None:
        """Serve no longer."""
        for server in self._servers:
            server.destroy()

    def _wants(self, goal: Any) -> GoalResponse:
        return GoalResponse.REJECT if self._robot in self._bridge.resting else GoalResponse.ACCEPT

    async def _execute(self, handle: Any) -> Any:
        """Plan between two steps; the result has the path and the time it took, or Nav2's code of the reason."""
        goal = handle.request
        one = hasattr(goal, "goal")
        result = (ComputePathToPose if one else ComputePathThroughPoses).Result()

        def plan() -> PathMsg:
            return self._plan(goal, [goal.goal] if one else list(goals_of(goal.goals)))

        return await self._answer(handle, result, "planning_time", plan)

    async def _smooth(self, handle: Any) -> Any:
        """Smooth a path between two steps."""
        result = SmoothPath.Result()
        result.was_completed = True
        return await self._answer(handle, result, "smoothing_duration", lambda: self._smoothed(handle.request))

    async def _answer(self, handle: Any, result: Any, duration: str, find: Callable[[], PathMsg]) -> Any:
        """End a goal with the path that `find` returns between two steps, or with why there is none."""
        begin = time.perf_counter()
        try:
            result.path = await self._bridge.read(find)
        except (RefusedGoal, FleetSimError) as error:
            handle.abort()
            code = error.code if isinstance(error, RefusedGoal) else "UNKNOWN"
            return with_error(type(result)(), getattr(type(result), code, 0), str(error))
        setattr(result, duration, messages.duration_to_msg(time.perf_counter() - begin))
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
        whole = np.concatenate(points)
        steps = np.diff(whole, axis=0)
        # Headings along the path, at the end that of the goal.
        turns = np.concatenate((quaternions.from_yaws(trig.arctan2(steps[:, 1], steps[:, 0])), [goals[-1].orientation]))
        return self._message(np.pad(whole, ((0, 0), (0, 1))), turns if len(steps) else np.array([start.orientation]))

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

    def _smoothed(self, goal: Any) -> PathMsg:
        """Return the smooth path of a goal, with the heights of the one that was given; raises RefusedGoal."""
        if goal.smoother_id not in ("", SMOOTHER_ID):
            reason = f"smoother_id: only {SMOOTHER_ID!r} is here, got {goal.smoother_id[:80]!r}"
            raise RefusedGoal("INVALID_SMOOTHER", reason)
        if not 0 < len(goal.path.poses) <= MOST_POSES:
            raise RefusedGoal("INVALID_PATH", f"path: 1 to {MOST_POSES} poses, got {len(goal.path.poses)}")
        try:
            given, orientations = self._poses(goal.path)
        except FleetSimError as error:
            raise RefusedGoal("INVALID_PATH", f"path: {error}") from error
        grid, costs = self._maps.costs(self._robot, "global")
        site: Site | None = self._bridge.sim.extensions.find_manager("site")
        zones = [zone for zone in site.zones if zone.kind is ZoneKind.NO_GO] if site else []

        def is_free(places: Floats) -> bool:
            cells = grid.cells_at(places)
            # Beyond the map nothing is known to be in the way.
            columns, lines = cells[grid.inside_mask(cells)].T
            blocked = (costs[lines, columns] >= INSCRIBED).any()
            return not (blocked or any(zone.contains(places).any() for zone in zones))

        points = smoothed(given[:, :2], is_free)
        if goal.check_for_collisions and not is_free(points):
            raise RefusedGoal("SMOOTHED_PATH_IN_COLLISION", "the path leads into an obstacle; plan another one")
        # Heights by shares of the way, as the smooth one is shorter.
        heights = np.interp(_shares(points), _shares(given[:, :2]), given[:, 2])
        yaws = headings(points, *quaternions.yaws(orientations[[0, -1]]).tolist())
        turns = np.concatenate((quaternions.from_yaws(yaws[:-1]), orientations[-1:]))
        return self._message(np.column_stack((points, heights)), turns)

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

    def _message(self, points: Floats, turns: Floats) -> PathMsg:
        """Return the path through `points` (K, 3) with orientations `turns` (K, 4)."""
        message = PathMsg()
        message.header.frame_id = self._bridge.frames.map
        message.header.stamp = messages.time_to_msg(self._bridge.time.last)
        message.poses = [
            PoseStamped(header=message.header, pose=messages.row_to_pose_msg(point, turn))
            for point, turn in zip(points.tolist(), turns.tolist(), strict=True)
        ]
        return message


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


def smoothed(points: Floats, is_free: Callable[[Floats], bool]) -> Floats:
    """Return the path through `points` (K, 2) in even steps, with curves for corners where those are free."""
    path = dense(points)
    for width in WIDTHS:
        padded = np.pad(path, ((width // 2, width // 2), (0, 0)), "edge")
        found = np.stack([np.convolve(axis, np.full(width, 1.0 / width), "valid") for axis in padded.T], axis=1)
        found[[0, -1]] = path[[0, -1]]
        if is_free(found):
            return found
    return path


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


def _shares(points: Floats) -> Floats:
    """Return how far along its path each point (N,) is, from 0 to 1."""
    ways = np.concatenate(([0.0], np.cumsum(trig.hypot(*np.diff(points, axis=0).T))))
    return np.asarray(ways / max(ways[-1], 1e-9))
