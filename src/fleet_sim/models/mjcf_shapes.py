"""Geoms, frames and masses of MJCF."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.robot_model import Inertial
from fleet_sim.core.shapes import Geometry
from fleet_sim.models.geometries import checked_size, from_z, make_geometry
from fleet_sim.models.inertia import inertial_of
from fleet_sim.models.markup import Element
from fleet_sim.models.values import DEFAULT_COLOR, ORIGIN, UNTURNED, Color, Quaternion, Vector
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.shapes import ShapeKind

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
