"""The kinds of Nav2's actions, of those whose definitions are installed."""

from __future__ import annotations

from fleet_sim.ros.action_kinds import offers
from fleet_sim.ros.actions import ActionKind


def nav2_actions() -> dict[str, ActionKind]:
    """Return kinds by name; older versions of nav2_msgs define fewer."""
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
