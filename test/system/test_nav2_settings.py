"""Every setting of Nav2 counts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped, TwistStamped
from nav2_fleet import SCENARIO, Navigator, action, hall, srv
from nav_msgs.msg import OccupancyGrid, Odometry
from node_program import LATCHED, Client, NodeProcess, running

from fleet_sim.warehouse.sites import write_site


def other_settings(folder: Path) -> Path:
    """Write a scenario of one robot, with another value than its default for every setting of Nav2."""
    write_site(hall(), folder / "hall.yaml")
    settings = {
        **{"enabled": True, "initial_pose": "place", "amcl_pose": 0.1, "costmaps": 0.1, "local_size": 5.0},
        **{"inflation": 0.0, "staging": 0.3, "turn_speed": 0.5},
    }
    robot_entry = {**SCENARIO["robots"][0], "grid": {"count": 1}}  # type: ignore[index]
    content = {
        **SCENARIO,
        "robots": [robot_entry],
        "ros": {"nav2": settings, "robot_diagnostics": True, "cmd_vel_type": "twist_stamped"},
    }
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def gap(messages: list[Any]) -> float:
    """Return the seconds between the last two messages."""
    first, last = (one.header.stamp.sec + one.header.stamp.nanosec * 1e-9 for one in messages[-2:])
    return last - first


@pytest.mark.slow
def test_the_settings_of_nav2_count(tmp_path: Path) -> None:
    """Every setting with another value than in test_nav2.py, where all have their defaults."""
    with running(tmp_path / "node.log", "-p", f"config:={other_settings(tmp_path)}") as (node, client):
        robot = Navigator(client, "robot_0")
        told = client.listen(DiagnosticArray, "/diagnostics")
        client.until(lambda: any(len(one.status) > 1 for one in told), "a status of the robot")
        own = next(one for one in told[-1].status if one.hardware_id == "robot_0")
        assert {one.key for one in own.values} == {"mode", "action", "speed", "battery"}
        poses = client.listen(PoseWithCovarianceStamped, "/robot_0/amcl_pose", LATCHED)
        initial = PoseWithCovarianceStamped()
        initial.pose.pose.position.x, initial.pose.pose.position.y = 10.0, 5.0
        client.publisher(PoseWithCovarianceStamped, "/robot_0/initialpose").publish(initial)
        client.until(lambda: poses and poses[-1].pose.pose.position.x == 10.0, "the robot at its place")
        position = poses[-1].pose.pose.position
        assert (position.y, position.z) == pytest.approx((5.0, 0.15))
        local = robot.call(srv.GetCostmap, "local_costmap/get_costmap").map
        assert local.metadata.size_x * local.metadata.resolution == pytest.approx(5.0)
        assert set(bytes(robot.call(srv.GetCostmap, "global_costmap/get_costmap").map.data)) == {0, 253, 254}
        shown = client.listen(OccupancyGrid, "/robot_0/local_costmap/costmap", LATCHED)
        _, result = robot.send("Spin", "spin", target_yaw=3.0).result()
        assert result.total_elapsed_time.sec >= 6
        robot.send("Spin", "spin", target_yaw=-3.0).result()
        assert robot.send("UndockRobot", "undock_robot").result()[0] == GoalStatus.STATUS_SUCCEEDED
        drive_by_stamped_velocities(node, client)
        before = len(poses)
        client.until(lambda: len(poses) >= before + 2 and len(shown) >= 2, "poses and costmaps")
        # Backed out by the distance of staging.
        assert poses[-1].pose.pose.position.x == pytest.approx(9.7, abs=5e-3)
        # Of latched topics a slow reader may miss one, so it may be twice that.
        for messages in (poses, shown):
            assert gap(messages) >= 9.9 and math.remainder(gap(messages), 10.0) == pytest.approx(0.0, abs=0.1)


def drive_by_stamped_velocities(node: NodeProcess, client: Client) -> None:
    """Velocities have headers here; one in another frame than the robot's drives nothing."""
    goal = action.AssistedTeleop.Goal()
    goal.time_allowance.sec = 2
    sent = client.send_goal(action.AssistedTeleop, "/robot_0/assisted_teleop", goal)
    velocities = client.publisher(TwistStamped, "/robot_0/cmd_vel_teleop")
    velocity = TwistStamped()
    velocity.twist.linear.x = 1.0
    velocity.header.frame_id = "moon"
    velocities.publish(velocity)
    sent.result()
    client.until(lambda: "cmd_vel_teleop: refused: frame 'moon'" in node.output(), "the reason")
    odom = client.listen(Odometry, "/robot_0/odom")
    goal.time_allowance.sec = 0
    sent = client.send_goal(action.AssistedTeleop, "/robot_0/assisted_teleop", goal)
    velocity.header.frame_id, velocity.twist.linear.x = "robot_0/base_link", 0.0
    velocity.twist.angular.z = 1.0
    velocities.publish(velocity)
    client.until(lambda: odom and odom[-1].twist.twist.angular.z > 0.9, "a turn")
    sent.cancel()
