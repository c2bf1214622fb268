"""Messages of organised point clouds, which lidars with layers and cameras share."""

from __future__ import annotations

from collections.abc import Sequence

from sensor_msgs.msg import PointCloud2, PointField

from fleet_sim.ros.sensors.bulk import BulkMessage


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
