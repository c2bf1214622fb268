"""Paths on request, compatible with Nav2: compute_path_to_pose, compute_path_through_poses."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import ComputePathThroughPoses, ComputePathToPose
from nav_msgs.msg import Path as PathMsg
from rclpy.action import ActionServer, CancelResponse, GoalResponse

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import FleetSimError, UnknownNameError
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import ActionCause, RouteMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots import drive
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.ros import messages
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge
from fleet_sim.warehouse.nav2.navigate import goals_of, with_error
from fleet_sim.warehouse.sites import Site
from fleet_sim.world.routes import NoRoute

# What the actions have in common that look only: the robot goes on with whatever it does.


class RefusedGoal(Exception):
    """There is no result; `code` is the name of Nav2's code."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


PLANNER_ID = "GridBased"
"""As Nav2's configuration calls its only one."""
FASTEST = 100.0


class PathServer:
    """The planning actions of a robot, by callbacks in the executor; the robot goes on with whatever it does.

    compute_path_to_pose and compute_path_through_poses: routes of the scenario's site for the robot's footprint.
    """

    def __init__(self, bridge: Bridge, robot: str) -> None:
        self._bridge, self._robot = bridge, robot
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
