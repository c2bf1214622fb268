"""Values and messages: there and back again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy")

from geometry_msgs.msg import Pose as PoseMsg

from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose
from fleet_sim.ros import conversions as conv

NUMBERS = st.floats(-1e6, 1e6)


@given(st.integers(0, 2**31 * conv.NS_PER_S - 1))
def test_times(nanoseconds: int) -> None:
    message = conv.time_to_msg(nanoseconds)
    assert 0 <= message.nanosec < conv.NS_PER_S
    assert conv.time_from_msg(message) == nanoseconds


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS), st.floats(-3.0, 3.0))
def test_poses(position: tuple[float, float, float], yaw: float) -> None:
    pose = Pose.from_yaw(*position, yaw)
    assert conv.pose_from_msg(conv.pose_to_msg(pose)) == pose


def test_many_poses_and_twists() -> None:
    random = np.random.default_rng(2)
    points, turns, twists = random.normal(size=(5, 3)), random.normal(size=(5, 4)), random.normal(size=(5, 3))
    for sent, back in zip((points, turns), conv.poses_from_msgs(conv.poses_to_msgs(points, turns)), strict=True):
        assert (sent == back).all()
    for sent, back in zip((points, twists), conv.twists_from_msgs(conv.twists_to_msgs(points, twists)), strict=True):
        assert (sent == back).all()


def test_no_messages_are_empty_arrays() -> None:
    points, turns = conv.poses_from_msgs([])
    assert (points.shape, turns.shape) == ((0, 3), (0, 4))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_pose_that_is_not_finite_is_refused(wrong: float) -> None:
    message = PoseMsg()
    message.position.x = wrong
    with pytest.raises(InvalidValueError, match="finite"):
        conv.pose_from_msg(message)


def test_a_zero_quaternion_is_refused() -> None:
    message = PoseMsg()
    message.orientation.w = 0.0
    with pytest.raises(InvalidValueError, match="zero"):
        conv.pose_from_msg(message)


def test_a_name_as_long_as_a_message_is_not_sent_back_whole() -> None:
    ack = CommandAck(rejected={"x" * 100_000: "unknown robot", "cart": "unknown robot"})
    told = conv.ack_to_msg(ack, 0)
    assert [len(name) for name in told.rejected] == [203, 4] and len(told.reasons) == 2
