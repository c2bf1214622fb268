"""<camera>/depth/image_raw: depth."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.ros.sensors.camera_image import CameraPictureTopic
from fleet_sim.sensors.camera import CameraReading


class CameraDepthTopic(CameraPictureTopic):
    """Publishes depth as 32FC1: m along the optical axis, +inf if nothing is in range, as in REP 117 and 118."""

    channel = "depth"
    suffix = "depth/image_raw"
    encoding = "32FC1"
    pixel_bytes = 4

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        assert reading.depth is not None
        return {"data": reading.depth.astype("<f4", copy=False).view(np.uint8)}
