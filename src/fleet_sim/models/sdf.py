"""Reads models of SDF files as robot models: links and joints, given directly, by <include>, or by models inside.

A joint's frame is that of its child link. Link poses may be relative to other links. For a joint to the world, a base
link called "world" is added.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError, did_you_mean
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models import assembly
from fleet_sim.models.markup import Element
from fleet_sim.models.meshes.loading import MeshFinder
from fleet_sim.world.shapes import FIXED, SPHERICAL, Geometry, Inertial, RobotModel

# Where links, frames and inner models of an SDF model are: poses may be relative to each other.


Pose = tuple[Floats, Floats]
"""A position (1, 3) and an orientation (1, 4)."""

MODEL = "__model__"
SCOPE = "::"


class SdfFrames:
    """The frames of one model or world, by name: what has a <pose>, and `inner::name` for frames of an inner model."""

    def __init__(self, placed: Mapping[str, Element], inner: Mapping[str, Callable[[str], Pose]]) -> None:
        """`placed` are the elements whose <pose> places them; `inner` returns the frames of inner models, by name."""
        self._placed = placed
        self._inner = inner
        self._known: dict[str, Pose] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._placed or name.partition(SCOPE)[0] in self._inner

    def pose(self, name: str, asked: tuple[str, ...] = ()) -> Pose:
        """Return the pose of a frame; raises InvalidValueError for poses that are relative to each other in a ring."""
        # Those above first: `relative_to` may lead through all links, which is too deep for recursion.
        for above in reversed(self._chain(name)):
            if above not in self._known:
                if above in asked:
                    # A ring that leads through an inner model.
                    raise self._astray(self._placed[name.partition(SCOPE)[0]], above)
                # Kept, since chains share their upper part.
                self._known[above] = self._found(above, (*asked, above))
        return self._known[name]

    def _chain(self, name: str) -> list[str]:
        """Return `name` and the names that its pose is relative to, one after the other, as far as none is known."""
        chain = dict.fromkeys((name,))
        current = name
        while current not in self._known and SCOPE not in current:
            above = relative_to(self._placed[current])
            if not above or above in (MODEL, "world"):
                break
            if above not in self or above in chain:
                raise self._astray(self._placed[current], above)
            chain[above] = None
            current = above
        return list(chain)

    def _found(self, name: str, asked: tuple[str, ...]) -> Pose:
        outer, _, rest = name.partition(SCOPE)
        if rest:
            return quaternions.compose(*self.pose(outer, asked), *self._inner[outer](rest))
        return self.of(self._placed[name], asked)

    def of(self, element: Element, asked: tuple[str, ...] = ()) -> Pose:
        """Return the pose of an element from its <pose>, in the frame of the model or world."""
        found, above = arrays(pose_of(element)), relative_to(element)
        if not above or above in (MODEL, "world"):
            return found
        return quaternions.compose(*self.pose(above, asked), *found)

    def _astray(self, element: Element, above: str) -> InvalidValueError:
        hint = did_you_mean(above, self._placed)
        return element.error(f"its pose is relative to {above!r}, which is not another link or frame.{hint}")


def pose_of(element: Element) -> tuple[assembly.Vector, assembly.Quaternion]:
    """Return the <pose> of an element, the identity if it has none."""
    pose = element.child("pose")
    if pose is None or not pose.text.strip():
        return assembly.ORIGIN, assembly.UNTURNED
    if pose.attributes.get("rotation_format", "euler_rpy") != "euler_rpy" or pose.attributes.get("degrees") == "true":
        raise pose.error("a pose must be x y z roll pitch yaw in m and rad")
    x, y, z, *eulers = pose.text_numbers(6)
    return (x, y, z), assembly.turn_of(tuple(eulers))


def relative_to(element: Element) -> str:
    """Return the name of the frame that an element's pose is in; "": that of the model."""
    pose = element.child("pose")
    given = pose.attributes.get("relative_to", "") if pose else ""
    # A <frame> without it is where it is attached.
    return given or (element.attributes.get("attached_to", "") if element.tag == "frame" else "")


def arrays(pose: tuple[assembly.Vector, assembly.Quaternion]) -> Pose:
    """Return a pose as arrays of one row."""
    return np.array([pose[0]]), np.array([pose[1]])


def tuples(positions: Floats, orientations: Floats) -> tuple[assembly.Vector, assembly.Quaternion]:
    """Return the first row of poses; the inverse of `arrays`."""
    (x, y, z), (qx, qy, qz, qw) = positions[0].tolist(), orientations[0].tolist()
    return (x, y, z), (qx, qy, qz, qw)


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
        return self._frames.pose(name) if name in self._frames else arrays((assembly.ORIGIN, assembly.UNTURNED))

    def read(self, path: str, *, static: bool | None = None) -> RobotModel:
        """Return the model; links that no joint holds are fixed to the first one where it is `static`."""
        links, joints = self._parts()
        names = {link.name for link in links}
        if any(joint.parent == _WORLD for joint in joints) and _WORLD not in names:
            # A joint to the world fixes the robot there: a link of that name is what PyBullet fixes.
            links.insert(0, assembly.LinkParts(_WORLD, self._element))
        if self.static if static is None else static:
            joints += self._ties(links, joints)
        return assembly.assemble(self._element.need("name"), path, self._element, links, joints)

    def _parts(self) -> tuple[list[assembly.LinkParts], list[assembly.JointParts]]:
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

    def _ties(self, links: list[assembly.LinkParts], joints: list[assembly.JointParts]) -> list[assembly.JointParts]:
        """Return fixed joints from the first link that no joint holds to the others of them."""
        held = {joint.child for joint in joints}
        # Where joints hold all links in a circle, any of them is the first.
        first, *loose = [link for link in links if link.name not in held] or links[:1]
        return [
            assembly.JointParts(
                f"{link.name}_fixed", link.element, FIXED, first.name, link.name,
                *tuples(*quaternions.relative(*self.frame(first.name), *self.frame(link.name))),
            )
            for link in loose
        ]  # fmt: skip

    def _link(self, element: Element) -> assembly.LinkParts:
        return assembly.read_link(element, _inertial, self._geometry)

    def _joint(self, element: Element) -> assembly.JointParts:
        """Return a joint, placed in its parent link; raises an error with the line for what is not supported."""
        kind_name = element.need("type")
        kind = assembly.joint_kind(element, kind_name, _MORE_KINDS)
        if pose_of(element) != (assembly.ORIGIN, assembly.UNTURNED):
            raise element.error("a <pose> of a joint is not supported; put the child link's frame at the joint")
        parent, child = text_of(element, "parent"), text_of(element, "child")
        for role, name in (("parent", parent), ("child", child)):
            known = name in self._links or name.partition(SCOPE)[0] in self._inner
            if not known and (role == "child" or name != _WORLD):
                raise element.error(f"there is no {role} link {name!r}.{did_you_mean(name, self._links)}")
        # SDF places links in the model; a RobotModel places each joint in its parent link.
        position, orientation = tuples(*quaternions.relative(*self.frame(parent), *self.frame(child)))
        axis = element.child("axis")
        limit, dynamics = (axis.child(tag) if axis else None for tag in ("limit", "dynamics"))
        lower, upper = _limits(limit, kind_name)
        return assembly.JointParts(
            element.need("name"), element, kind, parent, child, position, orientation,
            self._axis(element, axis, kind, child), lower, upper,
            max_velocity=_amount(limit, "velocity"), max_force=_amount(limit, "effort"),
            damping=_amount(dynamics, "damping"), friction=_amount(dynamics, "friction"),
            mimic=_mimic(axis.child("mimic") if axis else None),
        )  # fmt: skip

    def _axis(self, element: Element, axis: Element | None, kind: int, child: str) -> assembly.Vector:
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
        return assembly.checked_axis(element, direction, kind)

    def _geometry(self, element: Element) -> Geometry:
        """Return the geometry of a <visual> or <collision>; raises an error with the line for what is not supported."""
        position, orientation = pose_of(element)
        shape = assembly.shape_in(element)
        color = _color(element)
        if shape.tag == "mesh":
            if shape.child("submesh") is not None:
                raise shape.error("<submesh> is not supported; put each mesh into a file of its own")
            scale = shape.child("scale")
            x, y, z = scale.text_numbers(3) if scale else (1.0, 1.0, 1.0)
            mesh = self._meshes.find(shape, text_of(shape, "uri"))
            return assembly.make_geometry(
                ShapeKind.MESH, position, orientation, color, mesh_path=mesh, mesh_scale=(x, y, z)
            )
        if shape.tag == "plane":
            normal = shape.child("normal")
            turned = assembly.from_z(shape, normal.text_numbers(3) if normal else (0.0, 0.0, 1.0), orientation)
            return assembly.make_geometry(ShapeKind.PLANE, position, turned, color)
        kind = ShapeKind[shape.tag.upper()]
        if kind is ShapeKind.BOX:
            x, y, z = (0.5 * assembly.checked_size(shape, side) for side in shape.need_child("size").text_numbers(3))
            return assembly.make_geometry(kind, position, orientation, color, half_extents=(x, y, z))
        radius = assembly.checked_size(shape, shape.need_child("radius").text_numbers(1)[0])
        height = 1.0
        if kind is not ShapeKind.SPHERE:
            height = assembly.checked_size(shape, shape.need_child("length").text_numbers(1)[0])
        return assembly.make_geometry(kind, position, orientation, color, radius=radius, height=height)


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
    return assembly.inertial_of(element, mass.text_numbers(1)[0] if mass else 0.0, position, orientation, tensor)


def _limits(limit: Element | None, kind: str) -> tuple[float, float]:
    """Return the limits in rad or m; NO_LIMITS for joints without, and for the huge numbers that stand for none."""
    if limit is None or kind not in ("revolute", "prismatic"):
        return assembly.NO_LIMITS
    lower, upper = (_bound(limit.child(tag), sign) for tag, sign in (("lower", -1.0), ("upper", 1.0)))
    # Files write 1e16 or inf for no limit.
    if lower <= -_UNLIMITED or upper >= _UNLIMITED:
        return assembly.NO_LIMITS
    if lower > upper and kind == "revolute":
        raise limit.error(f"the lower limit {lower:g} is above the upper limit {upper:g}; exchange them")
    return (lower, upper) if lower <= upper else assembly.NO_LIMITS


def _bound(element: Element | None, sign: float) -> float:
    if element is None or element.text.strip().lstrip("+-") in ("inf", "Inf", "INF"):
        return sign * math.inf
    return element.text_numbers(1)[0]


def _mimic(element: Element | None) -> assembly.MimicParts | None:
    """Return what a joint follows, as a multiple and an offset; None where it follows nothing."""
    if element is None:
        return None
    multiplier, offset, reference = (
        found.text_numbers(1)[0] if (found := element.child(tag)) else default
        for tag, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    # The follower is at multiplier * (leader - reference) + offset.
    return assembly.MimicParts(element, element.need("joint"), multiplier, offset - multiplier * reference)


def _amount(element: Element | None, tag: str) -> float:
    """Return a number >= 0; -1, which means "none" in SDF, becomes 0."""
    part = element.child(tag) if element else None
    if part is None or "inf" in part.text.lower():
        return 0.0
    return max(part.text_numbers(1)[0], 0.0)


def _color(visual: Element) -> assembly.Color:
    """Return the diffuse color of a <visual>, else the ambient one, with its transparency."""
    material, clear = visual.child("material"), visual.child("transparency")
    red, green, blue, opacity = assembly.DEFAULT_COLOR
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


# Reads SDF files with any number of models: where each of them is, and what of the file is left out.


_TAKEN = {
    "sdf": {"world", "model", "include"},
    "world": {"model", "include", "frame", "gravity"},
    "include": {"uri", "name", "pose", "static"},
    "model": {"static", "pose", "link", "joint", "frame", "model", "include"},
    "link": {"pose", "inertial", "visual", "collision"},
    "visual": {"pose", "geometry", "material", "transparency"},
    "material": {"ambient", "diffuse"},
    "collision": {"pose", "geometry"},
    "joint": {"pose", "parent", "child", "axis"},
}
"""What is read of each element; what is below other elements is read as a whole."""
_COSMETIC = {"cast_shadows", "laser_retro", "meta", "specular", "emissive", "visibility_flags", "lighting", "name"}
"""What no part of a simulation could show, so that leaving it out need not be said."""


@dataclass(frozen=True, eq=False)
class PlacedModel:
    """A model of a world: its name there, and the pose of its base link."""

    name: str
    model: RobotModel
    static: bool
    position: assembly.Vector
    orientation: assembly.Quaternion


@dataclass(frozen=True, eq=False)
class SdfWorld:
    """What an SDF file holds: models in its order, and the gravity in m/s2, None where it says nothing.

    `left_out` names what is not taken, such as lights and plugins: each tag with names or a count.
    """

    models: tuple[PlacedModel, ...]
    gravity: assembly.Vector | None
    left_out: tuple[str, ...]


def read_sdf_world(root: Element, path: str, meshes: MeshFinder, include: Include) -> SdfWorld:
    """Return the world of an <sdf> element; raises InvalidValueError naming the element at fault."""
    if root.tag != "sdf":
        raise root.error(f"an SDF file has an <sdf> element at its top.{did_you_mean(root.tag, ['sdf'])}")
    # A file of loose models has no <world>; its top holds them then.
    place = root.child("world") or root
    entries = [_WorldModel(element, meshes, include) for element in place.all("model", "include")]
    by_name: dict[str, _WorldModel] = {}
    for entry in entries:
        if by_name.setdefault(entry.name, entry) is not entry:
            first = by_name[entry.name].element.line
            raise entry.element.error(f"another model is called {entry.name!r}, in line {first}; rename one of them")
    # Models and frames are found by the same names, as the poses of both may be relative to either.
    placed = {entry.name: entry.placed for entry in entries}
    placed.update((frame.need("name"), frame) for frame in place.all("frame"))
    frames = SdfFrames(placed, {entry.name: entry.model.frame for entry in entries})
    gravity = place.child("gravity")
    x, y, z = gravity.text_numbers(3) if gravity else (0.0, 0.0, 0.0)
    return SdfWorld(
        models=tuple(entry.read(path, frames.pose(entry.name)) for entry in entries),
        gravity=(x, y, z) if gravity else None,
        left_out=_left_out([root, *(entry.file_element for entry in entries if entry.element.tag == "include")]),
    )


class _WorldModel:
    """A <model> or <include> of a world."""

    def __init__(self, element: Element, meshes: MeshFinder, include: Include) -> None:
        self.element = element
        self.file_element, finder = included(element, meshes, include)
        self.name = name_of(element, self.file_element)
        self.model = SdfModel(self.file_element, finder, include)
        # The pose of an <include> takes the place of that in the file.
        self.placed = element if element.child("pose") else self.file_element
        for part in (element, self.file_element):
            if part.child("placement_frame") or part.attributes.get("placement_frame"):
                raise part.error("a placement frame is not supported; give the pose of the model")

    def read(self, path: str, pose: Pose) -> PlacedModel:
        # What the place of inclusion says wins over the included file.
        given = self.element.child("static") if self.element.tag == "include" else None
        static = self.model.static if given is None else is_true(given)
        model = self.model.read(path, static=static)
        position, orientation = tuples(*quaternions.compose(*pose, *self.model.frame(model.base_name)))
        return PlacedModel(self.name, model, static, position, orientation)


def _left_out(roots: list[Element]) -> tuple[str, ...]:
    found: dict[str, list[str]] = defaultdict(list)
    for root in roots:
        for element in _unread(root):
            found[element.tag].append(element.attributes.get("name", ""))
    return tuple(_described(tag, names) for tag, names in sorted(found.items()))


def _unread(element: Element) -> Iterator[Element]:
    taken = _TAKEN.get(element.tag)
    for child in element.children if taken is not None else ():
        if child.tag in (taken or ()):
            yield from _unread(child)
        elif child.tag not in _COSMETIC:
            yield child


def _described(tag: str, names: list[str]) -> str:
    if 0 < len(names) <= 3 and all(names):
        return f"{tag} {', '.join(map(repr, names))}"
    return tag if len(names) == 1 else f"{tag} ({len(names)})"
