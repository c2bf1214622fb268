"""Stamped geometry messages in other frames."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ..interfaces.classes import message_class
from .rigid import Rigid, compose, rotate


def register(registration: Any) -> None:
    """Let buffers transform PointStamped, Vector3Stamped and PoseStamped."""
    for name, function in {
        "PointStamped": do_transform_point,
        "Vector3Stamped": do_transform_vector3,
        "PoseStamped": do_transform_pose_stamped,
    }.items():
        registration.add(message_class(f"geometry_msgs/msg/{name}"), function)


def do_transform_point(point: Any, transform: Any) -> Any:
    """A PointStamped in the transform's frame."""
    result = _moved(point, transform)
    p = result.point
    p.x, p.y, p.z = compose(_rigid(transform), Rigid((p.x, p.y, p.z), (0.0, 0.0, 0.0, 1.0))).translation
    return result


def do_transform_vector3(vector3: Any, transform: Any) -> Any:
    """A Vector3Stamped in the transform's frame: rotated, not moved."""
    result = _moved(vector3, transform)
    v = result.vector
    v.x, v.y, v.z = rotate(_rigid(transform).rotation, (v.x, v.y, v.z))
    return result


def do_transform_pose(pose: Any, transform: Any) -> Any:
    """A Pose in the transform's frame."""
    result = deepcopy(pose)
    p, q = result.position, result.orientation
    moved = compose(_rigid(transform), Rigid((p.x, p.y, p.z), (q.x, q.y, q.z, q.w)))
    p.x, p.y, p.z = moved.translation
    q.x, q.y, q.z, q.w = moved.rotation
    return result


def do_transform_pose_stamped(pose: Any, transform: Any) -> Any:
    """A PoseStamped in the transform's frame."""
    result = _moved(pose, transform)
    result.pose = do_transform_pose(pose.pose, transform)
    return result


def _moved(message: Any, transform: Any) -> Any:
    result = deepcopy(message)
    result.header = deepcopy(transform.header)
    return result


def _rigid(transform: Any) -> Rigid:
    t, r = transform.transform.translation, transform.transform.rotation
    return Rigid((t.x, t.y, t.z), (r.x, r.y, r.z, r.w))
