"""Stamped geometry messages in other frames."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ..interfaces.classes import message_class
from .rigid import Rigid, StampedTransform, compose, rotate, rotation_of

if TYPE_CHECKING:
    from .buffer_interface import TransformRegistration


def register(registration: TransformRegistration) -> None:
    """Let buffers transform the stamped messages that ROS lets them."""
    for name, function in {
        "geometry_msgs/msg/PointStamped": do_transform_point,
        "geometry_msgs/msg/Vector3Stamped": do_transform_vector3,
        "geometry_msgs/msg/PoseStamped": do_transform_pose_stamped,
        "geometry_msgs/msg/PoseWithCovarianceStamped": do_transform_pose_with_covariance_stamped,
        "geometry_msgs/msg/PolygonStamped": do_transform_polygon_stamped,
        "sensor_msgs/msg/PointCloud2": _do_transform_cloud,
    }.items():
        registration.add(message_class(name), function)


def _do_transform_cloud(cloud: Any, transform: StampedTransform) -> Any:
    from ..tf2_sensor_msgs import do_transform_cloud  # NumPy is not needed for the others

    return do_transform_cloud(cloud, transform)


def do_transform_point(point: Any, transform: StampedTransform) -> Any:
    """A PointStamped in the transform's frame."""
    result = _moved(point, transform)
    p = result.point
    p.x, p.y, p.z = compose(_rigid(transform), Rigid((p.x, p.y, p.z), (0.0, 0.0, 0.0, 1.0))).translation
    return result


def do_transform_vector3(vector3: Any, transform: StampedTransform) -> Any:
    """A Vector3Stamped in the transform's frame: rotated, not moved."""
    result = _moved(vector3, transform)
    v = result.vector
    v.x, v.y, v.z = rotate(_rigid(transform).rotation, (v.x, v.y, v.z))
    return result


def do_transform_pose(pose: Any, transform: StampedTransform) -> Any:
    """A Pose in the transform's frame, its orientation of length one and with a w that is not negative."""
    result = deepcopy(pose)
    p, q = result.position, result.orientation
    moved = compose(_rigid(transform), Rigid((p.x, p.y, p.z), rotation_of(q)))
    p.x, p.y, p.z = moved.translation
    x, y, z, w = moved.rotation
    # Both signs are one rotation; ROS gives the one whose w is not negative.
    q.x, q.y, q.z, q.w = (-x, -y, -z, -w) if w < 0 else (x, y, z, w)
    return result


def do_transform_pose_stamped(pose: Any, transform: StampedTransform) -> Any:
    """A PoseStamped in the transform's frame."""
    result = _moved(pose, transform)
    result.pose = do_transform_pose(pose.pose, transform)
    return result


def do_transform_pose_with_covariance_stamped(pose: Any, transform: StampedTransform) -> Any:
    """A PoseWithCovarianceStamped in the transform's frame, its covariance turned with it."""
    result = _moved(pose, transform)
    result.pose.pose = do_transform_pose(pose.pose.pose, transform)
    result.pose.covariance = transform_covariance(pose.pose.covariance, transform)
    return result


def transform_covariance(cov_in: Sequence[float], transform: StampedTransform) -> list[float]:
    """A covariance (6 by 6, row by row: position, then rotation) about the axes of the transform's frame."""
    rotation = _rigid(transform).rotation
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    columns = [rotate(rotation, axis) for axis in axes]
    blocks = (0, 3)
    turned = [0.0] * 36
    for row_block in blocks:
        for column_block in blocks:
            block = [[cov_in[6 * (row_block + i) + column_block + j] for j in range(3)] for i in range(3)]
            for i in range(3):
                for j in range(3):
                    turned[6 * (row_block + i) + column_block + j] = sum(
                        columns[k][i] * block[k][m] * columns[m][j] for k in range(3) for m in range(3)
                    )
    return turned


def do_transform_polygon_stamped(polygon: Any, transform: StampedTransform) -> Any:
    """A PolygonStamped in the transform's frame."""
    result = _moved(polygon, transform)
    for p in result.polygon.points:
        p.x, p.y, p.z = compose(_rigid(transform), Rigid((p.x, p.y, p.z), (0.0, 0.0, 0.0, 1.0))).translation
    return result


def _moved(message: Any, transform: StampedTransform) -> Any:
    result = deepcopy(message)
    result.header = deepcopy(transform.header)
    return result


def _rigid(transform: StampedTransform) -> Rigid:
    t = transform.transform.translation
    return Rigid((t.x, t.y, t.z), rotation_of(transform.transform.rotation))
