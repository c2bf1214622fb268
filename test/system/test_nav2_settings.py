"""Every setting of Nav2 counts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav2_fleet import SCENARIO, Navigator, hall
from node_program import LATCHED, running

from fleet_sim.warehouse.sites import write_site


def other_settings(folder: Path) -> Path:
    """Write a scenario of one robot, with another value than its default for every setting of Nav2."""
    write_site(hall(), folder / "hall.yaml")
    settings = {
        **{"enabled": True, "initial_pose": "place", "amcl_pose": 0.1, "maps": 0.1},
        **{"staging": 0.3, "turn_speed": 0.5},
    }
    robot_entry = {**SCENARIO["robots"][0], "grid": {"count": 1}}  # type: ignore[index]
    content = {**SCENARIO, "robots": [robot_entry], "ros": {"nav2": settings, "robot_diagnostics": True}}
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
    with running(tmp_path / "node.log", "-p", f"config:={other_settings(tmp_path)}") as (_, client):
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
        assert poses[-1].pose.pose.position.z == pytest.approx(0.15)
        _, result = robot.send("Spin", "spin", target_yaw=3.0).result()
        assert result.total_elapsed_time.sec >= 6
        robot.send("Spin", "spin", target_yaw=-3.0).result()
        assert robot.send("UndockRobot", "undock_robot").result()[0] == GoalStatus.STATUS_SUCCEEDED
        before = len(poses)
        client.until(lambda: len(poses) >= before + 2, "poses")
        # Backed out by the distance of staging.
        assert poses[-1].pose.pose.position.x == pytest.approx(9.7, abs=5e-3)
        # Of latched topics a slow reader may miss one, so it may be twice that.
        assert gap(poses) >= 9.9 and math.remainder(gap(poses), 10.0) == pytest.approx(0.0, abs=0.1)
