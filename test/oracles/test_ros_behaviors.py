"""What behaviors of Nav2 and joint trajectories tell on the way: ways by positions, times by counting steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("control_msgs")

from control_msgs.action import FollowJointTrajectory
from geometry_msgs.msg import PoseStamped
from heard_node import HeardNode, heard_node
from nav2_msgs.action import (
    AssistedTeleop,
    BackUp,
    DockRobot,
    DriveOnHeading,
    FollowPath,
    FollowWaypoints,
    Spin,
    UndockRobot,
    Wait,
)
from ros_domain import use_own_domain
from trajectory_msgs.msg import JointTrajectoryPoint

import fleet_sim as fs
from fleet_sim.warehouse.sites import Grid, Site, Station, StationKind, write_site

use_own_domain()

pytestmark = pytest.mark.slow

HOME = (3.13, 4.34, 0.15)
STAGING = 0.65
DT = 0.05


@pytest.fixture(scope="module")
def node(tmp_path_factory: Any) -> Iterator[HeardNode]:
    folder: Path = tmp_path_factory.mktemp("behaviors")
    free = np.zeros((90, 110), bool)
    free[3:86, 3:106] = True
    # Lines of a grid count from its top, as those of a picture do.
    free[20:40, 60:70] = False
    stations = (Station("dock", StationKind.CHARGE, 8.0, 7.0, 0.7),)
    write_site(Site("hall", Grid(free, 0.1), stations=stations), folder / "hall.yaml")
    robot = {"name": "robot", "pose": [*HOME, 0.7], "shape": {"shape_type": "cylinder", "radius": 0.2, "height": 0.3}}
    robot["controller"] = {"type": "differential", "max_linear_vel": 1.3, "max_angular_vel": 1.7}
    arm = {"name": "arm", "urdf_path": "arm_robot", "pose": [30.0, 9.0, 0.0], "use_fixed_base": True}
    scenario = {
        "simulation": {"gui": False, "timestep": DT, "ignore_static_collision": False},
        "site": "hall.yaml",
        "robots": [robot, arm],
        "ros": {
            "nav2": {"enabled": True, "staging": STAGING},
            "groups": ["actions"],
            "rates": {"feedback": None, "clock": None},
        },
    }
    with heard_node(folder, scenario) as heard:
        heard.step(2)
        yield heard


@pytest.fixture
def robot(node: HeardNode) -> Any:
    """The robot at its first place, at rest."""
    robot = node.sim.get_object("robot")
    robot.stop()
    robot.set_pose(fs.Pose.from_euler(*HOME, 0.0, 0.0, 0.7), preserve_velocity=False)
    node.step()
    return robot


def seconds(time: Any) -> float:
    return float(time.sec + time.nanosec * 1e-9)


def stamped(x: float, y: float) -> PoseStamped:
    made = PoseStamped()
    made.header.frame_id = "map"
    made.pose.position.x, made.pose.position.y = x, y
    return made


def track(node: HeardNode) -> Any:
    """Return where the robot was in all steps, (N, 3)."""
    return np.array([poses["robot"].position for poses in node.poses.values()])


@pytest.mark.parametrize("kind", [DriveOnHeading, BackUp])
@holds(
    *(f"ros:nav2_msgs/{kind}_Feedback.distance_traveled" for kind in ("DriveOnHeading", "BackUp")),
    *(f"ros:nav2_msgs/{kind}.total_elapsed_time.*" for kind in ("DriveOnHeading", "BackUp")),
    fault="warehouse/nav2/behaviors.py: 1.02 times the way",
)
def test_ways_are_those_that_the_robot_came(node: HeardNode, robot: Any, kind: Any) -> None:
    sign, start = (1.0 if kind is DriveOnHeading else -1.0), np.array(robot.position)
    known = len(node.poses)
    goal = kind.Goal(speed=sign * 0.4 if kind is BackUp else 0.4)
    goal.target.x = sign * 0.53
    goal.time_allowance.sec = 20
    outcome = node.send_goal(kind, "/robot/backup" if kind is BackUp else "/robot/drive_on_heading", goal)
    ways = np.linalg.norm(track(node)[known - 1 :] - start, axis=1)
    assert len(outcome.feedback) > 20
    for told in outcome.feedback:
        assert np.abs(ways - abs(told.distance_traveled)).min() < 1e-6
    assert ways[-1] == pytest.approx(0.53, abs=1e-6)
    assert seconds(outcome.result.total_elapsed_time) == pytest.approx(len(outcome.feedback) * DT, abs=2.1 * DT)


@holds(
    "ros:nav2_msgs/Wait_Feedback.time_left.*",
    "ros:nav2_msgs/AssistedTeleop_Feedback.current_teleop_duration.*",
    *(f"ros:nav2_msgs/{kind}.total_elapsed_time.*" for kind in ("Wait", "AssistedTeleop", "Spin")),
    fault="warehouse/nav2/behaviors.py: the time that has passed in place of what is left",
)
def test_times_are_counted_in_steps(node: HeardNode, robot: Any) -> None:
    wait = Wait.Goal()
    wait.time.sec, wait.time.nanosec = 1, 250_000_000
    outcome = node.send_goal(Wait, "/robot/wait", wait)
    left = [seconds(told.time_left) for told in outcome.feedback]
    assert np.diff(left) == pytest.approx(np.full(len(left) - 1, -DT), abs=1e-6)
    assert left[0] == pytest.approx(1.25, abs=1.1 * DT) and len(left) > 20
    assert seconds(outcome.result.total_elapsed_time) == pytest.approx(1.25, abs=1e-6)
    teleop = AssistedTeleop.Goal()
    teleop.time_allowance.sec = 1
    outcome = node.send_goal(AssistedTeleop, "/robot/assisted_teleop", teleop)
    passed = [seconds(told.current_teleop_duration) for told in outcome.feedback]
    assert np.diff(passed) == pytest.approx(np.full(len(passed) - 1, DT), abs=1e-6) and passed[0] <= 1.1 * DT
    assert seconds(outcome.result.total_elapsed_time) == pytest.approx(1.0, abs=1.1 * DT)
    outcome = node.send_goal(Spin, "/robot/spin", Spin.Goal(target_yaw=-0.9))
    assert seconds(outcome.result.total_elapsed_time) == pytest.approx(len(outcome.feedback) * DT, abs=2.1 * DT)


@holds(
    *(f"ros:nav2_msgs/FollowPath_Feedback.{field}" for field in ("distance_to_goal", "speed")),
    fault="warehouse/nav2/behaviors.py: twice the speed",
)
def test_a_path_has_a_rest_and_a_speed(node: HeardNode, robot: Any) -> None:
    corners = [(4.0, 5.1), (4.9, 5.2), (5.3, 6.3)]
    goal = FollowPath.Goal()
    goal.path.header.frame_id = "map"
    goal.path.poses = [stamped(*corner) for corner in corners]
    known = len(node.poses)
    outcome = node.send_goal(FollowPath, "/robot/follow_path", goal)
    places = track(node)[known - 1 :]
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) / DT
    rests = np.linalg.norm(places[:, :2] - corners[-1], axis=1)
    fast = [told for told in outcome.feedback if told.speed > 0.3]
    assert len(fast) > 10
    for told in fast:
        # A step's mean speed is at most an acceleration of 5 m/s2 away from the one at its end.
        assert np.abs(speeds - told.speed).min() < 0.5 * 5.0 * DT + 1e-6
        assert told.distance_to_goal >= rests.min() - 1e-6
    # On the last piece, which is straight, it is the distance itself.
    last = [told.distance_to_goal for told in outcome.feedback if 0.0 < told.distance_to_goal < 0.9]
    assert len(last) > 5 and all(np.abs(rests - rest).min() < 1e-4 for rest in last)
    assert max(told.speed for told in fast) == pytest.approx(speeds.max(), abs=0.02)


@holds(
    "ros:nav2_msgs/FollowWaypoints_Feedback.current_waypoint",
    "ros:nav2_msgs/FollowWaypoints.missed_waypoints.index",
    fault="warehouse/nav2/navigate.py: the number of the next waypoint",
)
@pytest.mark.parametrize(("first", "loops"), [(0, 0), (2, 1)])
def test_waypoints_are_counted_and_those_in_walls_missed(node: HeardNode, robot: Any, first: int, loops: int) -> None:
    poses = [stamped(3.6, 5.0), stamped(6.5, 6.0), stamped(4.4, 5.4)]
    goal = FollowWaypoints.Goal(goal_index=first, number_of_loops=loops)
    if hasattr(goal.poses, "goals"):
        goal.poses.goals = poses
    else:
        goal.poses = poses
    known = len(node.poses)
    outcome = node.send_goal(FollowWaypoints, "/robot/follow_waypoints", goal)
    counted = [told.current_waypoint for told in outcome.feedback]
    # In turn, without the one in the wall.
    turns = [number for number, _ in groupby(number for number in counted if number != 1)]
    assert turns == ([2, 0, 2] if loops else [0, 2]) and set(counted) <= {0, 1, 2}
    assert [missed.index for missed in outcome.result.missed_waypoints] == [1]
    places = track(node)[known:, :2]
    for x, y in ((3.6, 5.0), (4.4, 5.4)):
        assert np.linalg.norm(places - [x, y], axis=1).min() < 0.05


@holds(
    *(f"ros:nav2_msgs/DockRobot_Feedback.{field}" for field in ("docking_time.*", "state")),
    *(f"ros:nav2_msgs/{kind}.success" for kind in ("DockRobot", "UndockRobot")),
    fault="warehouse/nav2/behaviors.py: twice the time; x in place of y in front of the dock",
)
def test_docking_takes_the_robot_to_its_dock_and_counts_the_time(node: HeardNode, robot: Any) -> None:
    known = len(node.poses)
    goal = DockRobot.Goal(dock_id="dock", use_dock_id=True, navigate_to_staging_pose=True)
    outcome = node.send_goal(DockRobot, "/robot/dock_robot", goal)
    assert outcome.result.success
    assert robot.position[:2] == pytest.approx([8.0, 7.0], abs=0.02)
    # Over the place in front of the dock.
    staging = 8.0 - STAGING * math.cos(0.7), 7.0 - STAGING * math.sin(0.7)
    assert np.linalg.norm(track(node)[known:, :2] - staging, axis=1).min() < 0.05
    times = [seconds(told.docking_time) for told in outcome.feedback]
    assert np.diff(times) == pytest.approx(np.full(len(times) - 1, DT), abs=1e-6) and times[0] <= 2.1 * DT
    states = [told.state for told in outcome.feedback]
    assert states == sorted(states)
    names = DockRobot.Feedback
    assert set(states) <= {
        names.NAV_TO_STAGING_POSE,
        names.INITIAL_PERCEPTION,
        names.CONTROLLING,
        names.WAIT_FOR_CHARGE,
    }
    assert node.send_goal(UndockRobot, "/robot/undock_robot", UndockRobot.Goal(dock_type="")).result.success
    assert math.dist(robot.position[:2], (8.0, 7.0)) > 0.2
    # Without that place it drives straight, where a route leads around a wall.
    robot.set_pose(fs.Pose.from_euler(5.1, 4.9, 0.15, 0.0, 0.0, 0.7), preserve_velocity=False)
    known = len(node.poses)
    goal = DockRobot.Goal(dock_id="dock", use_dock_id=True, navigate_to_staging_pose=False)
    assert node.send_goal(DockRobot, "/robot/dock_robot", goal).result.success
    places = track(node)[known:, :2]
    assert np.abs((places - (8.0, 7.0)) @ (-0.58651, 0.80994)).max() < 0.01


@holds(
    *(f"ros:control_msgs/FollowJointTrajectory_Feedback.{part}.positions" for part in ("desired", "actual", "error")),
    *(f"ros:control_msgs/FollowJointTrajectory_Feedback.{part}.velocities" for part in ("desired", "actual", "error")),
    "ros:control_msgs/FollowJointTrajectory_Feedback.header.stamp.*",
    fault="ros/follow_joint_trajectory.py: errors as actual less desired",
)
def test_a_trajectory_is_followed_point_by_point(node: HeardNode) -> None:
    arm = node.sim.get_object("arm")
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = ["joint_2", "joint_1"]
    ends = [(-0.13, 0.21), (-0.37, 0.29)]
    for index, end in enumerate(ends):
        point = JointTrajectoryPoint(positions=list(end))
        point.time_from_start.sec, point.time_from_start.nanosec = index, 700_000_000
        goal.trajectory.points.append(point)
    name = "/arm/follow_joint_trajectory"
    outcome = node.send_goal(FollowJointTrajectory, name, goal)
    assert outcome.result.error_code == 0 and len(outcome.feedback) > 25
    stamps = np.array([seconds(told.header.stamp) for told in outcome.feedback])
    assert np.diff(stamps) == pytest.approx(np.full(len(stamps) - 1, DT), abs=1e-6)
    # It is at its last point 1.7 s after it began.
    begin = None
    for told in outcome.feedback:
        assert list(told.joint_names) == ["joint_2", "joint_1"]
        desired, actual, error = (np.array(part.positions) for part in (told.desired, told.actual, told.error))
        assert error == pytest.approx(desired - actual, abs=1e-12)
        rates = [np.array(part.velocities) for part in (told.desired, told.actual, told.error)]
        assert rates[2] == pytest.approx(rates[0] - rates[1], abs=1e-12)
        # From the first joint's position follows the time, as lines between points lead to it.
        time = 0.7 * desired[0] / -0.13 if desired[0] >= -0.13 else 0.7 + (desired[0] + 0.13) / -0.24
        second = 0.21 * time / 0.7 if time <= 0.7 else 0.21 + 0.08 * (time - 0.7)
        assert desired[1] == pytest.approx(second, abs=1e-9)
        begin = seconds(told.header.stamp) - time if begin is None else begin
        assert seconds(told.header.stamp) - time == pytest.approx(begin, abs=1e-6)
        assert actual == pytest.approx(desired, abs=2.0 * 0.3 * DT)
    joints = arm.get_joints_state_by_name(["joint_2", "joint_1"])
    assert [joints[one][0] for one in ("joint_2", "joint_1")] == pytest.approx(ends[-1], abs=1e-6)
