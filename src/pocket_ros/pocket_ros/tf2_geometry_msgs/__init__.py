"""Geometry messages in other frames; importing it is not needed, buffers know these types."""

from __future__ import annotations

from typing import Any

from ..interfaces.classes import message_class
from ..tf2_ros.buffer import (
    do_transform_point,
    do_transform_polygon_stamped,
    do_transform_pose,
    do_transform_pose_stamped,
    do_transform_pose_with_covariance_stamped,
    do_transform_vector3,
    transform_covariance,
)
from ..tf2_ros.buffer_interface import ConvertRegistration

__all__ = [
    "do_transform_point",
    "do_transform_polygon_stamped",
    "do_transform_pose",
    "do_transform_pose_stamped",
    "do_transform_pose_with_covariance_stamped",
    "do_transform_vector3",
    "from_msg_msg",
    "to_msg_msg",
    "transform_covariance",
]


def to_msg_msg(msg: Any) -> Any:
    """A message as a message: it is one."""
    return msg


def from_msg_msg(msg: Any) -> Any:
    """A message from a message: it is one."""
    return msg


for _name in ("PointStamped", "PolygonStamped", "PoseStamped", "PoseWithCovarianceStamped", "Vector3Stamped"):
    _message: type = message_class(f"geometry_msgs/msg/{_name}")
    ConvertRegistration().add_to_msg(_message, to_msg_msg)
    ConvertRegistration().add_from_msg(_message, from_msg_msg)
