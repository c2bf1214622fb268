"""The parts of a robot description: links and joints as they are in the file, before they are assembled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from fleet_sim.core.robot_model import FIXED, PRISMATIC, REVOLUTE, Inertial
from fleet_sim.core.shapes import Geometry, seen_as
from fleet_sim.errors import did_you_mean
from fleet_sim.models.markup import Element
from fleet_sim.models.values import ORIGIN, UNTURNED, Quaternion, Vector
from fleet_sim.spatial.shapes import ShapeKind

NO_LIMITS = (0.0, -1.0)
"""Lower and upper limit of a joint without limits, as in PyBullet."""


_JOINT_KINDS = {"revolute": REVOLUTE, "continuous": REVOLUTE, "prismatic": PRISMATIC, "fixed": FIXED}
"""The kinds of joints that URDF and SDF have in common."""


@dataclass
class LinkParts:
    """The data of one link in a file; `element` is its place there."""

    name: str
    element: Element
    inertial: Inertial = field(default_factory=Inertial)
    visuals: list[Geometry] = field(default_factory=list)
    collisions: list[Geometry] = field(default_factory=list)


@dataclass
class JointParts:
    """The data of one joint in a file; `element` is its place there."""

    name: str
    element: Element
    kind: int
    parent: str
    child: str
    position: Vector = ORIGIN
    orientation: Quaternion = UNTURNED
    axis: Vector = (1.0, 0.0, 0.0)
    lower: float = NO_LIMITS[0]
    upper: float = NO_LIMITS[1]
    max_velocity: float = 0.0
    max_force: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    mimic: MimicParts | None = None


@dataclass
class MimicParts:
    """The data of a <mimic> element: the joint it names, and how that is followed."""

    element: Element
    leader: str
    multiplier: float
    offset: float


def read_link(
    element: Element, inertial: Callable[[Element], Inertial], geometry: Callable[[Element], Geometry]
) -> LinkParts:
    """Return the parts of a <link> of URDF or SDF; the functions read its <inertial>, and a <visual> or <collision>."""
    found = element.child("inertial")
    collisions = [_collision(collision, geometry(collision)) for collision in element.all("collision")]
    return LinkParts(
        element.need("name"),
        element,
        inertial(found) if found else Inertial(),
        [seen_as(geometry(visual), collisions) for visual in element.all("visual")],
        collisions,
    )


def _collision(element: Element, geometry: Geometry) -> Geometry:
    # As in PyBullet, which asks for the attribute only and takes any value of it for yes.
    concave = "concave" in element.attributes and geometry.kind == ShapeKind.MESH
    return replace(geometry, concave=True) if concave else geometry


def joint_kind(element: Element, name: str, more: Mapping[str, int]) -> int:
    """Return the kind of joint that a URDF or SDF file calls `name`; raises InvalidValueError with the closest one.

    `more` are the kinds that only this format has.
    """
    kinds = {**_JOINT_KINDS, **more}
    kind = kinds.get(name)
    if kind is None:
        raise element.error(f"joints of type {name!r} are not supported.{did_you_mean(name, kinds)}")
    return kind


def checked_axis(element: Element, axis: tuple[float, ...], kind: int) -> Vector:
    """Return `axis` as a unit vector, (1, 0, 0) for a fixed joint; raises InvalidValueError for a zero one."""
    if kind == FIXED:
        return (1.0, 0.0, 0.0)
    x, y, z = axis
    length = float(np.sqrt(x * x + y * y + z * z))
    if length < 1e-9:
        raise element.error("the axis of a joint must not be zero")
    # An axis that already has length 1 is returned bit for bit.
    return (x, y, z) if abs(length - 1.0) < 1e-12 else (x / length, y / length, z / length)
