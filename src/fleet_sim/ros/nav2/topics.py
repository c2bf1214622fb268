"""The topics of robots that clients of Nav2 use: initialpose and amcl_pose, map and costmaps."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav2_msgs.msg import Costmap
from nav_msgs.msg import OccupancyGrid as OccupancyGridMsg

from fleet_sim.core.commands import Command, SetPoses
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import pose_from_msg, row_to_pose_msg, time_to_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.nav2.costmaps import to_costmap, to_occupancy
from fleet_sim.ros.nav2.maps import RobotMaps
from fleet_sim.ros.nav2.services import Scopes
from fleet_sim.ros.per_robot import Endpoints, publishers
from fleet_sim.ros.polled import PolledTopic
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.sensors.map import grid_to_msg


class LocalizationTopics:
    """amcl_pose, the true pose, latched; initialpose asks for it, or moves the robot there (`initial_pose: place`)."""

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
                message.pose.pose = row_to_pose_msg(world.position[row], world.orientation[row])
                publisher.publish(message)
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
