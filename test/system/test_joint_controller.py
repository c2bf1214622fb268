"""Joint trajectories under the names of ros2_control, as MoveIt asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from action_msgs.msg import GoalStatus
from arms import ARM_AND_CART
from builtin_interfaces.msg import Duration
from node_program import running_scenario
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

pytest.importorskip("control_msgs")

from control_msgs.action import FollowJointTrajectory

SCENARIO = ARM_AND_CART % "welder" + "ros: {joint_controller: arm_controller}\n"
PREFIX = "/welder/arm_controller"


def way(seconds: int, position: float) -> JointTrajectory:
    point = JointTrajectoryPoint(positions=[position], time_from_start=Duration(sec=seconds))
    return JointTrajectory(joint_names=["joint_1"], points=[point])


def test_topic_and_action_have_the_name_of_the_controller(tmp_path: Path) -> None:
    with running_scenario(tmp_path, SCENARIO) as (_, client):
        states = client.listen(JointState, "/welder/joint_states")

        def at(place: float) -> bool:
            return bool(states) and states[-1].position[states[-1].name.index("joint_1")] == place

        goal = FollowJointTrajectory.Goal(trajectory=way(2, 1.0))
        status, _ = client.send_goal(FollowJointTrajectory, f"{PREFIX}/follow_joint_trajectory", goal).result()
        assert status == GoalStatus.STATUS_SUCCEEDED
        client.until(lambda: at(1.0), "the last point")
        client.publisher(JointTrajectory, f"{PREFIX}/joint_trajectory").publish(way(0, -1.0))
        client.until(lambda: at(-1.0), "the end of the jump")
        plain = {f"/welder/{name}" for name in ("joint_trajectory", "follow_joint_trajectory/_action/status")}
        assert not plain & {name for name, _ in client.node.get_topic_names_and_types()}
