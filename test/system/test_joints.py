"""Joints on ROS: states, commands, trajectories, and follow_joint_trajectory with its error codes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from action_msgs.msg import GoalStatus
from arms import ARM_AND_CART
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Twist
from node_program import Running, SharedNode, shared_node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

pytest.importorskip("control_msgs")
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance

J1, J2 = "joint_1", "joint_2"
ACTION = "/arm/follow_joint_trajectory"
Result = FollowJointTrajectory.Result


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), scenario=ARM_AND_CART % "arm") as node:
        yield node


def trajectory(*points: tuple[float, list[float]], names: tuple[str, ...] = (J1, J2)) -> JointTrajectory:
    """A trajectory of (time, positions)."""
    return JointTrajectory(
        joint_names=list(names),
        points=[
            JointTrajectoryPoint(
                positions=positions, time_from_start=Duration(sec=int(time), nanosec=int(time % 1.0 * 1e9))
            )
            for time, positions in points
        ],
    )


def goal(*points: tuple[float, list[float]], names: tuple[str, ...] = (J1, J2)) -> FollowJointTrajectory.Goal:
    return FollowJointTrajectory.Goal(trajectory=trajectory(*points, names=names))


def position(states: list[JointState], joint: str = J1) -> float:
    return float(states[-1].position[states[-1].name.index(joint)])


def test_a_node_alone_does_not_listen_to_its_own_frames(fleet: Running) -> None:
    _, client = fleet
    states = client.listen(JointState, "/arm/joint_states")
    # Ten seconds of simulated time are one of real time: two checks for other publishers.
    client.until(lambda: states and states[-1].header.stamp.sec >= 12, "12 s of the arm")
    assert client.node.count_publishers("/tf") == 2
    assert client.node.count_subscribers("/tf") == 0


def test_a_trajectory_on_a_topic_while_the_base_drives(fleet: Running) -> None:
    _, client = fleet
    states = client.listen(JointState, "/arm/joint_states")
    paths = client.publisher(JointTrajectory, "/arm/joint_trajectory")
    paths.publish(trajectory((0.5, [0.4, 0.1]), (1.5, [-0.4, 0.2])))
    client.until(lambda: states and position(states) > 0.2, "the way to the first point")
    client.publisher(Twist, "/arm/cmd_vel").publish(Twist())
    client.until(lambda: position(states) == -0.4 and position(states, J2) == 0.2, "the end")
    paths.publish(trajectory((100.0, [2.0, 0.0])))
    client.until(lambda: position(states) > -0.3, "the next way")
    paths.publish(JointTrajectory())
    client.until(lambda: not any(states[-1].velocity), "the stop that an empty trajectory is")
    assert position(states) < 2.0


def test_error_codes(fleet: Running) -> None:
    _, client = fleet

    def code(wanted: FollowJointTrajectory.Goal) -> int:
        status, result = client.send_goal(FollowJointTrajectory, ACTION, wanted).result()
        assert status == GoalStatus.STATUS_ABORTED
        assert result.error_string
        return int(result.error_code)

    assert code(goal((1.0, [0.0]), names=("elbow",))) == Result.INVALID_JOINTS
    assert code(goal((1.0, [9.0, 0.0]))) == Result.INVALID_GOAL
    tight = goal((0.1, [2.0, 0.0]))
    tight.path_tolerance = [JointTolerance(name=J1, position=0.1)]
    assert code(tight) == Result.PATH_TOLERANCE_VIOLATED
    late = goal((0.1, [-2.0, 0.0]))
    late.goal_time_tolerance = Duration(nanosec=100_000_000)
    assert code(late) == Result.GOAL_TOLERANCE_VIOLATED
    old = goal((0.1, [0.0, 0.0]))
    old.trajectory.header.stamp.nanosec = 1
    assert code(old) == Result.OLD_HEADER_TIMESTAMP
    for wrong in (
        FollowJointTrajectory.Goal(),
        goal((1.0, [0.0])),
        goal((1.0, [0.0, float("nan")])),
        goal((1.0, [0.0, 0.0]), (0.5, [0.0, 0.0])),
    ):
        assert not client.send_goal(FollowJointTrajectory, ACTION, wrong).handle.accepted


def test_cancelling_and_pre_empting(fleet: Running) -> None:
    _, client = fleet
    states = client.listen(JointState, "/arm/joint_states")
    slow = goal((100.0, [2.0, 0.0]))
    sent = client.send_goal(FollowJointTrajectory, ACTION, slow)
    client.until(lambda: states and position(states) > 0.01, "motion")
    sent.cancel()
    assert sent.result()[0] == GoalStatus.STATUS_CANCELED
    client.until(lambda: not any(states[-1].velocity), "the stop")
    first = client.send_goal(FollowJointTrajectory, ACTION, slow)
    second = client.send_goal(FollowJointTrajectory, ACTION, goal((0.5, [0.0, 0.0])))
    status, result = first.result()
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert "preempted" in result.error_string
    assert second.result()[0] == GoalStatus.STATUS_SUCCEEDED
    commands = client.publisher(JointState, "/arm/joint_commands")
    third = client.send_goal(FollowJointTrajectory, ACTION, slow)
    # By then the node has surely found the publisher too.
    client.until(lambda: position(states) > 0.01, "motion")
    commands.publish(JointState(name=[J1], position=[0.2]))
    assert third.result()[0] == GoalStatus.STATUS_ABORTED
    client.until(lambda: position(states) == 0.2, "the command that took over")
