"""Joint trajectories under the names of ros2_control, as MoveIt asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from action_msgs.msg import GoalStatus
from arms import ARM_AND_CART
from builtin_interfaces.msg import Duration
from node_program import running_scenario
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

pytest.importorskip("control_msgs")

from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTrajectoryControllerState

SCENARIO = ARM_AND_CART % "welder" + "ros: {joint_controller: arm_controller}\n"
PREFIX = "/welder/arm_controller"


def way(seconds: int, position: float) -> JointTrajectory:
    point = JointTrajectoryPoint(positions=[position], time_from_start=Duration(sec=seconds))
    return JointTrajectory(joint_names=["joint_1"], points=[point])


def test_topic_action_and_state_have_the_name_of_the_controller(tmp_path: Path) -> None:
    with running_scenario(tmp_path, SCENARIO) as (_, client):
        states = client.listen(JointTrajectoryControllerState, f"{PREFIX}/controller_state")
        client.until(lambda: states, "a state")
        assert states[-1].joint_names[0] == "joint_1" and len(states[-1].joint_names) == 8
        assert list(states[-1].error.positions) == [0.0] * 8 and states[-1].reference.positions[3] == -1.5
        goal = FollowJointTrajectory.Goal(trajectory=way(2, 1.0))
        status, _ = client.send_goal(FollowJointTrajectory, f"{PREFIX}/follow_joint_trajectory", goal).result()
        assert status == GoalStatus.STATUS_SUCCEEDED
        client.until(lambda: states[-1].feedback.positions[0] == 1.0, "the last point")
        driven = [state for state in states if state.feedback.velocities[0]]
        # Half a radian a second, and nowhere near an error.
        assert max(state.reference.velocities[0] for state in driven) == pytest.approx(0.5)
        assert all(abs(state.error.positions[0]) < 0.03 for state in states)
        # Faster than it can move: it stays behind, and the difference is told.
        states.clear()
        client.publisher(JointTrajectory, f"{PREFIX}/joint_trajectory").publish(way(0, -1.0))
        client.until(lambda: states and states[-1].feedback.positions[0] == -1.0, "the end of the jump")
        assert min(state.error.positions[0] for state in states) < -0.5
        plain = {
            f"/welder/{name}"
            for name in ("joint_trajectory", "follow_joint_trajectory/_action/status", "controller_state")
        }
        names = {name for name, _ in client.node.get_topic_names_and_types()}
        assert not names & (plain | {"/cart/arm_controller/controller_state"})
