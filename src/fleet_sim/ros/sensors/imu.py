"""<robot>/imu: readings of IMUs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from sensor_msgs.msg import Imu

from fleet_sim.cdr import AXES, ORIENTATION, under
from fleet_sim.ros.sensors.templated import TemplatedTopics
from fleet_sim.ros.sensors.topics import Channel
from fleet_sim.sensors import ImuParams


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


class ImuTopic(TemplatedTopics):
    """Publishes orientations, angular velocities and accelerations in the IMUs' frames.

    On <robot>/<imu>: rad/s and m/s2. An IMU at rest measures the upward acceleration that holds it against gravity.
    """

    sensor_type = "imu"
    message_type = Imu
    fields: ClassVar[Mapping[str, Sequence[str]]] = {
        "orientation": ORIENTATION,
        "angular_velocity": under("angular_velocity", AXES),
        "linear_acceleration": under("linear_acceleration", AXES),
    }

    def message_of(self, channel: Channel) -> Imu:
        return imu_message(channel.sensor.params, self.frame_of(channel.sensor), self.period_of(channel))
