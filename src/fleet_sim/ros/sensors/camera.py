"""Base of camera topics: <robot>/<camera>/..., stamped with the time of the state shown, in the optical frame."""

from __future__ import annotations

from typing import Any, ClassVar

from geometry_msgs.msg import TransformStamped

from fleet_sim.core.ros_names import Frames
from fleet_sim.ros.sensors.bulk import BulkMessage
from fleet_sim.ros.sensors.names import frame_of
from fleet_sim.ros.sensors.topics import Channel, MessageTopics
from fleet_sim.sensors import Readings, Sensor
from fleet_sim.sensors.camera import CameraReading, CameraSensorParams
from fleet_sim.sensors.render.optics import OPTICAL_TURN


def optical_frame_of(frames: Frames, sensor: Sensor) -> str:
    """Return the name of a camera's optical frame: x right, y down, z forward."""
    return f"{frame_of(frames, sensor)}_optical_frame"


def optical_transform(frames: Frames, sensor: Sensor) -> TransformStamped:
    """Return the pose of a camera's optical frame in the frame defined by the camera's pose."""
    transform = TransformStamped(child_frame_id=optical_frame_of(frames, sensor))
    transform.header.frame_id = frame_of(frames, sensor)
    turn = transform.transform.rotation
    if sensor.params.frame == "body":
        turn.x, turn.y, turn.z, turn.w = OPTICAL_TURN
    return transform


class CameraTopics(MessageTopics):
    """Publishes one part of a camera's readings, for cameras with the channel it needs.

    A camera is rendered at its own rate while one of its topics has subscribers.
    """

    sensor_type = "camera"
    channel: ClassVar[str] = ""

    def wants_sensor(self, sensor: Sensor) -> bool:
        return not self.channel or self.channel in sensor.params.channels

    def message(self, params: CameraSensorParams, frame: str) -> BulkMessage:
        """Return the message of a camera, whose pictures are in `frame`."""
        raise NotImplementedError

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        """Return the arrays of the message that change with each picture."""
        raise NotImplementedError

    def message_of(self, channel: Channel) -> BulkMessage:
        return self.message(channel.sensor.params, optical_frame_of(self.bridge.frames, channel.sensor))

    def send(self, readings: Readings, now: int) -> None:
        for index, channel in self.with_channels(readings):
            # The camera was rendered for some of its topics, not necessarily for this one.
            if channel.publisher.get_subscription_count():
                message = self._messages[channel.slot]
                channel.publisher.publish(message.fill(now, **self.arrays(readings[index])))
