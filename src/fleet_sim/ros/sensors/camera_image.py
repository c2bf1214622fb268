"""<camera>/image_raw: colours."""

from __future__ import annotations

from typing import Any, ClassVar

from sensor_msgs.msg import Image

from fleet_sim.ros.sensors.bulk import BulkMessage
from fleet_sim.ros.sensors.camera import CameraTopics
from fleet_sim.sensors.camera import CameraReading, CameraSensorParams


def image_message(params: CameraSensorParams, frame: str, encoding: str, pixel: int) -> BulkMessage:
    """Return an image with the array data, of `pixel` bytes for each pixel."""
    step = params.width * pixel
    message = Image(height=params.height, width=params.width, encoding=encoding, is_bigendian=0, step=step)
    message.header.frame_id = frame
    return BulkMessage(message, {"data": ("u1", step * params.height)})


class CameraPictureTopic(CameraTopics):
    """Base of topics with an Image: `encoding` of the pixels, and how many bytes each has."""

    message_type = Image
    encoding: ClassVar[str]
    pixel_bytes: ClassVar[int]

    def message(self, params: CameraSensorParams, frame: str) -> BulkMessage:
        return image_message(params, frame, self.encoding, self.pixel_bytes)


class CameraImageTopic(CameraPictureTopic):
    """Publishes colours as rgb8."""

    channel = "rgb"
    suffix = "image_raw"
    encoding = "rgb8"
    pixel_bytes = 3

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        return {"data": reading.rgb}
