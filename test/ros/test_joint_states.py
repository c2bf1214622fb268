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
    motors = [False, True, False]
    random = np.random.default_rng(1)
    position, velocity, effort = (random.normal(size=(count, 1)) for count in (6, 6, 3))
    template = joint_states_template(names, motors)
    template.write_stamp(NOW)
    template.write("position", position)
    template.write("velocity", velocity)
    template.write("effort", effort)
    firsts = [0, 1, 4, 6]
    for index, piece in enumerate(template.pieces()):
        span = slice(firsts[index], firsts[index + 1])
        message = JointState(
            name=names[index],
            position=position[span, 0].tolist(),
            velocity=velocity[span, 0].tolist(),
            effort=effort[:, 0].tolist() if motors[index] else [],
        )
        message.header.stamp = time_to_msg(NOW)
        assert piece == serialize_message(message)


def test_nobody_with_joints() -> None:
    template = joint_states_template([], [])
    template.write_stamp(NOW)
    assert template.pieces() == []
