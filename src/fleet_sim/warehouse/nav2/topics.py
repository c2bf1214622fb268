"""The topics and services of robots that clients of Nav2 use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from nav2_msgs.srv import (
    ClearCostmapAroundRobot,
    ClearCostmapExceptRegion,
    ClearEntireCostmap,
    LoadMap,
    ManageLifecycleNodes,
)
from nav_msgs.msg import OccupancyGrid as OccupancyGridMsg
from nav_msgs.srv import GetMap
from std_srvs.srv import Trigger

from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge, PolledTopic, publishers
from fleet_sim.ros.messages import Roster, pose_from_msg, row_to_pose_msg, time_to_msg
from fleet_sim.ros.monitoring import grid_to_msg
from fleet_sim.warehouse.nav2.maps import RobotMaps, problem_with_map
from fleet_sim.world.commands import CancelActions, Command, SetPoses

# The services of a robot that clients of Nav2 wait for and call: lifecycle, costmaps, map server.


# Older versions of Nav2 have none.
try:
    from nav2_msgs.srv import ClearCostmapAroundPose
except ImportError:
    ClearCostmapAroundPose = None

NODES = {
    "lifecycle_manager_localization": ("map_server", "amcl"),
    "lifecycle_manager_navigation": (
        "controller_server",
        "smoother_server",
        "planner_server",
        "behavior_server",
        "bt_navigator",
        "waypoint_follower",
        "velocity_smoother",
        "docking_server",
        "global_costmap/global_costmap",
        "local_costmap/local_costmap",
    ),
}
"""Nodes of Nav2 whose state clients ask for, by what manages them."""
STOPPED = "navigation was deactivated"


class RobotServices:
    """The services of one robot, below its name."""

    def __init__(self, bridge: Bridge, maps: RobotMaps, robot: str) -> None:
        self._bridge = bridge
        self._maps = maps
        self._robot = robot
        self._services: list[Any] = []
        for manager, nodes in NODES.items():
            self._serve(ManageLifecycleNodes, f"{manager}/manage_nodes", self._manage)
            self._serve(Trigger, f"{manager}/is_active", self._is_active)
            for node in nodes:
                self._serve(GetState, f"{node}/get_state", self._state)
        for place in ("global_costmap", "local_costmap"):
            self._serve(ClearEntireCostmap, f"{place}/clear_entirely_{place}", self._clear)
            self._serve(ClearCostmapExceptRegion, f"{place}/clear_costmap_except_region", self._clear)
            self._serve(ClearCostmapExceptRegion, f"{place}/clear_except_{place}", self._clear)
            self._serve(ClearCostmapAroundRobot, f"{place}/clear_costmap_around_robot", self._clear)
            self._serve(ClearCostmapAroundRobot, f"{place}/clear_around_{place}", self._clear)
            if ClearCostmapAroundPose is not None:
                self._serve(ClearCostmapAroundPose, f"{place}/clear_costmap_around_pose", self._clear_around_pose)
                self._serve(ClearCostmapAroundPose, f"{place}/clear_around_pose_{place}", self._clear_around_pose)
        self._serve(GetMap, "map_server/map", self._map)
        self._serve(LoadMap, "map_server/load_map", self._load_map)

    def destroy(self) -> None:
        """Serve no longer."""
        self._bridge.resting.discard(self._robot)
        for service in self._services:
            self._bridge.end_service(service)

    def _serve(self, kind: Any, name: str, callback: Callable[[Any, Any], Awaitable[Any]]) -> None:
        self._services.append(self._bridge.serve(kind, f"{self._robot}/{name}", callback))

    # ---- lifecycle ---------------------------------------------------------------------------------------------------

    async def _state(self, request: Any, response: Any) -> Any:
        resting = self._robot in self._bridge.resting
        response.current_state.id = State.PRIMARY_STATE_INACTIVE if resting else State.PRIMARY_STATE_ACTIVE
        response.current_state.label = "inactive" if resting else "active"
        return response

    async def _is_active(self, request: Any, response: Any) -> Any:
        response.success = self._robot not in self._bridge.resting
        return response

    async def _manage(self, request: Any, response: Any) -> Any:
        """Start or stop the navigation of a robot as Nav2's lifecycle manager does; stopped, it rejects goals."""
        self._bridge.gateway.permissions.check_change()
        codes = ManageLifecycleNodes.Request
        known = {getattr(codes, name, None) for name in ("STARTUP", "RESUME", "CONFIGURE")}
        if request.command == codes.STARTUP or request.command == codes.RESUME:
            self._bridge.resting.discard(self._robot)
        elif request.command in (codes.PAUSE, codes.RESET, codes.SHUTDOWN, getattr(codes, "CLEANUP", None)):
            self._bridge.resting.add(self._robot)
            command = CancelActions(names=(self._robot,), reason=STOPPED, source="manage_nodes")
            await self._bridge.carry_out(lambda: command)
        elif request.command not in known:
            self._bridge.reject(f"{self._robot}: manage_nodes", f"command: unknown, got {request.command}")
            return response
        response.success = True
        return response

    # ---- maps --------------------------------------------------------------------------------------------------------

    async def _clear(self, request: Any, response: Any) -> Any:
        # Robots drive by what is there, so there are no old marks.
        return response

    async def _clear_around_pose(self, request: Any, response: Any) -> Any:
        stamped = request.pose
        transforms = self._bridge.transforms
        # A frame that is not known is told of: the caller's pose is wrong, whatever is cleared.
        await self._bridge.read(lambda: transforms.pose_to_map(stamped.header.frame_id, pose_from_msg(stamped.pose)))
        return await self._clear(request, response)

    async def _map(self, request: Any, response: Any) -> Any:
        grid = await self._bridge.read(self._maps.grid)
        response.map = grid_to_msg(grid, self._bridge.frames.map, self._bridge.time.last)
        return response

    async def _load_map(self, request: Any, response: Any) -> Any:
        """Answer with the map of the scenario, if the file that is asked for has the same one; else with why not."""
        # Walls are those of the scenario, so the map of other ones is refused.
        problem = await self._bridge.read(lambda: problem_with_map(self._bridge.sim, request.map_url))
        if problem is not None:
            response.result, reason = problem
            self._bridge.reject(f"{self._robot}/map_server/load_map", reason)
            return response
        response.result = LoadMap.Response.RESULT_SUCCESS
        return await self._map(request, response)


class LocalizationTopics:
    """amcl_pose, where the robot believes to be, latched; initialpose asks for it.

    With `initial_pose: place` it moves the robot there.
    """

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._poses = publishers(bridge, "state", PoseWithCovarianceStamped, "amcl_pose", qos.LATCHED)
        self._asked = PolledTopic(bridge, PoseWithCovarianceStamped, "initialpose", qos.COMMAND)
        self._due: set[str] = set()

    def on_fleet_changed(self, roster: Roster) -> None:
        """Follow the robots of the fleet."""
        self._poses.on_fleet_changed(roster)
        self._asked.on_fleet_changed(roster)

    def receive(self) -> None:
        """Take what has arrived."""
        for index, message in self._asked.take():
            name = self._asked.names[index]
            if self._bridge.params.nav2.initial_pose == "place":
                self._bridge.gateway.take(f"{name}/initialpose", partial(self._placing, name, message))
            self._due.add(name)

    def publish(self, now: int, *, all_robots: bool) -> None:
        """Publish the poses of all robots, or of those that were asked for."""
        world = self._bridge.sim.world
        for name, row, publisher in zip(self._poses.names, self._poses.rows.tolist(), self._poses.items, strict=True):
            if all_robots or name in self._due:
                message = PoseWithCovarianceStamped()
                message.header.frame_id, message.header.stamp = self._bridge.frames.map, time_to_msg(now)
                (position,), (orientation,) = world.believed_poses(np.array([row]))
                message.pose.pose = row_to_pose_msg(position, orientation)
                self._bridge.send_from(row, "amcl_pose", partial(publisher.publish, message), resent=True)
        self._due.clear()

    def _placing(self, name: str, message: Any) -> Command:
        """Return the command that moves the robot, at its own height."""
        pose = self._bridge.transforms.pose_to_map(message.header.frame_id, pose_from_msg(message.pose.pose))
        world = self._bridge.sim.world
        # Poses of Nav2 are flat.
        height = float(world.position[world.index.row_named(name), 2])
        return SetPoses(
            names=(name,),
            positions=np.array([[pose.x, pose.y, height]]),
            orientations=np.array([pose.orientation]),
            preserve_velocity=False,
            source="initialpose",
        )


class MapTopics:
    """<robot>/map, latched: published to those with a subscriber, when something has changed."""

    def __init__(self, bridge: Bridge, maps: RobotMaps) -> None:
        self._bridge = bridge
        self._maps = maps
        self._shown: dict[str, object] = {}
        self._map = publishers(bridge, "state", OccupancyGridMsg, "map", qos.LATCHED)

    def on_fleet_changed(self, roster: Roster) -> None:
        """Follow the robots of the fleet."""
        self._map.on_fleet_changed(roster)
        kept = set(self._map.names)
        self._shown = {name: state for name, state in self._shown.items() if name in kept}

    def publish(self, now: int) -> None:
        """Publish what is wanted and has changed."""
        for name, publisher in zip(self._map.names, self._map.items, strict=True):
            if publisher.get_subscription_count() and self._shown.get(name) != (state := self._maps.state):
                self._shown[name] = state
                publisher.publish(grid_to_msg(self._maps.grid(), self._bridge.frames.map, now))
