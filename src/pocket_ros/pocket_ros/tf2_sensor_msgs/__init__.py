"""Point clouds in other frames; importing it is not needed, buffers know PointCloud2."""

from __future__ import annotations

import sys
from array import array
from copy import deepcopy
from typing import Any

import numpy as np

from ..interfaces.classes import message_class
from ..sensor_msgs_py import read_points
from ..tf2_ros.buffer_interface import ConvertRegistration
from ..tf2_ros.rigid import rotate, rotation_of

__all__ = ["do_transform_cloud", "from_msg_msg", "to_msg_msg", "transform_points"]

PointCloud2: Any = message_class("sensor_msgs/msg/PointCloud2")
Header: Any = message_class("std_msgs/msg/Header")
Array = np.ndarray[Any, Any]


def to_msg_msg(msg: Any) -> Any:
    """A message as a message: it is one."""
    return msg


def from_msg_msg(msg: Any) -> Any:
    """A message from a message: it is one."""
    return msg


def transform_points(point_cloud: Array, transform: Any) -> Array:
    """Points (N, 3) mapped by a geometry_msgs/msg/Transform, which rotates and then moves them."""
    turn, move = rotation_of(transform.rotation), transform.translation
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    # Row k is where axis k goes, so this is the rotation matrix transposed, as rows of points want it.
    rows = np.array([rotate(turn, axis) for axis in axes])
    moved: Array = point_cloud @ rows + (move.x, move.y, move.z)
    return moved


def do_transform_cloud(cloud: Any, transform: Any) -> Any:
    """A PointCloud2 in the frame of a TransformStamped: x, y and z are mapped, other fields stay.

    The stamp stays that of the cloud. By a Transform, which names no frame, the frame's name stays as well.
    Raises AssertionError for a cloud without x, y and z.
    """
    header = Header(stamp=deepcopy(cloud.header.stamp), frame_id=cloud.header.frame_id)
    if hasattr(transform, "transform"):
        header.frame_id, transform = transform.header.frame_id, transform.transform
    points = read_points(cloud).copy()
    assert {"x", "y", "z"} <= set(points.dtype.names or ()), (
        f"the cloud has no x, y and z: {points.dtype.names}"
    )
    mapped = transform_points(np.stack([points[axis] for axis in "xyz"], axis=1), transform)
    for index, axis in enumerate("xyz"):
        points[axis] = mapped[:, index]
    if cloud.is_bigendian != (sys.byteorder == "big"):
        points = points.byteswap()
    return PointCloud2(
        header=header,
        height=cloud.height,
        width=cloud.width,
        fields=deepcopy(cloud.fields),
        is_bigendian=cloud.is_bigendian,
        point_step=cloud.point_step,
        row_step=cloud.row_step,
        data=array("B", points.tobytes()),
        is_dense=cloud.is_dense,
    )


ConvertRegistration().add_to_msg(PointCloud2, to_msg_msg)
ConvertRegistration().add_from_msg(PointCloud2, from_msg_msg)
