"""What Nav2's topics and actions say: time left by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")

from heard_node import HeardNode, heard_node, stamp_of
from nav2_msgs.action import BackUp, NavigateThroughPoses, NavigateToPose, Spin
from plain_geometry import matrix, vector, yawed
from ros_domain import use_own_domain

from fleet_sim.warehouse.sites import Grid, Site, write_site

use_own_domain()

CELL, RADIUS = 0.1, 0.23
START, YAW, GOAL = (2.13, 2.34, 0.15), 0.7, (6.4, 8.1)
LIMITS = {"max_linear_vel": 1.3, "max_angular_vel": 1.1}
ROOM = (3, 76, 4, 96)
"""Lines of the grid that are free: from and to in x, then in y."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: Any) -> Iterator[HeardNode]:
    folder: Path = tmp_path_factory.mktemp("nav2")
    free = np.zeros((100, 80), bool)
    free[ROOM[2] : ROOM[3], ROOM[0] : ROOM[1]] = True
    write_site(Site("hall", Grid(free, CELL)), folder / "hall.yaml")
    scenario = {
        "simulation": {"gui": False, "timestep": 0.05, "ignore_static_collision": False},
        "site": "hall.yaml",
        "robots": [
            {"name": "robot", "pose": [*START, YAW], "controller": {"type": "differential", **LIMITS}}
            | {"shape": {"shape_type": "cylinder", "radius": RADIUS, "height": 0.3}}
        ],
        "ros": {
            "nav2": {"enabled": True, "maps": 20.0, "amcl_pose": 20.0},
            "map_resolution": CELL,
            "rates": {"feedback": None, "clock": None, "plan": None},
        },
    }
    with heard_node(folder, scenario) as heard:
        heard.step(2)
        yield heard


@holds(
    *(f"ros:nav2_msgs/NavigateToPose_Feedback.{field}" for field in ("distance_remaining", "navigation_time.*")),
    *(f"ros:nav2_msgs/NavigateToPose_Feedback.{field}" for field in ("estimated_time_remaining.*", "current_pose.*")),
    fault="warehouse/nav2/navigate.py: the way that was driven is 1.02 times as long",
)
def test_the_time_left_is_the_rest_at_the_mean_speed_until_now(node: HeardNode) -> None:
    goal = NavigateToPose.Goal()
    goal.pose.pose.position.x, goal.pose.pose.position.y = GOAL
    begin = node.sim.sim_time
    outcome = node.send_goal(NavigateToPose, "/robot/navigate_to_pose", goal)
    assert outcome.result is not None and outcome.result.error_code == 0
    assert outcome.feedback[0].distance_remaining == pytest.approx(math.dist(START[:2], GOAL), rel=0.03)
    check_times(node, outcome, begin)
    assert node.sim.get_object("robot").position[:2] == pytest.approx(GOAL, abs=1e-6)


def check_times(node: HeardNode, outcome: Any, begin: float) -> None:
    """Check times, poses and the rest of the way in feedback of navigation."""
    seen, whole = 0, outcome.feedback[0].distance_remaining
    last = node.sim.get_object("robot").position[:2]
    node.check_poses("robot", outcome.feedback, field="current_pose")
    for told in outcome.feedback:
        stamp = told.current_pose.header.stamp
        time = stamp.sec + stamp.nanosec * 1e-9 - begin
        spent = told.navigation_time.sec + told.navigation_time.nanosec * 1e-9
        assert spent == pytest.approx(time, abs=0.11)
        rest = told.estimated_time_remaining.sec + told.estimated_time_remaining.nanosec * 1e-9
        driven = whole - told.distance_remaining
        if driven > 0.5:
            assert rest == pytest.approx(told.distance_remaining * spent / driven, rel=2e-3, abs=1e-3)
            place = vector(told.current_pose.pose.position)
            assert told.distance_remaining >= math.dist(place[:2], last) - 1e-6
            seen += 1
    assert seen > 20


@holds(
    *(f"ros:nav2_msgs/NavigateThroughPoses_Feedback.{field}" for field in ("distance_remaining", "navigation_time.*")),
    *(
        f"ros:nav2_msgs/NavigateThroughPoses_Feedback.{field}"
        for field in ("estimated_time_remaining.*", "current_pose.*")
    ),
    "ros:nav2_msgs/NavigateThroughPoses_Feedback.number_of_poses_remaining",
    fault="warehouse/nav2/navigate.py: one pose more",
)
def test_poses_are_counted_down(node: HeardNode) -> None:
    goal = NavigateThroughPoses.Goal()
    poses = []
    for x, y in ((5.2, 6.9), (4.1, 6.2), (3.3, 4.4)):
        stamped = NavigateToPose.Goal().pose
        stamped.pose.position.x, stamped.pose.position.y = x, y
        poses.append(stamped)
    # Later versions of Nav2 have the list in a message of its own.
    if hasattr(goal.poses, "goals"):
        goal.poses.goals = poses
    else:
        goal.poses = poses
    begin = node.sim.sim_time
    outcome = node.send_goal(NavigateThroughPoses, "/robot/navigate_through_poses", goal)
    check_times(node, outcome, begin)
    counts = [told.number_of_poses_remaining for told in outcome.feedback]
    assert outcome.result.error_code == 0 and sorted(set(counts)) == [1, 2, 3]
    assert counts == sorted(counts, reverse=True)
    for told in outcome.feedback:
        place = vector(told.current_pose.pose.position)[:2]
        if math.dist(place, (5.2, 6.9)) < 0.3 and told.number_of_poses_remaining == 3:
            break
    else:
        raise AssertionError("the first pose was counted as reached before the robot came near")


@holds(
    "ros:nav2_msgs/Spin_Feedback.angular_distance_traveled",
    "ros:nav2_msgs/BackUp_Feedback.distance_traveled",
    fault="warehouse/nav2/behaviors.py: the angle is 1.02 times as large",
)
def test_turning_and_backing_up_tell_how_far_they_came(node: HeardNode) -> None:
    robot = node.sim.get_object("robot")
    before = matrix(robot.get_pose().orientation)
    outcome = node.send_goal(Spin, "/robot/spin", Spin.Goal(target_yaw=1.23))
    assert matrix(robot.get_pose().orientation) == pytest.approx(before @ yawed(1.23), abs=1e-6)
    told = [one.angular_distance_traveled for one in outcome.feedback]
    assert told == sorted(told) and 1.1 < told[-1] < 1.25
    # At a constant rate in between, one step apart.
    steps = np.diff(told)
    assert np.median(steps) == pytest.approx(0.05 * 1.0, rel=1e-2)
    start = np.array(robot.position)
    goal = BackUp.Goal(speed=0.4)
    goal.target.x = -0.37
    outcome = node.send_goal(BackUp, "/robot/backup", goal)
    assert np.array(robot.position) == pytest.approx(
        start - 0.37 * matrix(robot.get_pose().orientation)[:, 0], abs=1e-6
    )
    assert abs(outcome.feedback[-1].distance_traveled) == pytest.approx(0.37, abs=0.03)


@holds(
    *(f"ros:geometry_msgs/PoseWithCovarianceStamped.pose.pose.position.{axis}" for axis in "xyz"),
    *(f"ros:geometry_msgs/PoseWithCovarianceStamped.pose.pose.orientation.{axis}" for axis in "xyzw"),
    *(f"ros:geometry_msgs/PoseWithCovarianceStamped.header.stamp.{part}" for part in ("sec", "nanosec")),
    fault="warehouse/nav2/topics.py: height below the floor",
)
def test_amcl_pose_is_where_the_robot_is(node: HeardNode) -> None:
    node.step(2)
    message, robot = node.heard["/robot/amcl_pose"][-1], node.sim.get_object("robot")
    assert stamp_of(message) == round(node.sim.sim_time * 1e9)
    assert vector(message.pose.pose.position) == pytest.approx(robot.position, abs=1e-9)
    assert matrix(message.pose.pose.orientation) == pytest.approx(matrix(robot.get_pose().orientation), abs=1e-9)
