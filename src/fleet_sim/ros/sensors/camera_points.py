"""<camera>/points: a point per pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import PointCloud2, PointField

from fleet_sim.ros.sensors.bulk import BulkMessage
from fleet_sim.ros.sensors.camera import CameraTopics
from fleet_sim.sensors.camera import CameraReading, CameraSensorParams

_POINT = 16


class CameraPointsTopic(CameraTopics):
    """Publishes an organised cloud, one row per row of pixels: x, y, z, and the colour if available.

    Empty pixels have NaN points.
    """

    channel = "depth"
    suffix = "points"
    message_type = PointCloud2

    def message(self, params: CameraSensorParams, frame: str) -> BulkMessage:
        message = PointCloud2(
            height=params.height,
            width=params.width,
            point_step=_POINT,
            row_step=_POINT * params.width,
            is_bigendian=False,
            is_dense=False,
        )
        message.header.frame_id = frame
        names = ("x", "y", "z", "rgb") if "rgb" in params.channels else ("x", "y", "z")
        message.fields = [
            PointField(name=name, offset=4 * index, datatype=PointField.FLOAT32, count=1)
            for index, name in enumerate(names)
        ]
        return BulkMessage(message, {"data": ("u1", _POINT * params.width * params.height)})

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        assert reading.depth is not None
        points = np.zeros((*reading.depth.shape, 4), "<f4")
        points[..., :3] = reading.points()
        if reading.rgb is not None:
            # Packed as in PCL: blue in the lowest byte, then green and red.
            points.view(np.uint8)[..., 12:15] = reading.rgb[..., ::-1]
        return {"data": points.view(np.uint8)}
