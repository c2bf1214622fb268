"""compute_path_to_pose and compute_path_through_poses: ways without driving them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import ComputePathThroughPoses, ComputePathToPose
from nav_msgs.msg import Path as PathMsg

from fleet_sim.arrays import Floats
from fleet_sim.config.modes import ActionCause, RouteMode
from fleet_sim.core.routes import NoRoute
from fleet_sim.entities import drive
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.errors import FleetSimError, UnknownNameError
from fleet_sim.geometry import Pose
from fleet_sim.ros.conversions import duration_to_msg, pose_from_msg, row_to_pose_msg, time_to_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.nav2.looking import LookingServers, RefusedGoal, aborted
from fleet_sim.ros.nav2.waypoints import goals_of
from fleet_sim.sites import Site
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

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
        result.planning_time = duration_to_msg(time.perf_counter() - begin)
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
            return self._bridge.transforms.pose_to_map(stamped.header.frame_id, pose_from_msg(stamped.pose))
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
        message.header.stamp = time_to_msg(self._bridge.time.last)
        steps = np.diff(points, axis=0)
        yaws = trig.arctan2(steps[:, 1], steps[:, 0])
        turns = np.concatenate((quaternions.from_yaws(yaws), np.array([goal.orientation])))
        if not len(steps):
            turns = np.array([start.orientation])
        message.poses = [
            PoseStamped(header=message.header, pose=row_to_pose_msg((x, y, 0.0), turn))
            for (x, y), turn in zip(points.tolist(), turns.tolist(), strict=True)
        ]
        return message
