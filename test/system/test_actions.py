"""Goals: feedback, results with causes, cancellation, pre-emption, rejection, and the end of the node."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from action_msgs.msg import GoalStatus, GoalStatusArray
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from node_program import Running, SharedNode, shared_node
from rclpy.qos import HistoryPolicy, QoSProfile, qos_profile_action_status_default
from std_srvs.srv import Trigger
from unique_identifier_msgs.msg import UUID

from fleet_sim_msgs.action import Execute, MoveTo, Pick
from fleet_sim_msgs.msg import Cause, FleetCommand
from fleet_sim_msgs.srv import Delete, SendFleetCommand

KEEP_ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)
SUCCEEDED = GoalStatus.STATUS_SUCCEEDED
SCENARIO = """
simulation: {timestep: 0.05, target_rtf: 10.0}
robots:
  - {name: amr, pose: [0, 0, 0.15], shape: {shape_type: box, half_extents: [0.3, 0.2, 0.15]}}
  - {name: other, pose: [0, 3, 0.15], shape: {shape_type: box, half_extents: [0.3, 0.2, 0.15]}}
  - {name: fixed, pose: [0, 6, 0.15], use_fixed_base: true}
objects:
  - {name: pallet, pose: [4, 0, 0.05], shape: {shape_type: box, half_extents: [0.2, 0.2, 0.05]}}
ros: {per_robot: [amr]}
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), scenario=SCENARIO) as node:
        yield node


def move_to(x: float, y: float = 0.0, **options: object) -> MoveTo.Goal:
    goal = MoveTo.Goal(**options)
    goal.pose.pose.position.x, goal.pose.pose.position.y = x, y
    return goal


def test_a_goal_succeeds_with_feedback(fleet: Running) -> None:
    _, client = fleet
    sent = client.send_goal(MoveTo, "/amr/move_to", move_to(3.0))
    status, result = sent.result()
    assert (status, result.success, result.cause) == (GoalStatus.STATUS_SUCCEEDED, True, Cause.NONE)
    assert result.duration == pytest.approx(1.9, abs=0.3)
    assert [entry.phase for entry in sent.feedback] == ["moving"] * len(sent.feedback)
    assert len(sent.feedback) >= 5
    left = [entry.distance_left for entry in sent.feedback]
    assert left == sorted(left, reverse=True)
    assert 0.0 <= sent.feedback[0].progress < sent.feedback[-1].progress <= 1.0


def test_cancelling_stops_the_robot(fleet: Running) -> None:
    _, client = fleet
    odoms = client.listen(Odometry, "/amr/odom")
    sent = client.send_goal(MoveTo, "/amr/move_to", move_to(1e3))
    client.until(lambda: sent.feedback and odoms and odoms[-1].twist.twist.linear.x > 1.0, "motion")
    assert len(sent.cancel().goals_canceling) == 1
    status, result = sent.result()
    assert (status, result.success, result.cause) == (GoalStatus.STATUS_CANCELED, False, Cause.CANCELED)
    client.until(lambda: odoms[-1].twist.twist.linear.x == 0.0, "the robot's stop")


def test_a_newer_goal_or_command_pre_empts(fleet: Running) -> None:
    _, client = fleet
    first = client.send_goal(MoveTo, "/amr/move_to", move_to(1e3))
    second = client.send_goal(MoveTo, "/fleet/move_to", move_to(-1e3, robot="amr"))
    status, result = first.result()
    assert (status, result.cause) == (GoalStatus.STATUS_ABORTED, Cause.PREEMPTED)
    client.publisher(Twist, "/amr/cmd_vel").publish(Twist())
    status, result = second.result()
    assert (status, result.cause, result.text) == (
        GoalStatus.STATUS_ABORTED,
        Cause.PREEMPTED,
        "a velocity was commanded",
    )


def test_a_stop_by_command_ends_a_goal(fleet: Running) -> None:
    _, client = fleet
    sent = client.send_goal(MoveTo, "/amr/move_to", move_to(1e3))
    client.until(lambda: sent.feedback, "motion")
    command = FleetCommand(kind=FleetCommand.STOP, names=["amr"])
    result = client.call(SendFleetCommand, "/fleet/command", SendFleetCommand.Request(command=command)).result
    assert result.accepted == ["amr"]
    status, result = sent.result()
    assert (status, result.cause, result.text) == (GoalStatus.STATUS_ABORTED, Cause.CANCELED, "stopped by command")


def test_what_is_wrong_with_a_goal_is_rejected_or_told(fleet: Running) -> None:
    process, client = fleet
    assert not client.send_goal(MoveTo, "/amr/move_to", move_to(math.nan)).handle.accepted
    assert not client.send_goal(MoveTo, "/fleet/move_to", move_to(1.0, robot="nobody")).handle.accepted
    client.until(lambda: "unknown robot 'nobody'" in process.output(), "a reason")
    assert not client.send_goal(Execute, "/amr/execute", Execute.Goal(action="dance")).handle.accepted

    unknown_frame = move_to(1.0)
    unknown_frame.pose.header.frame_id = "moon"
    for goal, cause in (
        (unknown_frame, Cause.UNKNOWN_FRAME),
        (move_to(1.0, robot="fixed"), Cause.UNREACHABLE),
        (move_to(1e3, robot="other", timeout=0.5), Cause.TIMEOUT),
    ):
        goal.robot = goal.robot or "amr"
        status, result = client.send_goal(MoveTo, "/fleet/move_to", goal).result()
        assert (status, result.success, result.cause) == (GoalStatus.STATUS_ABORTED, False, cause)
        assert result.text
    status, result = client.send_goal(Pick, "/amr/pick", Pick.Goal(object="nothing")).result()
    assert (status, result.cause) == (GoalStatus.STATUS_ABORTED, Cause.UNKNOWN_OBJECT)


def test_all_of_many_goals_sent_at_once_are_answered_and_their_statuses_told(fleet: Running) -> None:
    _, client = fleet
    service = MoveTo.Impl.SendGoalService
    send = client.node.create_client(service, "/fleet/move_to/_action/send_goal", qos_profile=KEEP_ALL)
    client.until(send.service_is_ready, "the action")
    told = client.listen(GoalStatusArray, "/fleet/move_to/_action/status", qos_profile_action_status_default)
    robots = ["amr", "other", "nobody"] * 90
    futures = []
    for number, robot in enumerate(robots):
        far = 1e3 if number < len(robots) - 3 else 1.0
        goal = move_to(far, 3.0 if robot == "other" else 0.0, robot=robot)
        request = service.Request(goal_id=UUID(uuid=np.frombuffer(number.to_bytes(16, "big"), np.uint8)), goal=goal)
        futures.append(send.call_async(request))
    client.until(lambda: all(future.done() for future in futures), "all answers")
    accepted = [number for number, future in enumerate(futures) if future.result().accepted]
    assert accepted == [number for number, robot in enumerate(robots) if robot != "nobody"]

    def ended() -> dict[int, int]:
        last = told[-1].status_list if told else []
        known = {int.from_bytes(bytes(one.goal_info.goal_id.uuid), "big"): one.status for one in last}
        # Among them are goals of other tests.
        return {number: state for number, state in known.items() if number < len(robots) and state >= SUCCEEDED}

    states = client.until(lambda: len(ended()) == len(accepted) and ended(), "the end of all goals")
    # Each goal ends the one before it of its robot.
    assert [number for number, state in states.items() if state == SUCCEEDED] == accepted[-2:]
    assert {states[number] for number in accepted[:-2]} == {GoalStatus.STATUS_ABORTED}


def test_any_action_is_executed_by_name(fleet: Running) -> None:
    _, client = fleet
    goal = Execute.Goal(robot="other", action="wait", parameters='{"duration": 1.0}')
    status, result = client.send_goal(Execute, "/fleet/execute", goal).result()
    assert (status, result.duration) == (GoalStatus.STATUS_SUCCEEDED, pytest.approx(1.0))


@pytest.mark.parametrize("number", [2, 15], ids=["SIGINT", "SIGTERM"])
def test_the_end_of_the_node_ends_goals_with_a_result(fleet: Running, number: int) -> None:
    process, client = fleet
    goals = [client.send_goal(MoveTo, "/fleet/move_to", move_to(1e3, robot=robot)) for robot in ("amr", "other")]
    client.until(lambda: all(sent.feedback for sent in goals), "motion")
    process.send_signal(number)
    for sent in goals:
        status, result = sent.result()
        assert (status, result.cause) == (GoalStatus.STATUS_ABORTED, Cause.SHUTDOWN)
    code, _ = process.end()
    assert code == 0


def test_a_reset_or_the_robots_removal_ends_its_goals(fleet: Running) -> None:
    _, client = fleet
    sent = client.send_goal(MoveTo, "/amr/move_to", move_to(1e3))
    client.until(lambda: sent.feedback, "motion")
    assert client.call(Trigger, "/sim/reset").success
    status, result = sent.result()
    assert (status, result.cause, result.text) == (
        GoalStatus.STATUS_ABORTED,
        Cause.SHUTDOWN,
        "the simulation was reset",
    )
    sent = client.send_goal(MoveTo, "/amr/move_to", move_to(1e3))
    client.until(lambda: sent.feedback, "motion")
    client.call(Delete, "/sim/delete", Delete.Request(names=["amr"]))
    status, result = sent.result()
    assert (status, result.cause) == (GoalStatus.STATUS_ABORTED, Cause.UNKNOWN_ROBOT)
    assert not client.send_goal(MoveTo, "/fleet/move_to", move_to(1.0, robot="amr")).handle.accepted


def test_goals_can_be_cancelled_while_paused(fleet: Running) -> None:
    _, client = fleet
    assert client.call(Trigger, "/sim/pause").success
    sent = client.send_goal(MoveTo, "/amr/move_to", move_to(1e3))
    sent.cancel()
    status, result = sent.result()
    assert (status, result.cause) == (GoalStatus.STATUS_CANCELED, Cause.CANCELED)


def test_nav2_clients_can_drive_a_robot(fleet: Running) -> None:
    nav2 = pytest.importorskip("nav2_msgs.action")
    _, client = fleet
    goal = nav2.NavigateToPose.Goal()
    goal.pose.header.frame_id = "map"
    goal.pose.pose.position.x = 3.0
    sent = client.send_goal(nav2.NavigateToPose, "/amr/navigate_to_pose", goal)
    status, _ = sent.result()
    assert status == GoalStatus.STATUS_SUCCEEDED
    left = [entry.distance_remaining for entry in sent.feedback]
    assert left == sorted(left, reverse=True)
