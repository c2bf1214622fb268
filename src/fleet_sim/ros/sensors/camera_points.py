"""<camera>/points: a point per pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import PointCloud2

from fleet_sim.ros.sensors.bulk import BulkMessage
from fleet_sim.ros.sensors.camera import CameraTopics
from fleet_sim.ros.sensors.clouds import cloud_message
from fleet_sim.sensors.camera import CameraReading, CameraSensorParams

_NUMBERS = 4
"""Of each point: x, y, z and the colour, whose place is there without colours too."""


class CameraPointsTopic(CameraTopics):
    """Publishes an organised cloud, one row per row of pixels: x, y, z, and the colour if available.

    Empty pixels have NaN points.
    """

    channel = "depth"
    suffix = "points"
    message_type = PointCloud2

    def message(self, params: CameraSensorParams, frame: str) -> BulkMessage:
        names = ("x", "y", "z", "rgb") if "rgb" in params.channels else ("x", "y", "z")
        return cloud_message(frame, params.height, params.width, names, _NUMBERS)

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        assert reading.depth is not None
        points = np.zeros((*reading.depth.shape, _NUMBERS), "<f4")
        points[..., :3] = reading.points()
        if reading.rgb is not None:
            # Packed as in PCL: blue in the lowest byte, then green and red.
            points.view(np.uint8)[..., 12:15] = reading.rgb[..., ::-1]
        return {"data": points.view(np.uint8)}
