"""Values as messages, times, bytes that are not the whole of a message, and causes."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import Pose as PoseMsg
from geometry_msgs.msg import PoseStamped, Twist
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from fleet_sim import ActionCause, MoveTo, Pose
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.ros import messages as conv
from fleet_sim.ros.actions import CODES, cause_of_action
from fleet_sim.ros.messages import decode
from fleet_sim.world.clock import Clock, RosTime
from fleet_sim.world.commands import CommandAck
from fleet_sim_msgs.msg import Cause

GOAL = PoseStamped()
GOAL.header.frame_id = "map"
GOAL.pose.position.x = 2.0
DATA = bytes(serialize_message(GOAL))


@pytest.mark.parametrize(
    ("nanoseconds", "parts"),
    [(0, (0, 0)), (1_999_999_999, (1, 999_999_999)), (2**31 * conv.NS_PER_S - 1, (2**31 - 1, 999_999_999))],
)
def test_times(nanoseconds: int, parts: tuple[int, int]) -> None:
    message = conv.time_to_msg(nanoseconds)
    assert (message.sec, message.nanosec) == parts and conv.time_from_msg(message) == nanoseconds


def test_poses_that_are_none_are_refused() -> None:
    for name, value in (("position.x", float("nan")), ("position.y", float("inf")), ("orientation.w", 0.0)):
        message, (part, axis) = PoseMsg(), name.split(".")
        setattr(getattr(message, part), axis, value)
        with pytest.raises(InvalidValueError, match=r"finite|zero"):
            conv.pose_from_msg(message)


def test_a_name_as_long_as_a_message_is_not_sent_back_whole() -> None:
    ack = CommandAck(rejected={"x" * 100_000: "unknown robot", "cart": "unknown robot"})
    told = conv.ack_to_msg(ack, 0)
    assert [len(name) for name in told.rejected] == [203, 4] and len(told.reasons) == 2


@pytest.mark.parametrize("message", [GOAL, Twist(), JointState(name=["a", "bc"], position=[1.0, 2.0])])
@pytest.mark.parametrize("padding", [b"", b"\0\0\0"])
def test_whole_messages_are_read(message: object, padding: bytes) -> None:
    assert decode(bytes(serialize_message(message)) + padding, type(message)) == message


@pytest.mark.parametrize("begin", ["0003", "0007", "00ff", "ffff", "0101", "0a01"])
def test_another_encapsulation_is_refused(begin: str) -> None:
    with pytest.raises(InvalidValueError, match="not plain CDR"):
        decode(bytes.fromhex(begin) + DATA[2:], PoseStamped)


@pytest.mark.parametrize("data", [DATA + bytes(4), DATA + bytes(1000), DATA[:-1], DATA[:20], DATA[:4], b"\0\1", b""])
def test_more_or_less_than_a_message_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidValueError):
        decode(data, PoseStamped)


def test_time_never_goes_back_whoever_asked_last() -> None:
    clock = Clock(0.05)
    time = RosTime(clock)
    clock.tick = 10
    published = time.now(ticks_ahead=1)
    assert time.now() < published
    assert time.last == published
    clock.tick = 3
    time.on_reset()
    # The state after the reset is another one than that before it, so it has another stamp.
    assert time.now() == published + 50_000_000
    assert time.now(ticks_ahead=1) == published + 100_000_000


def test_every_cause_has_the_value_of_its_name() -> None:
    spelled = {ActionCause.CANCELLED: "CANCELED"}
    assert {cause: getattr(Cause, spelled.get(cause, cause.name)) for cause in ActionCause} == CODES
    action = MoveTo(Pose((1.0, 0.0, 0.0)))
    action.cancel("not today", ActionCause.PREEMPTED)
    assert cause_of_action(action) == (Cause.PREEMPTED, "not today")
    action = MoveTo(Pose((1.0, 0.0, 0.0)))
    action.complete()
    assert cause_of_action(action) == (Cause.NONE, "")
