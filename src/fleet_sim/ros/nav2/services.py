"""The services of a robot that clients of Nav2 wait for and call: lifecycle, costmaps, map server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from nav2_msgs.srv import (
    ClearCostmapAroundRobot,
    ClearCostmapExceptRegion,
    ClearEntireCostmap,
    GetCostmap,
    LoadMap,
    ManageLifecycleNodes,
)
from nav_msgs.srv import GetMap
from std_srvs.srv import Trigger

from fleet_sim.core.commands import CancelActions
from fleet_sim.ros.conversions import pose_from_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.nav2.costmaps import to_costmap
from fleet_sim.ros.nav2.map_files import problem_with_map
from fleet_sim.ros.nav2.maps import RobotMaps, Scope
from fleet_sim.ros.sensors.map import grid_to_msg

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

Scopes: tuple[Scope, Scope] = ("global", "local")


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
        for scope in Scopes:
            place = f"{scope}_costmap"
            self._serve(ClearEntireCostmap, f"{place}/clear_entirely_{place}", self._clear)
            self._serve(ClearCostmapExceptRegion, f"{place}/clear_costmap_except_region", self._clear)
            self._serve(ClearCostmapExceptRegion, f"{place}/clear_except_{place}", self._clear)
            self._serve(ClearCostmapAroundRobot, f"{place}/clear_costmap_around_robot", self._clear)
            self._serve(ClearCostmapAroundRobot, f"{place}/clear_around_{place}", self._clear)
            if ClearCostmapAroundPose is not None:
                self._serve(ClearCostmapAroundPose, f"{place}/clear_costmap_around_pose", self._clear_around_pose)
                self._serve(ClearCostmapAroundPose, f"{place}/clear_around_pose_{place}", self._clear_around_pose)
            self._serve(GetCostmap, f"{place}/get_costmap", self._costmap(scope))
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
            await self._bridge.gateway.wait(self._bridge.gateway.send(lambda: command))
        elif request.command not in known:
            self._bridge.reject(f"{self._robot}: manage_nodes", f"command: unknown, got {request.command}")
            return response
        response.success = True
        return response

    # ---- maps --------------------------------------------------------------------------------------------------------

    async def _clear(self, request: Any, response: Any) -> Any:
        # Costmaps are computed from what is there, so there are no old marks: the next one is made anew.
        await self._read(self._maps.forget)
        return response

    async def _clear_around_pose(self, request: Any, response: Any) -> Any:
        stamped = request.pose
        transforms = self._bridge.transforms
        # A frame that is not known is told of: the caller's pose is wrong, whatever is cleared.
        await self._read(lambda: transforms.pose_to_map(stamped.header.frame_id, pose_from_msg(stamped.pose)))
        return await self._clear(request, response)

    def _costmap(self, scope: Scope) -> Callable[[Any, Any], Awaitable[Any]]:
        async def answer(request: Any, response: Any) -> Any:
            grid, costs = await self._read(lambda: self._maps.costs(self._robot, scope))
            response.map = to_costmap(grid, costs, self._bridge.frames.map, self._bridge.time.last)
            return response

        return answer

    async def _map(self, request: Any, response: Any) -> Any:
        grid = await self._read(self._maps.grid)
        response.map = grid_to_msg(grid, self._bridge.frames.map, self._bridge.time.last)
        return response

    async def _load_map(self, request: Any, response: Any) -> Any:
        """Answer with the map of the scenario, if the file that is asked for has the same one; else with why not."""
        # Walls are those of the scenario, so the map of other ones is refused.
        problem = await self._read(lambda: problem_with_map(self._bridge.sim, request.map_url))
        if problem is not None:
            self._bridge.reject(f"{self._robot}/map_server/load_map", problem.reason)
            response.result = problem.code
            return response
        response.result = LoadMap.Response.RESULT_SUCCESS
        return await self._map(request, response)

    async def _read(self, function: Callable[[], Any]) -> Any:
        return await self._bridge.gateway.wait(self._bridge.gateway.between_steps(function))
