"""The topics of cameras: <robot>/<camera>/..., stamped with the time of the state shown, in the optical frame."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sensor_msgs.msg import CameraInfo, Image, PointCloud2

from fleet_sim.ros.sensors.bulk import BulkMessage
from fleet_sim.ros.sensors.names import optical_frame_of
from fleet_sim.ros.sensors.points import cloud_message
from fleet_sim.ros.sensors.topics import MessageTopics
from fleet_sim.sensors import Readings, Sensor
from fleet_sim.sensors.camera import CameraReading, CameraSensorParams


class CameraTopics(MessageTopics):
    """Publishes one part of a camera's readings, for cameras with the channel it needs.

    A camera is rendered at its own rate while one of its topics has subscribers.
    """

    sensor_type = "camera"
    channel: ClassVar[str] = ""

    def wants_sensor(self, sensor: Sensor) -> bool:
        """Return whether a camera makes the pictures of this topic."""
        return not self.channel or self.channel in sensor.params.channels

    def message(self, params: CameraSensorParams, frame: str) -> BulkMessage:
        """Return the message of a camera, whose pictures are in `frame`."""
        raise NotImplementedError

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        """Return the arrays of the message that change with each picture."""
        raise NotImplementedError

    def frame_of(self, sensor: Sensor) -> str:
        return optical_frame_of(self.bridge.frames, sensor)

    def send(self, readings: Readings, now: int) -> None:
        """Publish the pictures of cameras for which this topic has subscribers."""
        for index, channel in self.with_channels(readings):
            # The camera was rendered for some of its topics, not necessarily for this one.
            if channel.publisher.get_subscription_count():
                message = self._messages[channel.slot]
                channel.publisher.publish(message.fill(now, **self.arrays(readings[index])))


def image_message(params: CameraSensorParams, frame: str, encoding: str, pixel: int) -> BulkMessage:
    """Return an image with the array data, of `pixel` bytes for each pixel."""
    step = params.width * pixel
    message = Image(height=params.height, width=params.width, encoding=encoding, is_bigendian=0, step=step)
    message.header.frame_id = frame
    return BulkMessage(message, {"data": ("u1", step * params.height)})


class CameraPictureTopic(CameraTopics):
    """Base of topics with an Image: `encoding` of the pixels, and how many bytes each has.

    The picture is in the optical frame: z ahead, x to the right, y down.
    """

    message_type = Image
    encoding: ClassVar[str]
    pixel_bytes: ClassVar[int]

    def message(self, params: CameraSensorParams, frame: str) -> BulkMessage:
        return image_message(params, frame, self.encoding, self.pixel_bytes)


class CameraImageTopic(CameraPictureTopic):
    """Publishes colors as rgb8."""

    channel, suffix = "rgb", "image_raw"
    encoding, pixel_bytes = "rgb8", 3

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        return {"data": reading.rgb}


class CameraDepthTopic(CameraPictureTopic):
    """Publishes depth as 32FC1: m along the optical axis, +inf if nothing is in range, as in REP 117 and 118."""

    channel, suffix = "depth", "depth/image_raw"
    encoding, pixel_bytes = "32FC1", 4

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        """Return the depths as bytes of little-endian float32."""
        assert reading.depth is not None
        return {"data": reading.depth.astype("<f4", copy=False).view(np.uint8)}


class CameraInfoTopic(CameraTopics):
    """Publishes the intrinsics with the stamp of each picture. There is no distortion."""

    suffix = "camera_info"
    message_type = CameraInfo

    def message(self, params: CameraSensorParams, frame: str) -> BulkMessage:
        """Return the CameraInfo of a camera without distortion."""
        matrix = params.lens().matrix
        message = CameraInfo(
            height=params.height,
            width=params.width,
            distortion_model="plumb_bob",
            # The coefficients of plumb_bob; all are zero without distortion.
            d=[0.0] * 5,
            k=matrix.reshape(-1).tolist(),
            r=np.eye(3).reshape(-1).tolist(),
            p=np.hstack([matrix, np.zeros((3, 1))]).reshape(-1).tolist(),
        )
        message.header.frame_id = frame
        return BulkMessage(message, {})

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        """Return nothing: only the stamp changes."""
        return {}


_NUMBERS = 4
"""Of each point: x, y, z and the color, whose place is there without colors too."""


class CameraPointsTopic(CameraTopics):
    """Publishes an organised cloud, one row per row of pixels: x, y, z, and the color if available.

    Empty pixels have NaN points.
    """

    channel = "depth"
    suffix = "points"
    message_type = PointCloud2

    def message(self, params: CameraSensorParams, frame: str) -> BulkMessage:
        names = ("x", "y", "z", "rgb") if "rgb" in params.channels else ("x", "y", "z")
        return cloud_message(frame, params.height, params.width, names, _NUMBERS)

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        """Return a point for each pixel, with its color where the camera has colors."""
        assert reading.depth is not None
        points = np.zeros((*reading.depth.shape, _NUMBERS), "<f4")
        points[..., :3] = reading.points()
        if reading.rgb is not None:
            # Packed as in PCL: blue in the lowest byte, then green and red.
            points.view(np.uint8)[..., 12:15] = reading.rgb[..., ::-1]
        return {"data": points.view(np.uint8)}
