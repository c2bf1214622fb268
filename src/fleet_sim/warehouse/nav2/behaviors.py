"""follow_path, spin, backup, drive_on_heading, wait, dock_robot and undock_robot, compatible with Nav2."""

from __future__ import annotations

from functools import partial
from typing import Any

from nav2_msgs.action import AssistedTeleop, BackUp, DockRobot, DriveOnHeading, FollowPath, Spin, UndockRobot, Wait

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.geometry import Path, Pose
from fleet_sim.base.spatial.trigonometry import sin_cos_of
from fleet_sim.robots.actions.action import Action
from fleet_sim.robots.actions.drive import TourAction
from fleet_sim.robots.actions.follow import DriveByAction, FollowAction, TeleopAction, TurnAction
from fleet_sim.robots.actions.follow import Wait as WaitAction
from fleet_sim.ros.actions import ActionKind, GoalOutcome, GoalReader, Progress
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.messages import duration_from_msg, duration_to_msg
from fleet_sim.warehouse.battery.battery import SetCharging
from fleet_sim.warehouse.nav2.navigate import check_plugin, goals_of, navigation_kind, timed, told
from fleet_sim.world.columns import FeatureColumns
from fleet_sim_msgs.msg import Cause

DOCK_SPEED = 0.5
"""In m/s, out of a dock."""
DOCK_TYPE = "simple"
MOVES = {
    Cause.UNKNOWN_FRAME: "TF_ERROR",
    Cause.TIMEOUT: "TIMEOUT",
    Cause.INVALID_GOAL: "INVALID_INPUT",
    Cause.UNREACHABLE: "COLLISION_AHEAD",
    Cause.BLOCKED: "COLLISION_AHEAD",
}
PATHS = {
    Cause.UNKNOWN_FRAME: "TF_ERROR",
    Cause.INVALID_GOAL: "INVALID_PATH",
    Cause.UNREACHABLE: "FAILED_TO_MAKE_PROGRESS",
    Cause.BLOCKED: "FAILED_TO_MAKE_PROGRESS",
    Cause.TIMEOUT: "CONTROLLER_TIMED_OUT",
}
DOCKS = {
    Cause.UNKNOWN_FRAME: "DOCK_NOT_VALID",
    Cause.INVALID_GOAL: "DOCK_NOT_IN_DB",
    Cause.UNREACHABLE: "FAILED_TO_STAGE",
    Cause.BLOCKED: "FAILED_TO_STAGE",
    Cause.TIMEOUT: "FAILED_TO_CONTROL",
}


def _allowance(goal: Any) -> float | None:
    """Return the time that a behaviour may take in s; None for no limit."""
    seconds = duration_from_msg(goal.time_allowance)
    if seconds < 0.0:
        raise InvalidValueError(f"time_allowance: at least 0 s, got {seconds:g}")
    return seconds or None


# ---- paths -----------------------------------------------------------------------------------------------------------


def _path(goal: Any, reader: GoalReader) -> Action:
    """Return the action of follow_path, which drives exactly along the path."""
    check_plugin(goal.controller_id, "FollowPath", "controller_id")
    check_plugin(goal.goal_checker_id, "general_goal_checker", "goal_checker_id")
    poses = []
    for stamped in goals_of(goal.path.poses):
        # Poses without a frame are in that of the path.
        stamped.header.frame_id = stamped.header.frame_id or goal.path.header.frame_id
        poses.append(reader.pose(stamped))
    return FollowAction(Path(poses), keep_height=True)


def _path_feedback(progress: Progress) -> Any:
    return FollowPath.Feedback(distance_to_goal=progress.distance_left, speed=progress.speed)


# ---- behaviours ------------------------------------------------------------------------------------------------------


def _spin(goal: Any, reader: GoalReader) -> Action:
    return TurnAction(goal.target_yaw, reader.params.nav2.turn_speed, timeout=_allowance(goal))


def _back_up(goal: Any, reader: GoalReader) -> Action:
    # Nav2 takes the amounts of both: a robot backs up by a distance, whatever their signs.
    target = (-abs(goal.target.x), goal.target.y, goal.target.z)
    return DriveByAction(target, -abs(goal.speed), timeout=_allowance(goal))


def _drive(goal: Any, reader: GoalReader) -> Action:
    return DriveByAction((goal.target.x, goal.target.y, goal.target.z), goal.speed, timeout=_allowance(goal))


def _wait(goal: Any, reader: GoalReader) -> Action:
    return WaitAction(duration_from_msg(goal.time))


def _teleop(goal: Any, reader: GoalReader) -> Action:
    return TeleopAction(timeout=_allowance(goal))


def _moved(kind: Any) -> Any:
    """Return the writer of results of a behaviour."""
    return lambda outcome: timed(told(kind.Result(), outcome, MOVES), outcome)


def _wait_feedback(progress: Progress) -> Any:
    action = progress.action
    assert isinstance(action, WaitAction)
    return Wait.Feedback(time_left=duration_to_msg(max(action.duration - progress.duration, 0.0)))


# ---- docks -----------------------------------------------------------------------------------------------------------


def _dock(goal: Any, reader: GoalReader) -> Action:
    """Return the action of dock_robot: to a place in front of the dock, then straight into it."""
    check_plugin(goal.dock_type, DOCK_TYPE, "dock_type")
    dock = reader.station(goal.dock_id) if goal.use_dock_id else reader.pose(goal.dock_pose)
    away = reader.params.nav2.staging
    sine, cosine = sin_cos_of(dock.yaw)
    staging = Pose.from_euler(dock.x - away * cosine, dock.y - away * sine, dock.z, 0.0, 0.0, dock.yaw)
    places = [staging, dock] if goal.navigate_to_staging_pose and away else [dock]
    return TourAction(
        Path(places),
        route=reader.has_routes,
        keep_height=True,
        straight_last=len(places) == 2 or not goal.navigate_to_staging_pose,
        timeout=float(goal.max_staging_time) or None,
    )


def _dock_feedback(progress: Progress) -> Any:
    kind = DockRobot.Feedback
    action = progress.action
    staging = isinstance(action, TourAction) and action.index < len(action.path) - 1
    return kind(
        state=kind.NAV_TO_STAGING_POSE if staging else kind.CONTROLLING, docking_time=duration_to_msg(progress.duration)
    )


def _docked(kind: Any, names: Any) -> Any:
    def result(outcome: GoalOutcome) -> Any:
        message = told(kind.Result(), outcome, names)
        message.success = outcome.success
        return message

    return result


def _undock(goal: Any, reader: GoalReader) -> Action:
    check_plugin(goal.dock_type, DOCK_TYPE, "dock_type")
    return DriveByAction(
        (-(reader.params.nav2.staging or 0.1), 0.0, 0.0), -DOCK_SPEED, timeout=float(goal.max_undocking_time) or None
    )


def charge(bridge: Bridge, robot: str, *, charging: bool) -> None:
    """Connect the battery of a robot, if it has one, to its charger, or disconnect it."""

    def look() -> None:
        world = bridge.sim.world
        table = world.tables.get("battery")
        # Robots without a battery dock and undock all the same; a command for them would be refused.
        if isinstance(table, FeatureColumns) and table.present[world.index.row_named(robot)]:
            bridge.gateway.send(lambda: SetCharging(names=(robot,), charging=charging, source="dock_robot"))

    # Which robots have a battery may be read between two steps only.
    bridge.gateway.between_steps(look)


def _driven(name: str, kind: Any, build: Any) -> ActionKind:
    """Return a kind that drives in a straight line, and tells how far it is."""
    return navigation_kind(
        name,
        kind,
        build,
        _moved(kind),
        lambda progress: kind.Feedback(distance_traveled=float(progress.details["done"])),
    )


FOLLOW_PATH = navigation_kind(
    "follow_path", FollowPath, _path, lambda outcome: told(FollowPath.Result(), outcome, PATHS), _path_feedback
)
SPIN = navigation_kind(
    "spin",
    Spin,
    _spin,
    _moved(Spin),
    lambda progress: Spin.Feedback(angular_distance_traveled=float(progress.details["done"])),
)
BACK_UP = _driven("backup", BackUp, _back_up)
DRIVE_ON_HEADING = _driven("drive_on_heading", DriveOnHeading, _drive)
ASSISTED_TELEOP = navigation_kind(
    "assisted_teleop",
    AssistedTeleop,
    _teleop,
    _moved(AssistedTeleop),
    lambda progress: AssistedTeleop.Feedback(current_teleop_duration=duration_to_msg(progress.duration)),
)
WAIT = navigation_kind("wait", Wait, _wait, _moved(Wait), _wait_feedback)
DOCK_ROBOT = navigation_kind(
    "dock_robot", DockRobot, _dock, _docked(DockRobot, DOCKS), _dock_feedback, partial(charge, charging=True)
)
UNDOCK_ROBOT = navigation_kind(
    "undock_robot",
    UndockRobot,
    _undock,
    _docked(UndockRobot, {Cause.TIMEOUT: "FAILED_TO_CONTROL", Cause.UNREACHABLE: "FAILED_TO_CONTROL"}),
    lambda progress: UndockRobot.Feedback(),
    partial(charge, charging=False),
)
