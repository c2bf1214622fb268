"""<robot>/imu: readings of IMUs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from sensor_msgs.msg import Imu

from fleet_sim.ros.sensors.names import frame_of
from fleet_sim.ros.sensors.templated import TemplatedTopics
from fleet_sim.ros.sensors.topics import Channel
from fleet_sim.ros.templates import ORIENTATION, STAMP, MessagePart, MessageTemplate, under
from fleet_sim.sensors import ImuParams

_AXES = ("x", "y", "z")


def imu_message(params: ImuParams, frame: str, period: float) -> Imu:
    """Return the message of an IMU, with the covariances of its noise."""
    message = Imu()
    message.header.frame_id = frame
    # Noise of gyros and accelerometers is given per square root of Hz: it grows with the root of the rate.
    density = 1.0 / math.sqrt(period)
    for field, deviation in (
        ("orientation_covariance", params.orientation_noise),
        ("angular_velocity_covariance", params.gyro_noise * density),
        ("linear_acceleration_covariance", params.accel_noise * density),
    ):
        setattr(message, field, (deviation**2 * np.eye(3)).reshape(-1).tolist())
    return message


def imu_template(messages: Sequence[Imu]) -> MessageTemplate:
    """Return the template of IMU messages; groups sec, nanosec, and those of a reading."""
    numbers = {
        **STAMP,
        "orientation": ("f8", ORIENTATION),
        "angular_velocity": ("f8", under("angular_velocity", _AXES)),
        "linear_acceleration": ("f8", under("linear_acceleration", _AXES)),
    }
    return MessageTemplate(messages, [MessagePart(numbers)])


class ImuTopic(TemplatedTopics):
    """Publishes orientations, angular velocities and accelerations in the IMUs' frames."""

    sensor_type = "imu"
    message_type = Imu
    widths: ClassVar[Mapping[str, int]] = {"orientation": 4, "angular_velocity": 3, "linear_acceleration": 3}

    def message_of(self, channel: Channel) -> Imu:
        frame = frame_of(self.bridge.frames, channel.sensor)
        return imu_message(channel.sensor.params, frame, self.period_of(channel))

    def template_of(self, messages: Sequence[Imu]) -> MessageTemplate:
        return imu_template(messages)
