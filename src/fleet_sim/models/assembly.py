"""Assembles links and joints from a file into a RobotModel: parts, inertia and geometries.

The order is depth first from the root link; children of a link are in the order of their joints in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fleet_sim.base.errors import did_you_mean
from fleet_sim.base.limits import LARGEST_MASS, LARGEST_SIZE
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models.markup import Element
from fleet_sim.world.shapes import (
    BASE,
    FIXED,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    Geometry,
    Inertial,
    LinkGeometry,
    Mimic,
    RobotModel,
    seen_as,
)

# The values that descriptions of robots are made of.


Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
"""x, y, z, w."""
Color = tuple[float, float, float, float]
"""Red, green, blue and opacity from 0 to 1."""

ORIGIN: Vector = (0.0, 0.0, 0.0)
UNTURNED: Quaternion = (0.0, 0.0, 0.0, 1.0)
DEFAULT_COLOR: Color = (0.8, 0.8, 0.8, 1.0)


# The parts of a robot description: links and joints as they are in the file, before they are assembled.


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


MOST_LINKS = 1000
"""Of one model: PyBullet takes seconds to load more, and ends the process at ten thousand."""
LONGEST_CHAIN = 300
"""Joints one behind the other."""


def assemble(name: str, path: str, root: Element, links: list[LinkParts], joints: list[JointParts]) -> RobotModel:
    """Return the model of `links` and `joints`, which must form one tree.

    Raises InvalidValueError naming the element for a name used twice, a joint between unknown links, a link with two
    parents, a loop, more than one root, or no links.
    """
    if not links:
        raise root.error("has no <link>")
    if len(links) > MOST_LINKS:
        raise root.error(
            f"has {len(links)} links; a model may have {MOST_LINKS}. Spawn its parts as models of their own"
        )
    # All names first: what follows finds parts by name.
    by_name = _unique(links, "link")
    _unique(joints, "joint")
    children = _children(by_name, joints)
    base = _root_link(root, links, joints)
    order = _depth_first(base.name, children)
    # Fewer joints were reached than there are, so the others go round in a circle.
    if len(order) < len(joints):
        raise _loop_error(joints, {joint.name for joint in order})
    _check_depth(base.name, order)
    _check_sizes(links, joints)
    # Built at last, when nothing can be wrong any more.
    return _model(name, path, base, order, by_name)


def _check_depth(base: str, order: list[JointParts]) -> None:
    depths = {base: 0}
    for joint in order:
        # Parents come before children in this order, so their depths are known.
        depths[joint.child] = depth = depths[joint.parent] + 1
        if depth > LONGEST_CHAIN:
            raise joint.element.error(f"more than {LONGEST_CHAIN} joints are one behind the other")


def _check_sizes(links: list[LinkParts], joints: list[JointParts]) -> None:
    """Raise InvalidValueError for what is larger than a body may be; numbers that are none are larger, too."""
    for joint in joints:
        # `not ... <=`, so that NaN is refused too.
        if not max(map(abs, joint.position)) <= LARGEST_SIZE:
            raise joint.element.error(
                f"is {list(joint.position)} from its parent; at most {LARGEST_SIZE:g} m along an axis"
            )
    for link in links:
        inertial = link.inertial
        if not (0.0 <= inertial.mass <= LARGEST_MASS and max(map(abs, inertial.position)) <= LARGEST_SIZE):
            raise link.element.error(
                f"has a mass of {inertial.mass:g} kg; expected 0 to {LARGEST_MASS:g}, near the link"
            )
        for geometry in (*link.visuals, *link.collisions):
            sizes = (*geometry.position, *geometry.half_extents, geometry.radius, geometry.height)
            if not max(map(abs, sizes)) <= LARGEST_SIZE:
                raise link.element.error(f"has a shape larger or farther away than {LARGEST_SIZE:g} m")


def _unique(parts: Iterable[LinkParts] | Iterable[JointParts], kind: str) -> dict[str, LinkParts]:
    found: dict[str, LinkParts] = {}
    for part in parts:
        first = found.setdefault(part.name, part)  # type: ignore[arg-type]  # joints are only checked
        if first is not part:
            raise part.element.error(f"another {kind} is called {part.name!r}, in line {first.element.line}")
    return found


def _children(links: dict[str, LinkParts], joints: list[JointParts]) -> dict[str, list[JointParts]]:
    """Return the joints below each link; raises an error with the line for unknown links, loops and second parents."""
    children: dict[str, list[JointParts]] = {name: [] for name in links}
    parents: dict[str, JointParts] = {}
    for joint in joints:
        # Both ends, as a typing error is as likely in either.
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                raise joint.element.error(f"there is no {role} link {name!r}.{did_you_mean(name, links)}")
        if joint.parent == joint.child:
            raise joint.element.error(f"joins the link {joint.child!r} to itself")
        first = parents.setdefault(joint.child, joint)
        if first is not joint:
            raise joint.element.error(
                f"the link {joint.child!r} is already the child of joint {first.name!r}, in line {first.element.line}; "
                "a link has one parent"
            )
        children[joint.parent].append(joint)
    return children


def _root_link(root: Element, links: list[LinkParts], joints: list[JointParts]) -> LinkParts:
    """Return the one link that no joint moves; raises an error where there is none, or more than one."""
    moved = {joint.child for joint in joints}
    roots = [link for link in links if link.name not in moved]
    if not roots:
        raise _loop_error(joints, set())
    if len(roots) > 1:
        names = ", ".join(repr(link.name) for link in roots[:8]) + (", ..." if len(roots) > 8 else "")
        raise root.error(f"has {len(roots)} links without a parent joint, {names}; a robot has one root link")
    return roots[0]


def _depth_first(base: str, children: dict[str, list[JointParts]]) -> list[JointParts]:
    """Return joints in PyBullet's order: each before those below it, the first child first."""
    order: list[JointParts] = []
    # A stack: reversed, so that the first child is taken first.
    waiting = children[base][::-1]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting += children[joint.child][::-1]
    return order


def _loop_error(joints: list[JointParts], reached: set[str]) -> Exception:
    """Return the error that names the links of a loop, with the line of one of its joints."""
    above = {joint.child: joint for joint in joints if joint.name not in reached}
    # These links have parents but no root above them, so the way up must meet itself.
    link, seen = next(iter(above)), []
    while link not in seen:
        seen.append(link)
        link = above[link].parent
    loop = [*seen[seen.index(link) :], link]
    return above[link].element.error(f"the links form a loop: {' <- '.join(loop)}; a robot is a tree")


def _model(name: str, path: str, base: LinkParts, order: list[JointParts], by_name: dict[str, LinkParts]) -> RobotModel:
    """Return the model of links and joints, the latter in the order of their numbers."""
    # A joint and its child link have the same number, as in PyBullet.
    index = {base.name: BASE} | {joint.child: number for number, joint in enumerate(order)}
    links = [base] + [by_name[joint.child] for joint in order]
    count = len(order)
    return RobotModel(
        name=name,
        path=path,
        base_name=base.name,
        link_names=tuple(joint.child for joint in order),
        joint_names=tuple(joint.name for joint in order),
        joint_types=np.array([joint.kind for joint in order], np.int64),
        parents=np.array([index[joint.parent] for joint in order], np.int64),
        joint_positions=np.array([joint.position for joint in order], np.float64).reshape(count, 3),
        joint_orientations=np.array([joint.orientation for joint in order], np.float64).reshape(count, 4),
        axes=np.array([joint.axis for joint in order], np.float64).reshape(count, 3),
        lower=np.array([joint.lower for joint in order], np.float64),
        upper=np.array([joint.upper for joint in order], np.float64),
        max_velocities=np.array([joint.max_velocity for joint in order], np.float64),
        max_forces=np.array([joint.max_force for joint in order], np.float64),
        damping=np.array([joint.damping for joint in order], np.float64),
        friction=np.array([joint.friction for joint in order], np.float64),
        inertials=tuple(link.inertial for link in links),
        visuals=tuple(LinkGeometry(at, shape) for at, link in enumerate(links, BASE) for shape in link.visuals),
        collisions=tuple(LinkGeometry(at, shape) for at, link in enumerate(links, BASE) for shape in link.collisions),
        mimics=_mimics(order),
    )


def _mimics(joints: list[JointParts]) -> tuple[Mimic, ...]:
    """Return who follows whom, each by its last leader; raises InvalidValueError for a leader that does not move."""
    index = {joint.name: number for number, joint in enumerate(joints)}
    single = (REVOLUTE, PRISMATIC)
    found: list[Mimic] = []
    for number, joint in enumerate(joints):
        if joint.mimic is None or joint.kind not in single:
            continue
        # Up to the first joint that follows nobody: chains of followers become one step each.
        multiplier, offset, at, passed = 1.0, 0.0, joint, {joint.name}
        while at.mimic is not None:
            part, element = at.mimic, at.mimic.element
            if part.leader not in index:
                raise element.error(f"there is no joint {part.leader!r}.{did_you_mean(part.leader, index)}")
            if part.leader in passed:
                raise element.error(f"the joint {part.leader!r} would follow itself")
            offset += multiplier * part.offset
            multiplier *= part.multiplier
            at = joints[index[part.leader]]
            passed.add(at.name)
            if at.kind not in single:
                raise element.error(f"the joint {at.name!r} has no position to follow; name one that turns or slides")
        found.append(Mimic(number, index[at.name], multiplier, offset))
    return tuple(found)


# Converts inertia tensors to a principal frame and three moments.


_NEGATIVE = -1e-9


def inertial_of(
    element: Element, mass: float, position: Vector, orientation: Quaternion, tensor: tuple[float, ...]
) -> Inertial:
    """Return the Inertial of `mass` and `tensor` (ixx, ixy, ixz, iyy, iyz, izz) in a frame of the link.

    A diagonal tensor keeps its frame. Raises InvalidValueError for a negative mass, and for a negative principal
    moment, which no body can have.
    """
    if mass < 0.0:
        raise element.error(f"the mass must not be negative, got {mass:g} kg")
    ixx, ixy, ixz, iyy, iyz, izz = tensor
    moments: tuple[float, ...] = (ixx, iyy, izz)
    # Left alone where it is diagonal: eigenvalues come sorted, which would turn the frame for nothing.
    if ixy or ixz or iyz:
        values, axes = np.linalg.eigh(np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]))
        # Eigenvectors may form a left-handed frame.
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] *= -1.0
        moments = tuple(values.tolist())
        turned = quaternions.multiply(np.array([orientation]), quaternions.from_matrix(axes)[None])
        x, y, z, w = quaternions.normalized(turned)[0].tolist()
        orientation = (x, y, z, w)
    # Rounding in files makes tiny negative moments; these become 0 below.
    if min(moments) < _NEGATIVE * max(map(abs, moments)):
        raise element.error(
            "the inertia tensor must have no negative principal moment, got "
            f"{', '.join(f'{moment:.3g}' for moment in sorted(moments))} kg m2"
        )
    about_x, about_y, about_z = (max(moment, 0.0) for moment in moments)
    return Inertial(mass, position, orientation, (about_x, about_y, about_z))


# Functions that make and check geometries, shared by the readers of all formats.


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
