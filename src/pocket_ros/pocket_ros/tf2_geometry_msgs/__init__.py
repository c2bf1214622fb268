"""Geometry messages in other frames; importing it is not needed, buffers know these types."""

from ..tf2_ros.geometry import (
    do_transform_point,
    do_transform_polygon_stamped,
    do_transform_pose,
    do_transform_pose_stamped,
    do_transform_pose_with_covariance_stamped,
    do_transform_vector3,
    transform_covariance,
)

__all__ = [
    "do_transform_point",
    "do_transform_polygon_stamped",
    "do_transform_pose",
    "do_transform_pose_stamped",
    "do_transform_pose_with_covariance_stamped",
    "do_transform_vector3",
    "transform_covariance",
]
