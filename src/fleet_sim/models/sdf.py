"""Reads models of SDF files as robot models: links and joints, given directly, by <include>, or by models inside.

A joint's frame is that of its child link. Link poses may be relative to other links. For a joint to the world, a base
link called "world" is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fleet_sim.core.robot_model import FIXED, SPHERICAL, Inertial, RobotModel
from fleet_sim.core.shapes import Geometry
from fleet_sim.errors import did_you_mean
from fleet_sim.models.assembly import assemble
from fleet_sim.models.geometries import checked_size, from_z, make_geometry, shape_in
from fleet_sim.models.inertia import inertial_of
from fleet_sim.models.markup import Element
from fleet_sim.models.meshes import MeshFinder
from fleet_sim.models.parts import NO_LIMITS, JointParts, LinkParts, MimicParts, checked_axis, joint_kind, read_link
from fleet_sim.models.sdf_frames import SCOPE, Pose, SdfFrames, arrays, pose_of, tuples
from fleet_sim.models.values import DEFAULT_COLOR, ORIGIN, UNTURNED, Color, Vector
from fleet_sim.spatial import poses, quaternions
from fleet_sim.spatial.shapes import ShapeKind

_MORE_KINDS = {"ball": SPHERICAL}
_UNLIMITED = 1e15
_WORLD = "world"

Include = Callable[[Element, str], tuple[Element, MeshFinder]]
"""Returns the root of an included file and the finder of its meshes, given the <include> and its URI."""


def read_sdf(root: Element, path: str, meshes: MeshFinder, include: Include) -> RobotModel:
    """Return the one model in an <sdf> element; raises InvalidValueError naming the element at fault."""
    return SdfModel(*one_model(root, meshes, include), include).read(path)


def one_model(root: Element, meshes: MeshFinder, include: Include) -> tuple[Element, MeshFinder]:
    """Return the one <model> of an <sdf> element, and the finder of its meshes; raises InvalidValueError."""
    if root.tag != "sdf":
        raise root.error("an SDF file has an <sdf> element at its top")
    # Worlds with one model are read like models.
    place = root.child("world") or root
    found = list(place.all("model", "include"))
    if len(found) != 1:
        names = ", ".join(map(str, found)) or "none"
        raise place.error(
            f"has {len(found)} models ({names}); a robot must be exactly one. sim.load_world and SimObject.from_sdf "
            "take several"
        )
    return included(found[0], meshes, include)


def included(element: Element, meshes: MeshFinder, include: Include) -> tuple[Element, MeshFinder]:
    """Return the <model> that an element is or includes, and the finder of its meshes."""
    if element.tag == "model":
        return element, meshes
    inner, inner_meshes = include(element, text_of(element, "uri"))
    return one_model(inner, inner_meshes, include)


class SdfModel:
    """One <model>, with the models inside of it."""

    def __init__(self, element: Element, meshes: MeshFinder, include: Include) -> None:
        """Raises InvalidValueError for an included file that is not there."""
        self._element = element
        self._meshes = meshes
        self._links = {link.need("name"): link for link in element.all("link")}
        self._inner: dict[str, SdfModel] = {}
        placed = dict(self._links)
        placed.update((frame.need("name"), frame) for frame in element.all("frame"))
        for place in element.all("model", "include"):
            model, finder = included(place, meshes, include)
            name = name_of(place, model)
            self._inner[name] = SdfModel(model, finder, include)
            # The pose of an <include> takes the place of that in the file.
            placed[name] = place if place.child("pose") else model
        self._frames = SdfFrames(placed, {name: model.frame for name, model in self._inner.items()})

    @property
    def static(self) -> bool:
        """Whether the model never moves."""
        return is_true(self._element.child("static"))

    def frame(self, name: str) -> Pose:
        """Return the pose of a link, frame or inner model in the model; that of the world is the model's own."""
        return self._frames.pose(name) if name in self._frames else arrays((ORIGIN, UNTURNED))

    def read(self, path: str, *, static: bool | None = None) -> RobotModel:
        """Return the model; links that no joint holds are fixed to the first one where it is `static`."""
        links, joints = self._parts()
        names = {link.name for link in links}
        if any(joint.parent == _WORLD for joint in joints) and _WORLD not in names:
            # A joint to the world fixes the robot there: a link of that name is what PyBullet fixes.
            links.insert(0, LinkParts(_WORLD, self._element))
        if self.static if static is None else static:
            joints += self._ties(links, joints)
        return assemble(self._element.need("name"), path, self._element, links, joints)

    def _parts(self) -> tuple[list[LinkParts], list[JointParts]]:
        """Return the links and joints of the model and of those inside of it, whose names are `inner::name`."""
        links = [self._link(link) for link in self._element.all("link")]
        joints = [self._joint(joint) for joint in self._element.all("joint")]
        for name, model in self._inner.items():
            inner_links, inner_joints = model._parts()
            if not inner_links:
                raise model._element.error("has no <link>")
            for link in inner_links:
                # As SDF names what is inside of a model.
                link.name = f"{name}{SCOPE}{link.name}"
            for joint in inner_joints:
                joint.name, joint.child = f"{name}{SCOPE}{joint.name}", f"{name}{SCOPE}{joint.child}"
                if joint.mimic is not None:
                    joint.mimic.leader = f"{name}{SCOPE}{joint.mimic.leader}"
                joint.parent = joint.parent if joint.parent == _WORLD else f"{name}{SCOPE}{joint.parent}"
                if joint.parent == _WORLD:
                    # It was placed in its own model, which is somewhere in this one.
                    joint.position, joint.orientation = tuples(*self.frame(joint.child))
            links += inner_links
            joints += inner_joints
        return links, joints

    def _ties(self, links: list[LinkParts], joints: list[JointParts]) -> list[JointParts]:
        """Return fixed joints from the first link that no joint holds to the others of them."""
        held = {joint.child for joint in joints}
        # Where joints hold all links in a circle, any of them is the first.
        first, *loose = [link for link in links if link.name not in held] or links[:1]
        return [
            JointParts(
                f"{link.name}_fixed", link.element, FIXED, first.name, link.name,
                *tuples(*poses.relative(*self.frame(first.name), *self.frame(link.name))),
            )
            for link in loose
        ]  # fmt: skip

    def _link(self, element: Element) -> LinkParts:
        return read_link(element, _inertial, self._geometry)

    def _joint(self, element: Element) -> JointParts:
        """Return a joint, placed in its parent link; raises an error with the line for what is not supported."""
        kind_name = element.need("type")
        kind = joint_kind(element, kind_name, _MORE_KINDS)
        if pose_of(element) != (ORIGIN, UNTURNED):
            raise element.error("a <pose> of a joint is not supported; put the child link's frame at the joint")
        parent, child = text_of(element, "parent"), text_of(element, "child")
        for role, name in (("parent", parent), ("child", child)):
            known = name in self._links or name.partition(SCOPE)[0] in self._inner
            if not known and (role == "child" or name != _WORLD):
                raise element.error(f"there is no {role} link {name!r}.{did_you_mean(name, self._links)}")
        # SDF places links in the model; a RobotModel places each joint in its parent link.
        position, orientation = tuples(*poses.relative(*self.frame(parent), *self.frame(child)))
        axis = element.child("axis")
        limit, dynamics = (axis.child(tag) if axis else None for tag in ("limit", "dynamics"))
        lower, upper = _limits(limit, kind_name)
        return JointParts(
            element.need("name"), element, kind, parent, child, position, orientation,
            self._axis(element, axis, kind, child), lower, upper,
            max_velocity=_amount(limit, "velocity"), max_force=_amount(limit, "effort"),
            damping=_amount(dynamics, "damping"), friction=_amount(dynamics, "friction"),
            mimic=_mimic(axis.child("mimic") if axis else None),
        )  # fmt: skip

    def _axis(self, element: Element, axis: Element | None, kind: int, child: str) -> Vector:
        """Return the unit axis of a joint in the frame of its child link, whichever frame the file gives it in."""
        # SDF's default is along z.
        xyz = axis.child("xyz") if axis else None
        direction = xyz.text_numbers(3) if xyz else (0.0, 0.0, 1.0)
        frame = xyz.attributes.get("expressed_in", "") if xyz else ""
        if frame not in ("", child, "__model__"):
            raise element.error(f"an axis expressed in {frame!r} is not supported; express it in the child link")
        in_model = axis.child("use_parent_model_frame") if axis else None
        if frame == "__model__" or is_true(in_model):
            # From the axes of the model to those of the child link.
            turned = quaternions.conjugate(self.frame(child)[1])
            direction = tuple(quaternions.rotate(turned, np.array([direction]))[0].tolist())
        return checked_axis(element, direction, kind)

    def _geometry(self, element: Element) -> Geometry:
        """Return the geometry of a <visual> or <collision>; raises an error with the line for what is not supported."""
        position, orientation = pose_of(element)
        shape = shape_in(element)
        color = _color(element)
        if shape.tag == "mesh":
            if shape.child("submesh") is not None:
                raise shape.error("<submesh> is not supported; put each mesh into a file of its own")
            scale = shape.child("scale")
            x, y, z = scale.text_numbers(3) if scale else (1.0, 1.0, 1.0)
            mesh = self._meshes.find(shape, text_of(shape, "uri"))
            return make_geometry(ShapeKind.MESH, position, orientation, color, mesh_path=mesh, mesh_scale=(x, y, z))
        if shape.tag == "plane":
            normal = shape.child("normal")
            turned = from_z(shape, normal.text_numbers(3) if normal else (0.0, 0.0, 1.0), orientation)
            return make_geometry(ShapeKind.PLANE, position, turned, color)
        kind = ShapeKind[shape.tag.upper()]
        if kind is ShapeKind.BOX:
            x, y, z = (0.5 * checked_size(shape, side) for side in shape.need_child("size").text_numbers(3))
            return make_geometry(kind, position, orientation, color, half_extents=(x, y, z))
        radius = checked_size(shape, shape.need_child("radius").text_numbers(1)[0])
        height = 1.0
        if kind is not ShapeKind.SPHERE:
            height = checked_size(shape, shape.need_child("length").text_numbers(1)[0])
        return make_geometry(kind, position, orientation, color, radius=radius, height=height)


def name_of(place: Element, model: Element) -> str:
    """Return the name of a model: what its <include> calls it, else its own."""
    given = place.child("name") if place.tag == "include" else None
    return given.text.strip() if given is not None and given.text.strip() else model.need("name")


def is_true(element: Element | None) -> bool:
    """Return whether a flag is set."""
    return element is not None and element.text.strip() in ("1", "true")


def _inertial(element: Element) -> Inertial:
    position, orientation = pose_of(element)
    inertia, mass = element.child("inertia"), element.child("mass")
    parts = [inertia.child(name) if inertia else None for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")]
    tensor = tuple(part.text_numbers(1)[0] if part else 0.0 for part in parts)
    return inertial_of(element, mass.text_numbers(1)[0] if mass else 0.0, position, orientation, tensor)


def _limits(limit: Element | None, kind: str) -> tuple[float, float]:
    """Return the limits in rad or m; NO_LIMITS for joints without, and for the huge numbers that stand for none."""
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


def _mimic(element: Element | None) -> MimicParts | None:
    """Return what a joint follows, as a multiple and an offset; None where it follows nothing."""
    if element is None:
        return None
    multiplier, offset, reference = (
        found.text_numbers(1)[0] if (found := element.child(tag)) else default
        for tag, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    # The follower is at multiplier * (leader - reference) + offset.
    return MimicParts(element, element.need("joint"), multiplier, offset - multiplier * reference)


def _amount(element: Element | None, tag: str) -> float:
    """Return a number >= 0; -1, which means "none" in SDF, becomes 0."""
    part = element.child(tag) if element else None
    if part is None or "inf" in part.text.lower():
        return 0.0
    return max(part.text_numbers(1)[0], 0.0)


def _color(visual: Element) -> Color:
    """Return the diffuse color of a <visual>, else the ambient one, with its transparency."""
    material, clear = visual.child("material"), visual.child("transparency")
    red, green, blue, opacity = DEFAULT_COLOR
    for tag in ("ambient", "diffuse"):
        color = material.child(tag) if material else None
        if color is not None:
            red, green, blue = color.text_numbers(3)
            values = color.text.split()
            opacity = float(values[3]) if len(values) > 3 else 1.0
    transparency = clear.text_numbers(1)[0] if clear else 0.0
    if clear and not 0.0 <= transparency <= 1.0:
        raise clear.error(f"<transparency> must be from 0 to 1, got {transparency:g}")
    return (red, green, blue, opacity * (1.0 - transparency))


def text_of(element: Element, tag: str) -> str:
    """Return the text of a child element; raises InvalidValueError if it is missing or empty."""
    text = element.need_child(tag).text.strip()
    if not text:
        raise element.error(f"<{tag}> must not be empty")
    return text
