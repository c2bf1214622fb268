"""Functions that make and check geometries, shared by the readers of all formats."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.core.robot_model import PLANAR
from fleet_sim.core.shapes import Geometry
from fleet_sim.errors import did_you_mean
from fleet_sim.models.markup import Element
from fleet_sim.models.parts import checked_axis
from fleet_sim.models.values import Color, Quaternion, Vector
from fleet_sim.spatial import quaternions

SHAPES = ("box", "sphere", "cylinder", "capsule", "mesh", "plane")
"""What links look like and collide as, by the elements of URDF and SDF."""


def make_geometry(kind: int, position: Vector, orientation: Quaternion, color: Color, **sizes: Any) -> Geometry:
    """Return a geometry in its link's frame."""
    return Geometry(kind=int(kind), rgba=color, position=position, orientation=orientation, **sizes)


def shape_in(element: Element) -> Element:
    """Return the shape in the <geometry> of a URDF or SDF element; raises InvalidValueError for none of SHAPES."""
    outer = element.need_child("geometry")
    shape = next(outer.all(*SHAPES), None)
    if shape is None:
        given = [child.tag for child in outer.children]
        raise outer.error(
            f"needs one of {', '.join(f'<{name}>' for name in SHAPES)}, got {given or 'nothing'}."
            f"{did_you_mean(given[0], SHAPES) if given else ''}"
        )
    return shape


def checked_size(shape: Element, size: float) -> float:
    """Return `size`; raises InvalidValueError if it is negative."""
    if size < 0.0:
        raise shape.error(f"sizes must not be negative, got {size:g}")
    return size


def turn_of(eulers: tuple[float, ...]) -> Quaternion:
    """Return the quaternion of roll, pitch, yaw."""
    x, y, z, w = quaternions.normalized(quaternions.from_eulers(np.array([eulers])))[0].tolist()
    return (x, y, z, w)


def from_z(shape: Element, direction: tuple[float, ...], orientation: Quaternion = (0.0, 0.0, 0.0, 1.0)) -> Quaternion:
    """Return `orientation` times the shortest rotation of the z axis to `direction`, which must not be zero."""
    # Checks the length, too: an axis of no length has no direction.
    x, y, z = checked_axis(shape, direction, PLANAR)
    # The quaternion (z x d, 1 + z . d) turns z to d by the shortest way. For the opposite direction it is zero,
    # and the half turn about x serves.
    turn = np.array([[1.0, 0.0, 0.0, 0.0]]) if z < -1.0 + 1e-9 else np.array([[-y, x, 0.0, 1.0 + z]])
    turned = quaternions.multiply(np.array([orientation]), quaternions.normalized(turn))
    qx, qy, qz, qw = turned[0].tolist()
    return (qx, qy, qz, qw)
