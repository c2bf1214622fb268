"""Robots of a site drive around its walls for ROS 2 clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from action_msgs.msg import GoalStatus
from buildings import gap, office, scenario
from nav_msgs.msg import Odometry
from node_program import Running, running

from fleet_sim_msgs.action import MoveTo
from fleet_sim_msgs.msg import Cause

SITE = office((0.0, 0.0, 0.0))
BEGIN, END = (1.5, 15.5), (20.0, 4.0)
"""Places in two rooms at opposite corners of the office."""
RADIUS = 0.4049


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Running]:
    robot = {"name": "amr", "urdf_path": "diff_base", "pose": [*BEGIN, 0.0], "max_linear_vel": 2.0}
    path = scenario(tmp_path, SITE, [robot], simulation={"target_rtf": 10.0}, ros={"per_robot": ["amr"]})
    with running(tmp_path / "node.log", "-p", f"config:={path}") as both:
        yield both


@pytest.mark.slow
def test_move_to_takes_a_route_where_it_is_asked_to(fleet: Running) -> None:
    _, client = fleet
    odoms = client.listen(Odometry, "/amr/odom")
    goal = MoveTo.Goal(route=True)
    goal.pose.pose.position.x, goal.pose.pose.position.y = END
    sent = client.send_goal(MoveTo, "/amr/move_to", goal)
    status, result = sent.result()
    assert (status, result.text, result.cause) == (GoalStatus.STATUS_SUCCEEDED, "", Cause.NONE)
    points = [(odom.pose.pose.position.x, odom.pose.pose.position.y) for odom in odoms]
    assert points[-1] == pytest.approx(END, abs=0.05)
    assert min(gap(SITE, point) for point in points) >= RADIUS + 0.02 - 1e-6
    left = [entry.distance_left for entry in sent.feedback]
    assert left[0] > 20.0
    assert left == sorted(left, reverse=True)


def test_a_goal_in_a_wall_is_aborted_with_the_reason(fleet: Running) -> None:
    _, client = fleet
    goal = MoveTo.Goal(route=True)
    goal.pose.pose.position.x, goal.pose.pose.position.y = 7.5, 12.5
    status, result = client.send_goal(MoveTo, "/amr/move_to", goal).result()
    assert (status, result.cause) == (GoalStatus.STATUS_ABORTED, Cause.INVALID_GOAL)
    assert result.text == "the goal (7.5, 12.5) is in a wall"


@pytest.mark.slow
def test_nav2_clients_always_get_a_route(fleet: Running) -> None:
    nav2 = pytest.importorskip("nav2_msgs.action")
    _, client = fleet
    odoms = client.listen(Odometry, "/amr/odom")
    goal = nav2.NavigateToPose.Goal()
    goal.pose.header.frame_id = "map"
    goal.pose.pose.position.x, goal.pose.pose.position.y = END
    status, _ = client.send_goal(nav2.NavigateToPose, "/amr/navigate_to_pose", goal).result()
    assert status == GoalStatus.STATUS_SUCCEEDED
    points = [(odom.pose.pose.position.x, odom.pose.pose.position.y) for odom in odoms]
    assert min(gap(SITE, point) for point in points) >= RADIUS + 0.02 - 1e-6
