"""<robot>/points: point clouds of multi-layer lidars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import PointCloud2, PointField

from fleet_sim.ros.sensors.bulk import BulkMessage
from fleet_sim.ros.sensors.topics import MessageTopics
from fleet_sim.sensors import Lidar3dParams, Readings


def points_message(params: Lidar3dParams, frame: str) -> BulkMessage:
    """Return the message of a multi-layer lidar, with the array data: x, y, z of each point."""
    return cloud_message(frame, params.layers, params.rays, "xyz", 3)


class PointsTopic(MessageTopics):
    """Publishes organised clouds, one row per layer; rays without a hit have NaN points.

    On <robot>/<lidar>, a PointCloud2 of float32 x, y, z in m in the sensor's frame. `is_dense` is false.
    """

    sensor_type = "lidar_3d"
    message_type = PointCloud2

    def message(self, params: Lidar3dParams, frame: str) -> BulkMessage:
        return points_message(params, frame)

    def send(self, readings: Readings, now: int) -> None:
        """Publish the clouds, as float32."""
        points = readings.values["points"].astype("<f4")
        for index, channel in self.with_channels(readings):
            data = points[index].reshape(-1).view(np.uint8)
            channel.publisher.publish(self._messages[channel.slot].fill(now, data=data))


def cloud_message(frame: str, height: int, width: int, fields: Sequence[str], numbers: int) -> BulkMessage:
    """Return a cloud of `height` rows with the array data: `numbers` float32 for each point, the first are `fields`."""
    size = 4 * numbers
    message = PointCloud2(
        height=height,
        width=width,
        point_step=size,
        row_step=size * width,
        is_bigendian=False,
        # Points that show nothing are not numbers.
        is_dense=False,
    )
    message.header.frame_id = frame
    message.fields = [
        PointField(name=name, offset=4 * index, datatype=PointField.FLOAT32, count=1)
        for index, name in enumerate(fields)
    ]
    return BulkMessage(message, {"data": ("u1", size * width * height)})
