"""Other nodes that are in the way, or gone: a second node of the name, and clients that leave goals behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from node_program import Client, running

from fleet_sim_msgs.action import MoveTo


def goal_of_a_client_that_leaves(robot: str) -> None:
    other = Client("leaves")
    goal = MoveTo.Goal()
    goal.pose.pose.position.x = 1000.0
    goal.pose.pose.orientation.w = 1.0
    assert other.send_goal(MoveTo, f"/{robot}/move_to", goal).handle.accepted
    other.close()


def figures(message: Any) -> dict[str, str]:
    return {value.key: value.value for value in message.status[0].values}


@pytest.mark.slow
def test_a_robot_goes_on_without_its_client_and_that_is_told(tmp_path: Path) -> None:
    with running(tmp_path / "node.log", "-p", "robots:=1") as (process, client):
        goal_of_a_client_that_leaves("robot_0")
        diagnostics = client.listen(DiagnosticArray, "/diagnostics")
        client.until(lambda: diagnostics and figures(diagnostics[-1])["goals_without_client"] == "1", "the goal")
        client.until(lambda: "'robot_0' disconnected; the robot goes on" in process.output(), "the line")
        before = len(diagnostics)
        client.until(lambda: len(diagnostics) > before + 1, "time")
        assert figures(diagnostics[-1])["goals_without_client"] == "1"
        assert process.output().count("the robot goes on") == 1


@pytest.mark.slow
def test_a_goal_ends_after_the_timeout_where_that_is_asked_for(tmp_path: Path) -> None:
    with running(tmp_path / "node.log", "-p", "robots:=2", "-p", "client_timeout:=5.0") as (process, client):
        far = MoveTo.Goal()
        far.pose.pose.position.x = 1000.0
        far.pose.pose.orientation.w = 1.0
        kept = client.send_goal(MoveTo, "/robot_1/move_to", far)
        goal_of_a_client_that_leaves("robot_0")
        diagnostics = client.listen(DiagnosticArray, "/diagnostics")
        client.until(lambda: any(figures(one)["goals_without_client"] == "1" for one in diagnostics), "the goal")
        client.until(lambda: figures(diagnostics[-1])["goals_without_client"] == "0", "its end")
        assert "the robot goes on" not in process.output()
        assert not kept.future.done(), "whose client lives goes on"


@pytest.mark.slow
def test_a_second_node_of_the_name_is_told_once(tmp_path: Path) -> None:
    with running(tmp_path / "one.log", "-p", "robots:=1") as (one, client):
        client.until(lambda: "press Ctrl-C to stop" in one.output(), "the first node")
        with running(tmp_path / "two.log", "-p", "robots:=1") as (two, _):
            client.until(lambda: "press Ctrl-C to stop" in two.output(), "the second node")
            for process in (one, two):
                client.until(lambda process=process: "is in this ROS domain" in process.output(), "the warning")
            assert one.output().count("is in this ROS domain") == 1
