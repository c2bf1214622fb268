"""<robot>/odometry: estimated poses with drift. The true pose is on <robot>/odom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from nav_msgs.msg import Odometry

from fleet_sim.arrays import Floats
from fleet_sim.cdr import ORIENTATION, POSITION, TWIST, under
from fleet_sim.ros.sensors.names import frame_of, reference_of
from fleet_sim.ros.sensors.templated import TemplatedTopics
from fleet_sim.ros.sensors.topics import Channel
from fleet_sim.sensors import Readings
from fleet_sim.spatial import quaternions

ODOMETRY = {
    "position": under("pose.pose", POSITION),
    "orientation": under("pose.pose", ORIENTATION),
    "twist": under("twist.twist", TWIST),
}
"""The numbers of an Odometry message, by the paths of their fields."""


class OdometryTopic(TemplatedTopics):
    """Publishes estimated poses of the sensors' frames in <robot>/odom, starting from their true initial poses.

    They drift with the sensor's noise, as those of encoders do; <robot>/odom has the truth.
    """

    sensor_type = "odometry"
    message_type = Odometry
    fields: ClassVar[Mapping[str, Sequence[str]]] = ODOMETRY

    def message_of(self, channel: Channel) -> Odometry:
        frames = self.bridge.frames
        message = Odometry(child_frame_id=frame_of(frames, channel.sensor))
        message.header.frame_id = reference_of(frames, channel.sensor)
        return message

    def values_of(self, readings: Readings) -> Mapping[str, Floats]:
        """Return poses from where the sensors were at first, and twists in their own frames."""
        values = readings.values
        positions, orientations = values["origin_position"], values["origin_orientation"]
        return {
            "position": positions + quaternions.rotate(orientations, values["position"]),
            "orientation": quaternions.multiply(orientations, values["orientation"]),
            "twist": np.hstack([values["linear_velocity"], values["angular_velocity"]]),
        }
