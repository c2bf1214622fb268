"""Reads MJCF files as robot models: the one body in their <worldbody>.

A body in MJCF may have several joints, so each joint gets an extra link between the body and its parent, and the body
is attached to the last of these by a fixed joint. These links and joints are named as in PyBullet: "link0_3",
"jointfix_2_3". Elements of the world itself (a floor, lights) are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import did_you_mean
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models.assembly import (
    DEFAULT_COLOR,
    NO_LIMITS,
    ORIGIN,
    UNTURNED,
    Color,
    JointParts,
    LinkParts,
    Quaternion,
    Vector,
    assemble,
    checked_axis,
    checked_size,
    from_z,
    inertial_of,
    make_geometry,
)
from fleet_sim.models.markup import Element
from fleet_sim.models.meshes.loading import MeshFinder
from fleet_sim.world.shapes import FIXED, PRISMATIC, REVOLUTE, SPHERICAL, Geometry, Inertial, RobotModel

# Default classes of MJCF: attributes that elements inherit from their class.


MAIN = "main"
Attributes = dict[str, str]


class Defaults:
    """The attributes of each class by tag; a class inherits those of the classes around it."""

    def __init__(self, root: Element) -> None:
        self._classes: dict[str, dict[str, Attributes]] = {MAIN: {}}
        for element in root.all("default"):
            self._read(element, {}, element.attributes.get("class", MAIN))

    def _read(self, element: Element, outer: dict[str, Attributes], name: str) -> None:
        merged = {tag: dict(attributes) for tag, attributes in (outer or self._classes[MAIN]).items()}
        for child in element.children:
            if child.tag != "default":
                merged.setdefault(child.tag, {}).update(child.attributes)
        self._classes[name] = merged
        for child in element.all("default"):
            self._read(child, merged, child.need("class"))

    def applied(self, element: Element, child_class: str) -> Element:
        """Return `element` with missing attributes filled in from its class, or from `child_class` around it.

        Raises InvalidValueError for an unknown class.
        """
        name = element.attributes.get("class") or child_class
        if name not in self._classes:
            raise element.error(f"there is no default class {name!r}; known: {', '.join(self._classes)}")
        defaults = self._classes[name].get(element.tag)
        if not defaults:
            return element
        whole = Element(element.tag, defaults | element.attributes, element.source, element.line)
        whole.children, whole.text = element.children, element.text
        return whole


# Geoms, frames and masses of MJCF.


_KINDS = ("plane", "sphere", "capsule", "cylinder", "box", "mesh")
# MuJoCo's default, that of water in kg/m3.
_DENSITY = 1000.0
# MuJoCo's viewer hides groups from this one on; by convention they hold geoms that only collide.
_HIDDEN_GROUP = 3


@dataclass(frozen=True)
class Angles:
    """The angle conventions of a file: `unit` rad per unit, and the sequence of Euler axes."""

    unit: float = math.pi / 180.0
    sequence: str = "xyz"

    def turn(self, element: Element) -> Quaternion:
        """Return the orientation of an element, in any of MJCF's notations."""
        if "quat" in element.attributes:
            # MJCF has w first.
            w, x, y, z = element.numbers("quat", 4)
            return _tuple(np.array([x, y, z, w]))
        if "axisangle" in element.attributes:
            *axis, angle = element.numbers("axisangle", 4)
            vector = np.array(axis) / max(float(np.linalg.norm(axis)), 1e-12) * angle * self.unit
            return _tuple(quaternions.from_rotation_vectors(vector[None])[0])
        if "euler" in element.attributes:
            return self._euler(element.numbers("euler", 3))
        if "zaxis" in element.attributes:
            return from_z(element, element.numbers("zaxis", 3))
        if "xyaxes" in element.attributes:
            return _from_axes(element, np.array(element.numbers("xyaxes", 6)))
        return UNTURNED

    def _euler(self, eulers: tuple[float, ...]) -> Quaternion:
        """Return the quaternion xyzw of three angles in the units and the order of the file."""
        turned = np.array([UNTURNED])
        for axis, angle in zip(self.sequence, eulers, strict=True):
            vector = np.zeros((1, 3))
            vector[0, "xyz".index(axis.lower())] = angle * self.unit
            step = quaternions.from_rotation_vectors(vector)
            # Small letters mean rotating (intrinsic) axes, capital ones fixed (extrinsic) axes.
            turned = quaternions.multiply(turned, step) if axis.islower() else quaternions.multiply(step, turned)
        return _tuple(turned[0])


def place_of(element: Element, angles: Angles) -> tuple[Vector, Quaternion]:
    """Return the frame of an element in its parent's frame."""
    x, y, z = element.numbers("pos", 3, ORIGIN)
    return (x, y, z), angles.turn(element)


@dataclass(frozen=True)
class Geom:
    """A geom: its geometry, its mass in kg, and whether it is visible and collides."""

    geometry: Geometry
    mass: float
    seen: bool
    collides: bool


def read_geom(
    element: Element, angles: Angles, meshes: dict[str, tuple[str, Vector]], colors: dict[str, Color]
) -> Geom:
    """Return the geom of an element with its defaults; `meshes` are files and scales, `colors` materials, by name."""
    kind_name = element.attributes.get("type", "mesh" if "mesh" in element.attributes else "sphere")
    if kind_name not in _KINDS:
        raise element.error(f"geoms of type {kind_name!r} are not supported; supported are {', '.join(_KINDS)}")
    kind = ShapeKind[kind_name.upper()]
    position, orientation = place_of(element, angles)
    color = _color(element, colors)
    if kind is ShapeKind.MESH:
        name = element.need("mesh")
        if name not in meshes:
            raise element.error(f"there is no mesh {name!r} in <asset>; known: {', '.join(meshes) or 'none'}")
        path, scale = meshes[name]
        geometry = make_geometry(kind, position, orientation, color, mesh_path=path, mesh_scale=scale)
    elif kind is ShapeKind.PLANE:
        geometry = make_geometry(kind, position, orientation, color)
    else:
        geometry = _primitive(element, kind, position, orientation, color)
    # A geom with contype 0 and conaffinity 0 has no contacts.
    collides = bool(element.number("contype", 1.0) or element.number("conaffinity", 1.0))
    seen = element.number("group", 0.0) < _HIDDEN_GROUP
    # A mass that is given wins over the density, as in MuJoCo; negative stands for none given.
    density = element.number("density", _DENSITY)
    mass = element.number("mass", -1.0)
    return Geom(geometry, density * volume_of(geometry) if mass < 0.0 else mass, seen, collides)


def _primitive(element: Element, kind: ShapeKind, position: Vector, orientation: Quaternion, color: Color) -> Geometry:
    """Return a geometry from the sizes of a geom, or from its two ends; raises an error with the line."""
    count = {ShapeKind.SPHERE: 1, ShapeKind.BOX: 3}.get(kind, 2)
    length = None
    if "fromto" in element.attributes:
        ends = np.array(element.numbers("fromto", 6)).reshape(2, 3)
        # In MJCF the shape's z axis points from the first end to the second.
        length = float(np.linalg.norm(ends[1] - ends[0]))
        x, y, z = ends.mean(axis=0).tolist()
        position, orientation = (x, y, z), from_z(element, tuple((ends[1] - ends[0]).tolist()))
        count = {ShapeKind.BOX: 2}.get(kind, 1)
    # Only the first `count` sizes are used; files often have more, left from another shape or unused with fromto.
    given = " ".join(element.need("size").split()[:count])
    sizes = [checked_size(element, size) for size in element.parsed(given, count, "size")]
    if kind is ShapeKind.BOX:
        half_x, half_y, half_z = sizes if length is None else (*sizes, 0.5 * length)
        return make_geometry(kind, position, orientation, color, half_extents=(half_x, half_y, half_z))
    height = 1.0 if kind is ShapeKind.SPHERE else 2.0 * sizes[1] if length is None else length
    return make_geometry(kind, position, orientation, color, radius=sizes[0], height=height)


def _color(element: Element, colors: dict[str, Color]) -> Color:
    if "rgba" in element.attributes:
        red, green, blue, alpha = element.numbers("rgba", 4)
        return (red, green, blue, alpha)
    return colors.get(element.attributes.get("material", ""), DEFAULT_COLOR)


def volume_of(geometry: Geometry) -> float:
    """Return the volume of a geometry in m3; 0 for planes and for meshes, whose volume is unknown."""
    kind, radius, height = geometry.kind, geometry.radius, geometry.height
    if kind == ShapeKind.BOX:
        return 8.0 * math.prod(geometry.half_extents)
    ball, rod = 4.0 / 3.0 * math.pi * radius**3, math.pi * radius**2 * height
    return {ShapeKind.SPHERE: ball, ShapeKind.CYLINDER: rod, ShapeKind.CAPSULE: ball + rod}.get(ShapeKind(kind), 0.0)


def inertial_of_geoms(element: Element, geoms: list[Geom]) -> Inertial:
    """Return the combined inertia of solid geoms."""
    mass = sum(geom.mass for geom in geoms)
    if mass <= 0.0:
        return Inertial()
    places = np.array([geom.geometry.position for geom in geoms])
    centre = np.array([geom.mass for geom in geoms]) @ places / mass
    tensor = np.zeros((3, 3))
    for geom in geoms:
        arm = np.array(geom.geometry.position) - centre
        axes = quaternions.to_matrices(np.array([geom.geometry.orientation]))[0]
        tensor += geom.mass * (axes @ np.diag(_moments(geom.geometry)) @ axes.T)
        # Parallel axis theorem.
        tensor += geom.mass * (np.dot(arm, arm) * np.eye(3) - np.outer(arm, arm))
    # Rounding left off the diagonal would turn the frame of a tensor that is diagonal.
    tensor[np.abs(tensor) < 1e-12 * np.abs(tensor).max()] = 0.0
    x, y, z = centre.tolist()
    (ixx, ixy, ixz), (_, iyy, iyz), (_, _, izz) = tensor.tolist()
    return inertial_of(element, mass, (x, y, z), UNTURNED, (ixx, ixy, ixz, iyy, iyz, izz))


def _moments(geometry: Geometry) -> Floats:
    """Return the moments (3,) of 1 kg about the geometry's axes; zeros for geometries without a volume."""
    kind, radius, height = geometry.kind, geometry.radius, geometry.height
    if kind == ShapeKind.BOX:
        x, y, z = (half * half / 3.0 for half in geometry.half_extents)
        return np.array([y + z, x + z, x + y])
    if kind == ShapeKind.SPHERE:
        return np.full(3, 0.4 * radius**2)
    across, along = radius**2 / 4.0 + height**2 / 12.0, radius**2 / 2.0
    if kind == ShapeKind.CYLINDER:
        return np.array([across, across, along])
    if kind == ShapeKind.CAPSULE:
        rod = math.pi * radius**2 * height
        ball = 4.0 / 3.0 * math.pi * radius**3
        # The moment of each hemisphere, moved to the middle of the capsule.
        caps = 0.4 * radius**2 + 0.25 * height**2 + 0.375 * radius * height
        total = rod + ball
        side = (rod * across + ball * caps) / total
        return np.array([side, side, (rod * along + ball * 0.4 * radius**2) / total])
    return np.zeros(3)


def _from_axes(element: Element, axes: Floats) -> Quaternion:
    x = axes[:3]
    # Gram-Schmidt: y is made perpendicular to x, as MuJoCo does.
    y = axes[3:] - x * (np.dot(x, axes[3:]) / max(float(np.dot(x, x)), 1e-12))
    if min(np.linalg.norm(x), np.linalg.norm(y)) < 1e-9:
        raise element.error("xyaxes must be two directions that are neither zero nor parallel")
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    return _tuple(quaternions.from_matrix(np.column_stack([x, y, np.cross(x, y)])))


def _tuple(quaternion: Floats) -> Quaternion:
    x, y, z, w = quaternions.normalized(quaternion[None])[0].tolist()
    return (x, y, z, w)


_JOINT_KINDS = {"hinge": REVOLUTE, "slide": PRISMATIC, "ball": SPHERICAL, "fixed": FIXED}
_UNSUPPORTED = ("frame", "replicate", "composite", "flexcomp", "attach")
_NO_PARENT = -1

Pose = tuple[Vector, Quaternion]
Include = Callable[[Element, str], tuple[Element, MeshFinder]]
"""Returns the root of an included file and the finder of its meshes, given the <include> and its file name."""


def read_mjcf(root: Element, path: str, meshes: MeshFinder, include: Include) -> RobotModel:
    """Return the model that a <mujoco> element describes; raises InvalidValueError naming the element at fault."""
    # First of all, so that the reader sees one tree: defaults and assets may be in included files.
    _splice(root, include)
    return _MjcfReader(root, meshes).read(path)


def _splice(element: Element, include: Include) -> None:
    """Replace <include> elements by the content of their files, at any depth."""
    spliced = []
    for child in element.children:
        if child.tag == "include":
            child = include(child, child.need("file"))[0]
            _splice(child, include)
            spliced += child.children
        else:
            _splice(child, include)
            spliced.append(child)
    element.children = spliced


class _MjcfReader:
    """Reads one MJCF file as PyBullet does: with its names for links and joints that have none."""

    def __init__(self, root: Element, meshes: MeshFinder) -> None:
        self._root = root
        # Several <compiler> elements count as one; of an option given twice the last is used.
        self._options = {name: value for element in root.all("compiler") for name, value in element.attributes.items()}
        self._check_options()
        unit = 1.0 if self._options.get("angle", "degree") == "radian" else Angles.unit
        self._angles = Angles(unit, self._options.get("eulerseq", "xyz"))
        self._defaults = Defaults(root)
        self._colors = self._read_colors()
        self._meshes = self._read_meshes(meshes)
        self._forces = self._read_forces()
        self._model = 0
        self._made = 0
        self._links: list[LinkParts] = []
        self._joints: list[JointParts] = []

    def read(self, path: str) -> RobotModel:
        """Return the model of the one body of the world, or of its one geom if it has no body."""
        places = [child for world in self._root.all("worldbody") for child in world.children]
        things = [child for child in places if child.tag in ("body", "geom")]
        bodies = [child for child in things if child.tag == "body"] or things
        for child in places:
            self._refuse(child)
        if len(bodies) != 1:
            names = ", ".join(str(body) for body in bodies[:8]) or "none"
            raise self._root.error(
                f"its world has {len(bodies)} bodies ({names}); a robot must be exactly one, split the file"
            )
        # PyBullet makes a model of each body and geom in the world, and uses its number in the names of links.
        self._model = things.index(bodies[0])
        if bodies[0].tag == "body":
            self._body(bodies[0], _NO_PARENT, MAIN)
        else:
            geom = self._geom(bodies[0], MAIN)
            link = self._link(bodies[0], bodies[0].attributes.get("name", "anonymous"))
            _add_geoms(self._links[link], [geom])
        name = self._root.attributes.get("model") or Path(path).stem
        return assemble(name, path, self._root, self._links, self._joints)

    def _check_options(self) -> None:
        """Raise an error with the line for options of the compiler that would change what poses mean."""
        for element in self._root.all("compiler"):
            if element.attributes.get("coordinate") == "global":
                raise element.error("coordinate='global' is not supported; save the model with local coordinates")
            if element.attributes.get("angle", "degree") not in ("degree", "radian"):
                raise element.error(f"angle must be degree or radian, got {element.attributes['angle']!r}")
            sequence = element.attributes.get("eulerseq", "xyz")
            if len(sequence) != 3 or set(sequence.lower()) - set("xyz"):
                raise element.error(f"eulerseq must be three of xyzXYZ, got {sequence!r}")

    def _read_colors(self) -> dict[str, Color]:
        found: dict[str, Color] = {}
        for element in (child for asset in self._root.all("asset") for child in asset.all("material")):
            red, green, blue, alpha = self._defaults.applied(element, MAIN).numbers("rgba", 4, DEFAULT_COLOR)
            found[element.need("name")] = (red, green, blue, alpha)
        return found

    def _read_meshes(self, meshes: MeshFinder) -> dict[str, tuple[str, Vector]]:
        """Return path and scale of each mesh by name; raises an error for meshes that are not in files."""
        folder = self._options.get("meshdir", self._options.get("assetdir", ""))
        found: dict[str, tuple[str, Vector]] = {}
        for element in (child for asset in self._root.all("asset") for child in asset.all("mesh")):
            whole = self._defaults.applied(element, MAIN)
            if "file" not in whole.attributes:
                raise element.error("a mesh needs a file; meshes made of listed vertices are not supported")
            if any(
                map(any, (whole.numbers("refpos", 3, ORIGIN), whole.numbers("refquat", 4, (1.0, 0.0, 0.0, 0.0))[1:]))
            ):
                raise element.error("refpos and refquat of a mesh are not supported")
            name = whole.attributes.get("name") or Path(whole.need("file")).stem
            x, y, z = whole.numbers("scale", 3, (1.0, 1.0, 1.0))
            found[name] = (meshes.find(element, str(Path(folder) / whole.need("file"))), (x, y, z))
        return found

    def _read_forces(self) -> dict[str, float]:
        """Return the largest force of the actuators of each joint."""
        found: dict[str, float] = {}
        for element in (child for group in self._root.all("actuator") for child in group.children):
            actuator = self._defaults.applied(element, MAIN)
            joint = actuator.attributes.get("joint", "")
            # A gear has up to six numbers; for hinges and slides only the first counts.
            gear = abs(actuator.parsed(" ".join(actuator.attributes.get("gear", "1").split()[:1]), 1, "gear")[0])
            # For a <motor> the control input is the force itself, so its ctrlrange limits it.
            given = "forcerange" if "forcerange" in actuator.attributes or actuator.tag != "motor" else "ctrlrange"
            if joint and given in actuator.attributes:
                found[joint] = max(found.get(joint, 0.0), gear * max(map(abs, actuator.numbers(given, 2))))
        return found

    def _refuse(self, element: Element) -> None:
        if element.tag in _UNSUPPORTED:
            raise element.error(f"<{element.tag}> is not supported; save the model as MuJoCo expands it")

    def _body(self, element: Element, parent: int, child_class: str) -> None:
        """Add the links and joints of a body below link number `parent`, and of the bodies in it."""
        child_class = element.attributes.get("childclass", child_class)
        own = self._link(element, element.attributes.get("name", ""))
        frame = place_of(element, self._angles)
        above, geoms = parent, []
        for child in element.children:
            self._refuse(child)
            if child.tag == "joint":
                joint = self._defaults.applied(child, child_class)
                if joint.attributes.get("type", "hinge") == "free":
                    self._check_free(child, parent)
                    continue
                above, frame = self._joint(joint, above, frame)
            elif child.tag == "freejoint":
                self._check_free(child, parent)
            elif child.tag == "geom":
                geoms.append(self._geom(child, child_class))
            elif child.tag == "body":
                self._body(child, own, child_class)
        # Only the outermost body may be without a joint above it: it is the base.
        if above != _NO_PARENT:
            self._fix(element, above, own, frame)
        _add_geoms(self._links[own], geoms)
        self._links[own].inertial = self._inertial(element, geoms)

    def _check_free(self, element: Element, parent: int) -> None:
        if parent != _NO_PARENT:
            raise element.error("only the outermost body can have a free joint")

    def _link(self, element: Element, name: str) -> int:
        self._links.append(LinkParts(name or f"link{self._model}_{len(self._links)}", element))
        return len(self._links) - 1

    def _joint(self, joint: Element, above: int, frame: Pose) -> tuple[int, Pose]:
        """Add a joint and the link it moves at `frame` in link `above`; return that link and the body's frame in it."""
        # The outermost body has no link above it, so its first joint gets one that stands still.
        if above == _NO_PARENT:
            above = self._link(joint, "")
        kind_name = joint.attributes.get("type", "hinge")
        kind = _JOINT_KINDS.get(kind_name)
        if kind is None:
            raise joint.error(f"unknown type of joint {kind_name!r}.{did_you_mean(kind_name, (*_JOINT_KINDS, 'free'))}")
        x, y, z = joint.numbers("pos", 3, ORIGIN)
        axis = checked_axis(joint, joint.numbers("axis", 3, (0.0, 0.0, 1.0)), kind)
        moved = self._link(joint, "")
        # A joint sits at `pos` of the body, so its link has its origin there. The body is back by as much: see the
        # return.
        frame = _compose(_compose(frame, ((x, y, z), UNTURNED)), self._reference(joint, kind, axis))
        lower, upper = self._limits(joint, kind)
        self._joints.append(JointParts(
            joint.attributes.get("name") or self._unnamed(moved),
            joint, kind, self._links[above].name, self._links[moved].name, *frame, axis, lower, upper,
            max_force=self._force(joint),
            damping=max(joint.number("damping", 0.0), 0.0), friction=max(joint.number("frictionloss", 0.0), 0.0),
        ))  # fmt: skip
        return moved, ((-x, -y, -z), UNTURNED)

    def _reference(self, joint: Element, kind: int, axis: Vector) -> Pose:
        """Return the joint's pose at value 0 relative to its pose in the file, where its value is `ref`."""
        back = -joint.number("ref", 0.0)
        x, y, z = (part * back for part in axis)
        if kind == PRISMATIC:
            return (x, y, z), UNTURNED
        turned = quaternions.from_rotation_vectors(np.array([[x, y, z]]) * self._angles.unit)
        qx, qy, qz, qw = turned[0].tolist()
        return ORIGIN, (qx, qy, qz, qw)

    def _force(self, joint: Element) -> float:
        actuators = self._forces.get(joint.attributes.get("name", ""), 0.0)
        return max(map(abs, joint.numbers("actuatorfrcrange", 2, (actuators, actuators))))

    def _unnamed(self, moved: int) -> str:
        self._made += 1
        return f"joint{self._made - 1}_{moved}_{len(self._joints)}"

    def _fix(self, element: Element, above: int, own: int, frame: Pose) -> None:
        name = f"jointfix_{self._made}_{above}"
        self._made += 1
        self._joints.append(JointParts(name, element, FIXED, self._links[above].name, self._links[own].name, *frame))

    def _limits(self, joint: Element, kind: int) -> tuple[float, float]:
        """Return the limits of a joint in rad or m as MuJoCo reads them; NO_LIMITS where it has none."""
        limited = joint.attributes.get("limited", "auto")
        # MuJoCo: a range alone makes a joint limited, unless autolimits is off.
        automatic = "range" in joint.attributes and self._options.get("autolimits", "true") == "true"
        if kind == SPHERICAL or limited == "false" or (limited != "true" and not automatic):
            return NO_LIMITS
        unit = self._angles.unit if kind == REVOLUTE else 1.0
        lower, upper = (unit * bound for bound in joint.numbers("range", 2))
        if lower > upper:
            raise joint.error(f"the lower end {lower:g} of range is above the upper {upper:g}; exchange them")
        return lower, upper

    def _geom(self, element: Element, child_class: str) -> Geom:
        return read_geom(self._defaults.applied(element, child_class), self._angles, self._meshes, self._colors)

    def _inertial(self, element: Element, geoms: list[Geom]) -> Inertial:
        """Return mass and inertia of a body: as given, or those of its geoms."""
        given, from_geoms = element.child("inertial"), self._options.get("inertiafromgeom", "auto")
        if given is None or from_geoms == "true":
            return inertial_of_geoms(element, geoms)
        position, orientation = place_of(given, self._angles)
        if "fullinertia" in given.attributes:
            # MJCF gives the diagonal first, URDF row by row.
            ixx, iyy, izz, ixy, ixz, iyz = given.numbers("fullinertia", 6)
        else:
            (ixx, iyy, izz), ixy, ixz, iyz = given.numbers("diaginertia", 3, ORIGIN), 0.0, 0.0, 0.0
        return inertial_of(given, given.number("mass"), position, orientation, (ixx, ixy, ixz, iyy, iyz, izz))


def _add_geoms(link: LinkParts, geoms: list[Geom]) -> None:
    link.visuals = [geom.geometry for geom in geoms if geom.seen]
    link.collisions = [geom.geometry for geom in geoms if geom.collides]


def _compose(outer: Pose, inner: Pose) -> Pose:
    arrays = [np.array([part]) for part in (*outer, *inner)]
    (x, y, z), (qx, qy, qz, qw) = (part[0].tolist() for part in quaternions.compose(*arrays))
    return (x, y, z), (qx, qy, qz, qw)
