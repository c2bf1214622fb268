"""<camera>/depth/image_raw: depth."""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import Image

from fleet_sim.ros.sensors.bulk import BulkMessage
from fleet_sim.ros.sensors.camera import CameraTopics
from fleet_sim.ros.sensors.camera_image import image_message
from fleet_sim.sensors.camera import CameraReading, CameraSensorParams


class CameraDepthTopic(CameraTopics):
    """Publishes depth as 32FC1: m along the optical axis, +inf if nothing is in range, as in REP 117 and 118."""

    channel = "depth"
    suffix = "depth/image_raw"
    message_type = Image

    def message(self, params: CameraSensorParams, frame: str) -> BulkMessage:
        return image_message(params, frame, "32FC1", 4)

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        assert reading.depth is not None
        return {"data": reading.depth.astype("<f4", copy=False).view(np.uint8)}
