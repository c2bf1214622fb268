"""The bytes of joint states are those the message class serialises to."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy")

from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.joint_states import joint_states_template

NOW = 12_345_678_901


def test_joint_states_of_robots_with_different_joints() -> None:
    names = [["a"], ["shoulder", "elbow", "wrist_22"], ["x_1", "yy_2"]]
    random = np.random.default_rng(1)
    position, velocity = random.normal(size=(6, 1)), random.normal(size=(6, 1))
    template = joint_states_template(names)
    template.write_stamp(NOW)
    template.write("position", position)
    template.write("velocity", velocity)
    firsts = [0, 1, 4, 6]
    for index, piece in enumerate(template.pieces()):
        span = slice(firsts[index], firsts[index + 1])
        message = JointState(
            name=names[index], position=position[span, 0].tolist(), velocity=velocity[span, 0].tolist()
        )
        message.header.stamp = time_to_msg(NOW)
        assert piece == serialize_message(message)


def test_nobody_with_joints() -> None:
    template = joint_states_template([])
    template.write_stamp(NOW)
    assert template.pieces() == []
