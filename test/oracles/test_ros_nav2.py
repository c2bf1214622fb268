"""What Nav2's topics and actions say: time left by hand, the robot in the middle of its costmap, costs by distance."""

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

import fleet_sim as fs
from fleet_sim.warehouse.sites import Grid, Site, write_site

use_own_domain()

CELL, LOCAL, INFLATION, RADIUS = 0.1, 2.5, 0.6, 0.23
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
            "nav2": {"enabled": True, "local_size": LOCAL, "inflation": INFLATION, "costmaps": 20.0, "amcl_pose": 20.0},
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


@holds(
    *(f"ros:nav2_msgs/Costmap.metadata.{field}" for field in ("resolution", "size_x", "size_y")),
    *(f"ros:nav2_msgs/Costmap.metadata.origin.position.{axis}" for axis in "xy"),
    *(f"ros:nav2_msgs/Costmap.{field}" for field in ("data", "header.stamp.sec", "header.stamp.nanosec")),
    *(f"ros:nav_msgs/OccupancyGrid.{field}" for field in ("header.stamp.sec", "header.stamp.nanosec", "info.width")),
    fault="warehouse/nav2/maps.py: the window begins 0.51 of its side before the robot",
)
def test_a_local_costmap_has_the_robot_in_its_middle_and_costs_by_distance(node: HeardNode) -> None:
    robot = node.sim.get_object("robot")
    seen = 0
    for x, y in ((2.137, 2.33), (6.949, 8.811), (3.61, 1.02)):
        robot.set_pose(fs.Pose.from_euler(x, y, START[2], 0.0, 0.0, YAW))
        node.step(2)
        message, shown = (node.heard[f"/robot/local_costmap/{name}"][-1] for name in ("costmap_raw", "costmap"))
        meta = message.metadata
        assert stamp_of(message) == stamp_of(shown) == round(node.sim.sim_time * 1e9)
        assert (meta.size_x, meta.size_y, meta.resolution) == (25, 25, pytest.approx(CELL))
        assert (shown.info.width, shown.info.height, shown.info.resolution) == (25, 25, pytest.approx(CELL))
        origin = np.array([meta.origin.position.x, meta.origin.position.y])
        assert [shown.info.origin.position.x, shown.info.origin.position.y] == origin.tolist()
        # On the cells of the map, so the robot is in the middle one of 25.
        assert np.floor((np.array([x, y]) - origin) / CELL).tolist() in ([12, 12], [12, 13], [13, 12], [13, 13])
        assert np.abs(np.array([x, y]) - (origin + 0.5 * LOCAL)).max() <= 0.5 * CELL + 1e-9
        costs = np.array(message.data).reshape(25, 25)
        line, column = np.mgrid[:25, :25]
        cells = np.round(origin / CELL).astype(int)
        right, up = column + cells[0], line + cells[1]
        # Cells of the wall are those beside the room; a grid of the map has the cells of the site.
        inside = (right >= ROOM[0]) & (right < ROOM[1]) & (up >= ROOM[2]) & (up < ROOM[3])
        assert (costs[~inside & (right >= 0) & (up >= 0) & (right < 80) & (up < 100)] == 254).all()
        gaps = np.minimum(np.minimum(right - ROOM[0] + 1, ROOM[1] - right), np.minimum(up - ROOM[2] + 1, ROOM[3] - up))
        away = CELL * gaps
        clear = inside & (away > INFLATION + 1e-9)
        assert (costs[clear] == 0).all() and clear.any()
        near = inside & (away <= INFLATION - 1e-9) & (away > RADIUS + 1e-9)
        expected = 252.0 * np.exp(-3.0 * (away[near] - RADIUS))
        assert np.abs(costs[near] - expected).max(initial=0.0) <= 1.5
        seen += near.sum()
        assert (costs[inside & (away <= RADIUS)] == 253).all()
        # In RViz: 0 stays, what is inscribed is 99, occupied is 100.
        grid = np.array(shown.data).reshape(25, 25)
        assert (grid[costs == 254] == 100).all() and (grid[costs == 253] == 99).all() and (grid[costs == 0] == 0).all()
        between = (costs > 0) & (costs < 253)
        told = 1 + 97 * (costs[between].astype(float) - 1) / 251
        assert np.abs(grid[between] - told).max(initial=0.0) <= 1.0
    assert seen > 50


@holds("ros:nav2_msgs/Costmap.data", fault="warehouse/nav2/maps.py: the map stays as it was when walls come or go")
def test_a_global_costmap_has_what_stands_there_now(node: HeardNode) -> None:
    half, (x, y) = (0.31, 0.23, 0.5), (5.04, 4.33)
    body = None
    for is_there in (False, True, False):
        if is_there:
            shape = fs.ShapeParams("box", half_extents=half)
            body = node.sim.spawn(
                fs.SimObjectSpawnParams(shape, shape, fs.Pose((x, y, 0.5)), name="pillar", mass=0.0, pickable=False)
            )
        elif body is not None:
            node.sim.remove_object(body)
        node.step(2)
        message = node.heard["/robot/global_costmap/costmap_raw"][-1]
        meta = message.metadata
        costs = np.array(message.data).reshape(meta.size_y, meta.size_x)
        line, column = np.mgrid[: meta.size_y, : meta.size_x]
        right = meta.origin.position.x + (column + 0.5) * meta.resolution - x
        up = meta.origin.position.y + (line + 0.5) * meta.resolution - y
        inside = (np.abs(right) < half[0]) & (np.abs(up) < half[1])
        around = np.hypot(np.abs(right) - half[0], np.abs(up) - half[1]) < 0.5 * RADIUS
        assert inside.sum() > 15 and (costs[inside] == 254).all() == is_there == (costs[around] >= 253).all()
        assert is_there or not costs[inside].any()
