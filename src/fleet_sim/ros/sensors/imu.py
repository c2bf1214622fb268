"""<robot>/imu: what IMUs feel."""

from __future__ import annotations

import math

import numpy as np
from sensor_msgs.msg import Imu

from fleet_sim.ros.sensors.names import frame_of
from fleet_sim.ros.sensors.topics import SensorTopics
from fleet_sim.ros.templates import ORIENTATION, STAMP, MessageTemplate, Part, under
from fleet_sim.sensors import ImuParams, Readings

_AXES = ("x", "y", "z")
_WIDTHS = {"orientation": 4, "angular_velocity": 3, "linear_acceleration": 3}


def imu_message(params: ImuParams, frame: str, period: float) -> Imu:
    """Return the message of an IMU: its covariances are those of its noise."""
    message = Imu()
    message.header.frame_id = frame
    density = 1.0 / math.sqrt(period)
    for field, deviation in (
        ("orientation_covariance", params.orientation_noise),
        ("angular_velocity_covariance", params.gyro_noise * density),
        ("linear_acceleration_covariance", params.accel_noise * density),
    ):
        setattr(message, field, (deviation**2 * np.eye(3)).reshape(-1).tolist())
    return message


def imu_template(messages: list[Imu]) -> MessageTemplate:
    """Return the template of IMU messages; groups sec, nanosec, and those of a reading."""
    numbers = {
        **STAMP,
        "orientation": ("f8", ORIENTATION),
        "angular_velocity": ("f8", under("angular_velocity", _AXES)),
        "linear_acceleration": ("f8", under("linear_acceleration", _AXES)),
    }
    return MessageTemplate(messages, [Part(numbers)])


class ImuTopic(SensorTopics):
    """Publishes orientations, angular velocities and accelerations in the IMUs' frames."""

    sensor_type = "imu"
    message_type = Imu

    def prepare(self) -> None:
        frames, dt = self.bridge.frames, self.bridge.sim.clock.dt
        messages = []
        for channel in self.channels:
            params = channel.sensor.params
            period = dt if params.rate is None else 1.0 / params.rate
            messages.append(imu_message(params, frame_of(frames, channel.sensor), period))
        self._template = imu_template(messages) if messages else None
        self._values = {name: np.zeros((len(messages), width)) for name, width in _WIDTHS.items()}

    def send(self, readings: Readings, now: int) -> None:
        heard = list(self.heard(readings))
        if self._template is None or not heard:
            return
        indices, slots = [index for index, _ in heard], [channel.slot for _, channel in heard]
        self._template.write_stamp(now)
        for name, values in self._values.items():
            values[slots] = readings.values[name][indices]
            self._template.write(name, values)
        pieces = self._template.pieces()
        for _, channel in heard:
            channel.publisher.publish(pieces[channel.slot])
