"""All of Nav2's interface besides the actions that drive, of scenarios that ask for it (`ros.nav2.enabled`)."""

from __future__ import annotations

from functools import partial
from typing import Any

from fleet_sim.ros.action_kinds import offers
from fleet_sim.ros.actions import ActionKind
from fleet_sim.ros.interface import Bridge, Endpoints, Interface, require_packages
from fleet_sim.ros.messages import Roster


class Nav2Interface(Interface):
    """Topics, services and planning actions of each robot; nothing without the setting."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._is_on = bridge.params.nav2.enabled
        if not self._is_on:
            return
        require_packages(("nav2_msgs", "lifecycle_msgs"), "ros.nav2")
        # Imported here: who does not use them need not have these packages, nor wait for them.
        from fleet_sim.warehouse.nav2.maps import RobotMaps
        from fleet_sim.warehouse.nav2.topics import LocalizationTopics, MapTopics, TeleopTopics

        self._robot_maps = RobotMaps(bridge)
        self._localization = LocalizationTopics(bridge)
        self._maps = MapTopics(bridge, self._robot_maps)
        self._teleop = TeleopTopics(bridge, self._robot_maps)
        self._servers = Endpoints(bridge, "actions", self._serve, _destroy)
        self._pose_times = bridge.sim.clock.schedule(bridge.params.nav2.amcl_pose)
        self._map_times = bridge.sim.clock.schedule(bridge.params.nav2.costmaps)

    def on_fleet_changed(self, roster: Roster) -> None:
        if self._is_on:
            self._localization.on_fleet_changed(roster)
            self._maps.on_fleet_changed(roster)
            self._teleop.on_fleet_changed(roster)
            # Services belong to the executor's thread.
            self.bridge.mailbox.post(partial(self._servers.follow, roster))

    def has_work(self) -> bool:
        return self._is_on

    def receive(self) -> None:
        self._localization.receive()
        self._teleop.receive()

    def publish(self, now: int) -> None:
        """Publish true poses and maps, each at its own rate."""
        self._localization.publish(now, all_robots=self._pose_times.poll() is not None)
        if self._map_times.poll() is not None:
            self._maps.publish(now)

    def _serve(self, robot: str) -> list[Any]:
        """Return the servers of one robot; their message packages are needed only here."""
        from fleet_sim.warehouse.nav2.planning import PathServer
        from fleet_sim.warehouse.nav2.topics import RobotServices

        return [PathServer(self.bridge, self._robot_maps, robot), RobotServices(self.bridge, self._robot_maps, robot)]


def nav2_actions() -> dict[str, ActionKind]:
    """Return kinds of actions by name, of those that are defined: older versions of nav2_msgs have fewer."""
    kinds: list[ActionKind] = []
    if offers("nav2_msgs.action", "NavigateToPose"):
        from fleet_sim.warehouse.nav2.navigate import FOLLOW_WAYPOINTS, NAVIGATE_THROUGH_POSES, NAVIGATE_TO_POSE

        kinds += [NAVIGATE_TO_POSE, NAVIGATE_THROUGH_POSES, FOLLOW_WAYPOINTS]
    if offers("nav2_msgs.action", "FollowGPSWaypoints"):
        from fleet_sim.warehouse.nav2.gps import FOLLOW_GPS_WAYPOINTS

        kinds += [FOLLOW_GPS_WAYPOINTS]
    if offers("nav2_msgs.action", "DockRobot", "UndockRobot"):
        from fleet_sim.warehouse.nav2 import behaviors as b

        kinds += [b.FOLLOW_PATH, b.SPIN, b.BACK_UP, b.DRIVE_ON_HEADING, b.ASSISTED_TELEOP]
        kinds += [b.WAIT, b.DOCK_ROBOT, b.UNDOCK_ROBOT]
    return {kind.name: kind for kind in kinds}


def _destroy(servers: list[Any]) -> None:
    for server in servers:
        server.destroy()
