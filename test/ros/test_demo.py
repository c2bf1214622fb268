"""What the demo shows of a fleet."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy")

from example import load_example

from fleet_sim_msgs.msg import FleetState, RobotState

demo = load_example("warehouse_demo")


def fleet(*robots: RobotState) -> FleetState:
    state = FleetState(robots=list(robots))
    state.header.stamp.sec, state.header.stamp.nanosec = 12, 500_000_000
    return state


def robot(name: str, **flags: bool) -> RobotState:
    made = RobotState(name=name, distance_left=2.5, **flags)
    made.pose.position.x, made.pose.position.y = 1.0, -19.0
    made.twist.linear.x, made.twist.linear.y = 3.0, 4.0
    return made


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        ({}, "idle"),
        ({"carrying": True}, "idle"),
        ({"busy": True}, "works"),
        ({"busy": True, "moving": True}, "drives"),
        ({"moving": True, "carrying": True}, "loaded"),
        ({"moving": True, "blocked": True}, "blocked"),
    ],
)
def test_a_state_is_one_word(flags: dict[str, bool], word: str) -> None:
    assert demo.state_of(robot("cart", **flags)) == word


def test_the_table_has_a_line_for_each_robot_with_its_goal_while_it_drives() -> None:
    state = fleet(robot("cart", moving=True), robot("idler"), robot("a_robot_with_a_very_long_name", moving=True))
    heading, first, second, third = demo.table(state, {"cart": (3.5, -19.0), "idler": (7.0, 7.0)})
    assert heading.split() == ["robot", "state", "x", "y", "speed", "goal", "left"]
    assert first.split() == ["cart", "drives", "1.00", "-19.00", "5.00", "(", "3.50,", "-19.00)", "2.50"]
    assert second.split() == ["idler", "idle", "1.00", "-19.00", "5.00", "-"]
    assert third.split()[5] == "-", "its goal is not known yet"
    assert max(map(len, (heading, first, second, third))) < 80


def test_the_summary_counts() -> None:
    state = fleet(robot("a", moving=True), robot("b"), robot("c", moving=True))
    assert demo.summary(state).split() == ["12.5", "s", "simulated,", "3", "robots:", "2", "drives,", "1", "idle"]


def test_the_hints_name_what_two_terminals_must_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    hints = demo.hints()
    assert "export ROS_DOMAIN_ID=7" in hints
    assert hints[-len(demo.COMMANDS) :] == list(demo.COMMANDS)
