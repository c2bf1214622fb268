"""The topics and services of robots that clients of Nav2 use, and cmd_vel_teleop."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped, Twist, TwistStamped
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from nav2_msgs.msg import Costmap
from nav2_msgs.srv import (
    ClearCostmapAroundRobot,
    ClearCostmapExceptRegion,
    ClearEntireCostmap,
    GetCostmap,
    LoadMap,
    ManageLifecycleNodes,
)
from nav_msgs.msg import OccupancyGrid as OccupancyGridMsg
from nav_msgs.srv import GetMap
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from fleet_sim.base.arrays import Floats, as_floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import MotionMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots import drive
from fleet_sim.robots.actions.follow import TeleopAction
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge, Endpoints, Handler, PolledTopic, publishers
from fleet_sim.ros.messages import Roster, pose_from_msg, row_to_pose_msg, time_to_msg, twists_from_msgs
from fleet_sim.ros.monitoring import grid_to_msg
from fleet_sim.ros.robot_commands import check_frame
from fleet_sim.sensing.sensors import OccupancyGrid
from fleet_sim.sensing.sensors.occupancy import OCCUPIED
from fleet_sim.warehouse.nav2.maps import RobotMaps, Scope, clearances, problem_with_map, to_costmap, to_occupancy
from fleet_sim.world.commands import CancelActions, Command, FinishActions, SetPoses, SetVelocity

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

    def _serve(self, kind: Any, name: str, callback: Handler) -> None:
        self._services.append(self._bridge.serve(kind, f"{self._robot}/{name}", callback))

    # ---- lifecycle ---------------------------------------------------------------------------------------------------

    async def _state(self, request: Any, response: Any) -> None:
        resting = self._robot in self._bridge.resting
        response.current_state.id = State.PRIMARY_STATE_INACTIVE if resting else State.PRIMARY_STATE_ACTIVE
        response.current_state.label = "inactive" if resting else "active"

    async def _is_active(self, request: Any, response: Any) -> None:
        response.success = self._robot not in self._bridge.resting

    async def _manage(self, request: Any, response: Any) -> None:
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
            raise InvalidValueError(f"command: unknown, got {request.command}")

    # ---- maps --------------------------------------------------------------------------------------------------------

    async def _clear(self, request: Any, response: Any) -> None:
        # Costmaps are computed from what is there, so there are no old marks: the next one is made anew.
        await self._bridge.read(self._maps.forget)

    async def _clear_around_pose(self, request: Any, response: Any) -> None:
        stamped = request.pose
        transforms = self._bridge.transforms
        # A frame that is not known is told of: the caller's pose is wrong, whatever is cleared.
        await self._bridge.read(lambda: transforms.pose_to_map(stamped.header.frame_id, pose_from_msg(stamped.pose)))
        await self._clear(request, response)

    def _costmap(self, scope: Scope) -> Handler:
        async def answer(request: Any, response: Any) -> None:
            grid, costs = await self._bridge.read(lambda: self._maps.costs(self._robot, scope))
            response.map = to_costmap(grid, costs, self._bridge.frames.map, self._bridge.time.last)

        return answer

    async def _map(self, request: Any, response: Any) -> None:
        grid = await self._bridge.read(self._maps.grid)
        response.map = grid_to_msg(grid, self._bridge.frames.map, self._bridge.time.last)

    async def _load_map(self, request: Any, response: Any) -> None:
        """Answer with the map of the scenario, if the file that is asked for has the same one; else with why not."""
        # Walls are those of the scenario, so the map of other ones is refused.
        problem = await self._bridge.read(lambda: problem_with_map(self._bridge.sim, request.map_url))
        if problem is not None:
            response.result, reason = problem
            self._bridge.reject(f"{self._robot}/map_server/load_map", reason)
            return
        response.result = LoadMap.Response.RESULT_SUCCESS
        await self._map(request, response)


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
    """<robot>/map and the costmaps, latched: computed for those with a subscriber, when something has changed.

    Costs are those of Nav2's inflation layer for the radius of the robot's footprint: 254 occupied, 253 inscribed.
    """

    def __init__(self, bridge: Bridge, maps: RobotMaps) -> None:
        self._bridge = bridge
        self._maps = maps
        self._shown: dict[tuple[str, str], object] = {}
        self._map = publishers(bridge, "state", OccupancyGridMsg, "map", qos.LATCHED)
        self._costmaps: dict[tuple[str, bool], Endpoints] = {}
        for scope in Scopes:
            for kind, name, raw in ((OccupancyGridMsg, "costmap", False), (Costmap, "costmap_raw", True)):
                topic = f"{scope}_costmap/{name}"
                self._costmaps[topic, raw] = publishers(bridge, "state", kind, topic, qos.LATCHED)

    def on_fleet_changed(self, roster: Roster) -> None:
        """Follow the robots of the fleet."""
        for endpoints in (self._map, *self._costmaps.values()):
            endpoints.on_fleet_changed(roster)
        kept = set(self._map.names)
        self._shown = {key: state for key, state in self._shown.items() if key[0] in kept}

    def publish(self, now: int) -> None:
        """Publish what is wanted and has changed; local costmaps each time."""
        frame = self._bridge.frames.map
        for name, publisher in zip(self._map.names, self._map.items, strict=True):
            if publisher.get_subscription_count() and self._is_new(name, "map"):
                publisher.publish(grid_to_msg(self._maps.grid(), frame, now))
        for (topic, raw), endpoints in self._costmaps.items():
            scope = Scopes[topic.startswith("local")]
            for name, publisher in zip(endpoints.names, endpoints.items, strict=True):
                # Local costmaps move with their robots.
                if publisher.get_subscription_count() and (scope == "local" or self._is_new(name, topic)):
                    write = to_costmap if raw else to_occupancy
                    publisher.publish(write(*self._maps.costs(name, scope), frame, now))

    def _is_new(self, robot: str, topic: str) -> bool:
        """Return whether the map has changed since it was published there."""
        state = self._maps.state
        if self._shown.get((robot, topic)) == state:
            return False
        self._shown[robot, topic] = state
        return True


# cmd_vel_teleop and preempt_teleop: what drives a robot during assisted_teleop, and what ends it.


CYCLE = 10.0
"""How often per second it looks ahead, as Nav2's behavior server."""
LOOK_AHEAD = 1.0
"""How far it looks ahead, in s; farther where the robot needs longer to stop."""
FASTEST = 10.0
"""In m/s; and how far it looks at most, in m."""
BRAKING = 0.5
"""The part of a robot's acceleration that it counts on for braking."""
EARLIEST = 0.5
"""How long before the action a velocity may come, in s, where velocities have no timeout."""
Motion = tuple[Floats, Floats]
"""Linear (3,) and angular (3,) velocity in the frame of the base."""


class TeleopTopics:
    """Gives robots in an assisted_teleop the velocities that they are sent, slowed down before obstacles.

    The last velocity holds until the next one, as in Nav2. Outside of the action both topics are ignored, but for
    velocities that come just before it begins.
    """

    def __init__(self, bridge: Bridge, maps: RobotMaps) -> None:
        self._bridge = bridge
        self._maps = maps
        kind = TwistStamped if bridge.params.cmd_vel_type == "twist_stamped" else Twist
        self._twists = PolledTopic(bridge, kind, "cmd_vel_teleop", qos.COMMAND)
        self._ends = PolledTopic(bridge, Empty, "preempt_teleop", qos.COMMAND)
        self._wanted: dict[str, Motion] = {}
        self._early: dict[str, tuple[float, Motion]] = {}
        """Velocities for robots without the action, and when they came."""
        self._times = bridge.sim.clock.schedule(CYCLE)

    def on_fleet_changed(self, roster: Roster) -> None:
        """Follow the robots of the fleet."""
        self._twists.on_fleet_changed(roster)
        self._ends.on_fleet_changed(roster)

    def receive(self) -> None:
        """Take what has arrived, and drive on."""
        self._take_early()
        for index, message in self._twists.take():
            name = self._twists.names[index]
            twist = self._checked(name, message)
            if twist is None:
                continue
            if self._is_teleoperated(name):
                self._wanted[name] = twist
            else:
                # The goal may have been accepted just now, and begins in one of the next steps.
                self._early[name] = (self._bridge.sim.clock.time, twist)
        # After the velocities: an end wins over those that came with it.
        for index, _ in self._ends.take():
            name = self._ends.names[index]
            if self._is_teleoperated(name):
                make = partial(FinishActions, names=(name,), source="preempt_teleop")
                self._bridge.gateway.take(f"{name}/preempt_teleop", make)
        if self._times.poll() is not None:
            # Robots whose action has ended are forgotten.
            self._wanted = {name: wanted for name, wanted in self._wanted.items() if self._is_teleoperated(name)}
            for name, wanted in self._wanted.items():
                self._bridge.gateway.take(f"{name}/cmd_vel_teleop", partial(self._driving, name, wanted))

    def _take_early(self) -> None:
        """Take what came shortly before its action began, and forget what is older than a velocity may be."""
        lasts = self._bridge.params.cmd_vel_timeout or EARLIEST
        for name, (time, twist) in list(self._early.items()):
            if self._is_teleoperated(name):
                del self._early[name]
                self._wanted[name] = twist
            elif self._bridge.sim.clock.time > time + lasts:
                del self._early[name]

    def _is_teleoperated(self, name: str) -> bool:
        world = self._bridge.sim.world
        return world.index.has_name(name) and isinstance(
            world.actions.current(world.index.row_named(name)), TeleopAction
        )

    def _checked(self, name: str, message: Any) -> Motion | None:
        """Return the velocity of a message, or None where it is rejected."""
        try:
            if hasattr(message, "header"):
                check_frame(self._bridge, name, message.header.frame_id)
            linear, angular = twists_from_msgs([getattr(message, "twist", message)])
            return as_floats(linear[0], (3,), "linear velocity"), as_floats(angular[0], (3,), "angular velocity")
        except InvalidValueError as error:
            self._bridge.reject(f"{name}/cmd_vel_teleop", error)
            return None

    def _driving(self, name: str, wanted: Motion) -> Command:
        """Return the command that drives the robot as it is wanted, as far as that is safe."""
        world = self._bridge.sim.world
        row = world.index.row_named(name)
        linear, angular = wanted[0].copy(), wanted[1]
        if world.laws.names()[int(world.motion.law[row])] != MotionMode.OMNIDIRECTIONAL.value:
            # Such a robot would not move aside either.
            linear[1:] = 0.0
        fastest, brakes = drive.limits_ahead(world, row)
        brakes *= BRAKING
        # v^2 = 2 a s: it looks FASTEST m ahead at most, and must be able to stop in that.
        fastest = min(fastest, FASTEST, math.sqrt(2.0 * brakes * FASTEST))
        speed = math.sqrt(float((linear[:2] ** 2).sum()))
        share = min(1.0, fastest / speed) if speed > 0.0 else 1.0
        linear, speed = share * linear, share * speed
        if speed > 0.0:
            kept = self._safe_share(row, linear, share * float(angular[2]), speed, brakes)
            linear, share = kept * linear, kept * share
        # The turn is slowed down as the speed is, so that the robot stays on its curve.
        return SetVelocity(
            names=(name,), linear=linear[None], angular=share * angular[None], timeout=0.0, source="cmd_vel_teleop"
        )

    def _safe_share(self, row: int, linear: Floats, turn: float, speed: float, brakes: float) -> float:
        """Return by how much to slow down, from 0 to 1, for what is on the way."""
        world = self._bridge.sim.world
        reach = speed * max(LOOK_AHEAD, speed / (2.0 * brakes))
        radius = footprint_radius(world, row)
        # The map around it, with room for the disc at the end of the way.
        grid = self._maps.around(row, 2.0 * (reach + radius + 1.0))
        steps = max(2, math.ceil(2.0 * reach / grid.resolution))
        way = projected(world.position[row, :2], quaternions.yaw_of(world.orientation, row), linear, turn, reach, steps)
        free = free_length(grid, way, radius, reach / steps)
        # Nothing ahead, or nothing free at all.
        if free >= reach or free <= 0.0:
            return float(free > 0.0)
        return min(1.0, free / (speed * LOOK_AHEAD), math.sqrt(2.0 * brakes * free) / speed)


def projected(start: Floats, yaw: float, linear: Floats, turn: float, reach: float, steps: int) -> Floats:
    """Return points (steps + 1, 2) of the way of `reach` m from `start` (2,) that a constant twist drives."""
    speed = math.sqrt(float((linear[:2] ** 2).sum()))
    # In the middle of each step, as the heading changes within it.
    headings = yaw + turn * (reach / speed) * (np.arange(steps) + 0.5) / steps
    sine, cosine = trig.sin_cos(headings)
    x, y = linear[:2] / speed
    shifts = np.stack((cosine * x - sine * y, sine * x + cosine * y), axis=1) * (reach / steps)
    return np.concatenate((start[None], start + np.cumsum(shifts, axis=0)))


def free_length(grid: OccupancyGrid, way: Floats, radius: float, step: float) -> float:
    """Return how far in m a disc of `radius` m may go along the points of `way` (N, 2), `step` m apart.

    A disc that is too near to an obstacle already may go where it does not come nearer.
    """
    away = clearances(grid.cells == OCCUPIED, grid.resolution, radius + 2.0 * grid.resolution)
    columns, lines = grid.cells_at(way).T
    distances = away[lines, columns]
    # Distances are those of the middles of cells.
    near_mask = distances < min(radius + grid.resolution, float(distances[0]))
    blocked = np.flatnonzero(near_mask)
    return step * float(max(blocked[0] - 1, 0)) if len(blocked) else step * (len(way) - 1)
