"""<camera>/camera_info: the intrinsics of the camera."""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import CameraInfo

from fleet_sim.ros.sensors.bulk import BulkMessage
from fleet_sim.ros.sensors.camera import CameraTopics
from fleet_sim.sensors.camera import CameraReading, CameraSensorParams


class CameraInfoTopic(CameraTopics):
    """Publishes the intrinsics with the stamp of each picture. There is no distortion."""

    suffix = "camera_info"
    message_type = CameraInfo

    def message(self, params: CameraSensorParams, frame: str) -> BulkMessage:
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
        return {}
