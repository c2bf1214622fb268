"""Reads SDF files as robot models: one model with links and joints, given directly or by <include>.

A joint's frame is that of its child link. Link poses may be relative to other links. For a joint to the world, a base
link called "world" is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.robot_model import FIXED, PRISMATIC, REVOLUTE, SPHERICAL, Inertial, RobotModel
from fleet_sim.core.shapes import Geometry
from fleet_sim.errors import did_you_mean
from fleet_sim.models.assembly import NO_LIMITS, JointParts, LinkParts, assemble, checked_axis, joint_kind, read_link
from fleet_sim.models.geometries import checked_size, from_z, make_geometry, shape_in, turn_of
from fleet_sim.models.inertia import inertial_of
from fleet_sim.models.markup import Element
from fleet_sim.models.meshes import MeshFinder
from fleet_sim.models.values import DEFAULT_COLOUR, ORIGIN, UNTURNED, Colour, Quaternion, Vector
from fleet_sim.spatial import poses, quaternions
from fleet_sim.spatial.shapes import ShapeKind

_JOINT_KINDS = {
    "revolute": REVOLUTE,
    "continuous": REVOLUTE,
    "prismatic": PRISMATIC,
    "fixed": FIXED,
    "ball": SPHERICAL,
}
_UNLIMITED = 1e15
_WORLD = "world"

Include = Callable[[Element, str], tuple[Element, MeshFinder]]
"""Returns the root of an included file and the finder of its meshes, given the <include> and its URI."""


def read_sdf(root: Element, path: str, meshes: MeshFinder, include: Include) -> RobotModel:
    """Return the one model in an <sdf> element; raises InvalidValueError naming the element at fault."""
    if root.tag != "sdf":
        raise root.error("an SDF file has an <sdf> element at its top")
    place = root.child("world") or root
    models, includes = list(place.all("model")), list(place.all("include"))
    if len(models) + len(includes) != 1:
        names = [str(found) for found in (*models, *includes)]
        raise place.error(
            f"has {len(names)} models ({', '.join(names) or 'none'}); a robot must be exactly one, split the file"
        )
    if includes:
        inner, inner_meshes = include(includes[0], _text(includes[0], "uri"))
        return read_sdf(inner, path, inner_meshes, include)
    return _Model(models[0], meshes).read(path)


class _Model:
    def __init__(self, element: Element, meshes: MeshFinder) -> None:
        self._element = element
        self._meshes = meshes
        for tag in ("model", "include", "frame"):
            for unsupported in element.all(tag):
                raise unsupported.error(f"<{tag}> inside a model is not supported; write its links into the model")
        self._links = {link.need("name"): link for link in element.all("link")}
        self._frames: dict[str, tuple[Floats, Floats]] = {}

    def read(self, path: str) -> RobotModel:
        """Return the model."""
        links = [self._link(link) for link in self._element.all("link")]
        joints = [self._joint(joint) for joint in self._element.all("joint")]
        if any(joint.parent == _WORLD for joint in joints) and _WORLD not in self._links:
            links.insert(0, LinkParts(_WORLD, self._element))
        return assemble(self._element.need("name"), path, self._element, links, joints)

    def _frame(self, name: str) -> tuple[Floats, Floats]:
        """Return the pose (1, 3), (1, 4) of a link in the model."""
        # A loop and no recursion: `relative_to` may lead through all links. Cached, since such chains share their
        # upper part.
        chain: dict[str, None] = {}
        above = name
        while above and above != "__model__" and above not in self._frames:
            chain[above] = None
            link = self._links[above]
            above = _relative_to(link)
            if above and above != "__model__" and (above not in self._links or above in chain):
                raise link.error(
                    f"its pose is relative to {above!r}, which is not another link.{did_you_mean(above, self._links)}"
                )
        frame = self._frames.get(above)
        for below in reversed(chain):
            own = _arrays(pose_of(self._links[below]))
            frame = self._frames[below] = own if frame is None else poses.compose(*frame, *own)
        return self._frames[name]

    def _link(self, element: Element) -> LinkParts:
        return read_link(element, _inertial, self._geometry)

    def _joint(self, element: Element) -> JointParts:
        kind_name = element.need("type")
        kind = joint_kind(element, kind_name, _JOINT_KINDS)
        if pose_of(element) != (ORIGIN, UNTURNED):
            raise element.error("a <pose> of a joint is not supported; put the child link's frame at the joint")
        parent, child = _text(element, "parent"), _text(element, "child")
        for role, name in (("parent", parent), ("child", child)):
            if name not in self._links and (role == "child" or name != _WORLD):
                raise element.error(f"there is no {role} link {name!r}.{did_you_mean(name, self._links)}")
        above = self._frame(parent) if parent in self._links else _arrays((ORIGIN, UNTURNED))
        # SDF places links in the model; a RobotModel places each joint in its parent link.
        place, turn = poses.relative(*above, *self._frame(child))
        position, orientation = _tuples(place, turn)
        axis = element.child("axis")
        limit, dynamics = (axis.child(tag) if axis else None for tag in ("limit", "dynamics"))
        lower, upper = _limits(limit, kind_name)
        return JointParts(
            element.need("name"), element, kind, parent, child, position, orientation,
            self._axis(element, axis, kind, child), lower, upper,
            max_velocity=_amount(limit, "velocity"), max_force=_amount(limit, "effort"),
            damping=_amount(dynamics, "damping"), friction=_amount(dynamics, "friction"),
        )  # fmt: skip

    def _axis(self, element: Element, axis: Element | None, kind: int, child: str) -> Vector:
        xyz = axis.child("xyz") if axis else None
        direction = xyz.text_numbers(3) if xyz else (0.0, 0.0, 1.0)
        frame = xyz.attributes.get("expressed_in", "") if xyz else ""
        if frame not in ("", child, "__model__"):
            raise element.error(f"an axis expressed in {frame!r} is not supported; express it in the child link")
        in_model = axis.child("use_parent_model_frame") if axis else None
        if frame == "__model__" or (in_model and in_model.text.strip() in ("1", "true")):
            turned = quaternions.conjugate(self._frame(child)[1])
            direction = tuple(quaternions.rotate(turned, np.array([direction]))[0].tolist())
        return checked_axis(element, direction, kind)

    def _geometry(self, element: Element) -> Geometry:
        position, orientation = pose_of(element)
        shape = shape_in(element)
        colour = _colour(element.child("material"))
        if shape.tag == "mesh":
            if shape.child("submesh") is not None:
                raise shape.error("<submesh> is not supported; put each mesh into a file of its own")
            scale = shape.child("scale")
            x, y, z = scale.text_numbers(3) if scale else (1.0, 1.0, 1.0)
            mesh = self._meshes.find(shape, _text(shape, "uri"))
            return make_geometry(ShapeKind.MESH, position, orientation, colour, mesh_path=mesh, mesh_scale=(x, y, z))
        if shape.tag == "plane":
            normal = shape.child("normal")
            turned = from_z(shape, normal.text_numbers(3) if normal else (0.0, 0.0, 1.0), orientation)
            return make_geometry(ShapeKind.PLANE, position, turned, colour)
        kind = ShapeKind[shape.tag.upper()]
        if kind is ShapeKind.BOX:
            x, y, z = (0.5 * checked_size(shape, side) for side in shape.need_child("size").text_numbers(3))
            return make_geometry(kind, position, orientation, colour, half_extents=(x, y, z))
        radius = checked_size(shape, shape.need_child("radius").text_numbers(1)[0])
        height = 1.0
        if kind is not ShapeKind.SPHERE:
            height = checked_size(shape, shape.need_child("length").text_numbers(1)[0])
        return make_geometry(kind, position, orientation, colour, radius=radius, height=height)


def pose_of(element: Element) -> tuple[Vector, Quaternion]:
    """Return the <pose> of an element, the identity if it has none."""
    pose = element.child("pose")
    if pose is None or not pose.text.strip():
        return ORIGIN, UNTURNED
    if pose.attributes.get("rotation_format", "euler_rpy") != "euler_rpy" or pose.attributes.get("degrees") == "true":
        raise pose.error("a pose must be x y z roll pitch yaw in m and rad")
    x, y, z, *eulers = pose.text_numbers(6)
    return (x, y, z), turn_of(tuple(eulers))


def _relative_to(element: Element) -> str:
    pose = element.child("pose")
    return pose.attributes.get("relative_to", "") if pose else ""


def _inertial(element: Element) -> Inertial:
    position, orientation = pose_of(element)
    inertia, mass = element.child("inertia"), element.child("mass")
    parts = [inertia.child(name) if inertia else None for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")]
    tensor = tuple(part.text_numbers(1)[0] if part else 0.0 for part in parts)
    return inertial_of(element, mass.text_numbers(1)[0] if mass else 0.0, position, orientation, tensor)


def _limits(limit: Element | None, kind: str) -> tuple[float, float]:
    if limit is None or kind not in ("revolute", "prismatic"):
        return NO_LIMITS
    lower, upper = (_bound(limit.child(tag), sign) for tag, sign in (("lower", -1.0), ("upper", 1.0)))
    # Files write 1e16 or inf for no limit.
    if lower <= -_UNLIMITED or upper >= _UNLIMITED:
        return NO_LIMITS
    if lower > upper and kind == "revolute":
        raise limit.error(f"the lower limit {lower:g} is above the upper limit {upper:g}; exchange them")
    return (lower, upper) if lower <= upper else NO_LIMITS


def _bound(element: Element | None, sign: float) -> float:
    if element is None or element.text.strip().lstrip("+-") in ("inf", "Inf", "INF"):
        return sign * math.inf
    return element.text_numbers(1)[0]


def _amount(element: Element | None, tag: str) -> float:
    """Return a number >= 0; -1, which means "none" in SDF, becomes 0."""
    part = element.child(tag) if element else None
    if part is None or "inf" in part.text.lower():
        return 0.0
    return max(part.text_numbers(1)[0], 0.0)


def _colour(material: Element | None) -> Colour:
    for tag in ("diffuse", "ambient"):
        colour = material.child(tag) if material else None
        if colour is not None:
            red, green, blue = colour.text_numbers(3)
            values = colour.text.split()
            return (red, green, blue, float(values[3]) if len(values) > 3 else 1.0)
    return DEFAULT_COLOUR


def _text(element: Element, tag: str) -> str:
    text = element.need_child(tag).text.strip()
    if not text:
        raise element.error(f"<{tag}> must not be empty")
    return text


def _arrays(pose: tuple[Vector, Quaternion]) -> tuple[Floats, Floats]:
    return np.array([pose[0]]), np.array([pose[1]])


def _tuples(positions: Floats, orientations: Floats) -> tuple[Vector, Quaternion]:
    (x, y, z), (qx, qy, qz, qw) = positions[0].tolist(), orientations[0].tolist()
    return (x, y, z), (qx, qy, qz, qw)
