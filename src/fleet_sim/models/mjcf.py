"""Reads MJCF files as robot models: the one body in their <worldbody>.

A body in MJCF may have several joints, so each joint gets an extra link between the body and its parent, and the body
is attached to the last of these by a fixed joint. These links and joints are named as in PyBullet: "link0_3",
"jointfix_2_3". Elements of the world itself (a floor, lights) are ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fleet_sim.core.robot_model import FIXED, PRISMATIC, REVOLUTE, SPHERICAL, Inertial, RobotModel
from fleet_sim.errors import did_you_mean
from fleet_sim.models.assembly import assemble
from fleet_sim.models.inertia import inertial_of
from fleet_sim.models.markup import Element
from fleet_sim.models.meshes import MeshFinder
from fleet_sim.models.mjcf_defaults import MAIN, Defaults
from fleet_sim.models.mjcf_shapes import Angles, Geom, inertial_of_geoms, place_of, read_geom
from fleet_sim.models.parts import NO_LIMITS, JointParts, LinkParts, checked_axis
from fleet_sim.models.values import DEFAULT_COLOR, ORIGIN, UNTURNED, Color, Quaternion, Vector
from fleet_sim.spatial import poses, quaternions

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
    (x, y, z), (qx, qy, qz, qw) = (part[0].tolist() for part in poses.compose(*arrays))
    return (x, y, z), (qx, qy, qz, qw)
