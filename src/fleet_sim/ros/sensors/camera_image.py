"""<camera>/image_raw: colours."""

from __future__ import annotations

from typing import Any

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


class CameraImageTopic(CameraTopics):
    """Publishes colours as rgb8."""

    channel = "rgb"
    suffix = "image_raw"
    message_type = Image

    def message(self, params: CameraSensorParams, frame: str) -> BulkMessage:
        return image_message(params, frame, "rgb8", 3)

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        return {"data": reading.rgb}
