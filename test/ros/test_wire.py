"""Bytes that are not the whole of a message are refused: they must not move a robot."""

from __future__ import annotations

import pytest
from geometry_msgs.msg import PoseStamped, Twist
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from fleet_sim.errors import InvalidValueError
from fleet_sim.ros.wire import decode

GOAL = PoseStamped()
GOAL.header.frame_id = "map"
GOAL.pose.position.x = 2.0
DATA = bytes(serialize_message(GOAL))


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
