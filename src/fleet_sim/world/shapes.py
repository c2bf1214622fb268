"""Visual and collision shapes of bodies, interned, and RobotModel: what a robot description file says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.errors import unknown_name
from fleet_sim.base.files import shared_uri
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial.shapes import ShapeKind

Vector = tuple[float, float, float]


@saved
@dataclass(frozen=True)
class Geometry:
    """One visual or collision geometry in the body frame; hashable, all lengths in m.

    `kind` is a spatial.shapes.ShapeKind. `height` is the whole height of a cylinder and the cylindrical part of a
    capsule. A `concave` mesh is its triangles, with room inside; any other mesh collides as its convex hull.
    """

    kind: int
    half_extents: Vector = (0.5, 0.5, 0.5)
    radius: float = 0.5
    height: float = 1.0
    mesh_path: str = ""
    mesh_scale: Vector = (1.0, 1.0, 1.0)
    rgba: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0)
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)
    concave: bool = False


def half_extents_of(shape: Geometry) -> Vector:
    """Return the half extents of a shape that is not a mesh, as `spatial.shapes` defines them."""
    radius = shape.radius
    if shape.kind == ShapeKind.SPHERE:
        return radius, radius, radius
    if shape.kind == ShapeKind.CYLINDER:
        return radius, radius, 0.5 * shape.height
    if shape.kind == ShapeKind.CAPSULE:
        return radius, radius, 0.5 * shape.height + radius
    return shape.half_extents if shape.kind == ShapeKind.BOX else (0.0, 0.0, 0.0)


def seen_as(visual: Geometry, collisions: Iterable[Geometry]) -> Geometry:
    """Return `visual`, concave where a collision shape is the same concave mesh: cameras see both sides, as rays do."""
    same = any(shape.concave and shape.mesh_path == visual.mesh_path for shape in collisions)
    return replace(visual, concave=True) if same and not visual.concave else visual


@saved
@dataclass(frozen=True)
class BodyShape:
    """Everything that PyBullet needs to create a body, except mass and pose.

    Either `visual` and `collision` geometries (each may be None), or `model_path`, a robot description file, all whose
    lengths are times `scale`.
    """

    visual: Geometry | None = None
    collision: Geometry | None = None
    model_path: str = ""
    fixed_base: bool = False
    scale: float = 1.0


class ShapeCatalog:
    """The distinct BodyShapes of a world, by a small number."""

    def __init__(self) -> None:
        self._shapes: list[BodyShape] = []
        self._ids: dict[BodyShape, int] = {}
        self.concave: list[int] = []
        """The numbers of the shapes that collide as concave meshes."""

    def intern(self, shape: BodyShape) -> int:
        """Return the number of `shape`, the same for equal shapes."""
        shape_id = self._ids.get(shape)
        if shape_id is None:
            shape_id = self._ids[shape] = len(self._shapes)
            self._shapes.append(shape)
            if shape.collision is not None and shape.collision.concave:
                self.concave.append(shape_id)
        return shape_id

    def __getitem__(self, shape_id: int) -> BodyShape:
        return self._shapes[shape_id]

    def __len__(self) -> int:
        return len(self._shapes)


# RobotModel: the content of a robot description file, read once and shared by all robots of that kind. Links and
# joints are numbered as in PyBullet: joint i moves link i, and -1 is the base. So an index has the same meaning in
# columns, in PyBullet and in user code.


BASE = -1
REVOLUTE, PRISMATIC, SPHERICAL, PLANAR, FIXED = range(5)
"""Types of joints, with PyBullet's numbers. A continuous joint is a REVOLUTE one without limits."""


@saved
@dataclass(frozen=True)
class LinkGeometry:
    """One geometry of a link; its pose is in the link frame."""

    link: int
    geometry: Geometry


@saved
@dataclass(frozen=True)
class Inertial:
    """Mass in kg, inertial frame (centre of mass at its origin) in the link frame, inertia in kg m2 about its axes."""

    mass: float = 0.0
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    inertia: tuple[float, float, float] = (0.0, 0.0, 0.0)


@saved
@dataclass(frozen=True)
class Mimic:
    """A joint, by index, that follows another one: its position is `multiplier` times that of `leader` + `offset`.

    No leader follows itself: what a file says in several steps is one here.
    """

    follower: int
    leader: int
    multiplier: float = 1.0
    offset: float = 0.0


@saved
@dataclass(frozen=True, eq=False)
class RobotModel:
    """The links, joints and geometries of one robot description, for J joints.

    Link frames are those of the file: a link's frame is its joint's frame, moved by the joint. `parents` (J,) is the
    parent link of each. `joint_positions` (J, 3) and `joint_orientations` (J, 4) are the joint frames in the parent's
    link frame, at joint value 0; `axes` (J, 3) unit vectors in the joint frame. `lower` and `upper` (J,) in rad or m;
    where lower >= upper the joint has no limits. `max_velocities` and `max_forces` (J,) are 0 where the file has no
    value. `inertials` holds the base's and then one per link. Arrays are read-only.
    """

    name: str
    path: str
    base_name: str
    link_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    joint_types: Ints
    parents: Ints
    joint_positions: Floats
    joint_orientations: Floats
    axes: Floats
    lower: Floats
    upper: Floats
    max_velocities: Floats
    max_forces: Floats
    damping: Floats
    friction: Floats
    inertials: tuple[Inertial, ...] = ()
    visuals: tuple[LinkGeometry, ...] = ()
    collisions: tuple[LinkGeometry, ...] = ()
    mimics: tuple[Mimic, ...] = ()
    # Both are worked out from the rest, once.
    movable: Ints = field(init=False)
    """Indices (M,) of the movable joints: those that turn or slide. Others are held fixed, see `held`."""
    limited_mask: Bools = field(init=False)
    """Which joints (J,) have limits."""

    def __post_init__(self) -> None:
        # Frozen like the rest; both follow from other fields.
        # Spherical and planar joints have no single value, so nothing moves them.
        object.__setattr__(self, "movable", np.flatnonzero(np.isin(self.joint_types, (REVOLUTE, PRISMATIC))))
        # Files say "no limits" by a lower limit that is not below the upper one.
        object.__setattr__(self, "limited_mask", np.asarray(self.lower) < np.asarray(self.upper))
        # Read-only, as all robots of a kind share them: one that wrote here would change the others.
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def num_joints(self) -> int:
        """Number of joints, and of links besides the base; fixed ones are included."""
        return len(self.joint_names)

    @property
    def movable_names(self) -> tuple[str, ...]:
        """The names of the movable joints."""
        return tuple(self.joint_names[joint] for joint in self.movable.tolist())

    @property
    def held(self) -> tuple[str, ...]:
        """The names of spherical and planar joints, which have no single position: they stay as the file has them."""
        kinds = zip(self.joint_names, self.joint_types.tolist(), strict=True)
        return tuple(name for name, kind in kinds if kind in (SPHERICAL, PLANAR))

    @cached_property
    def concave(self) -> tuple[LinkGeometry, ...]:
        """The collision shapes that are concave meshes."""
        return tuple(piece for piece in self.collisions if piece.geometry.concave)

    @cached_property
    def slots(self) -> Ints:
        """The index (J,) of each joint among the movable ones, -1 for fixed joints."""
        slots = np.full(self.num_joints, -1, np.int64)
        slots[self.movable] = np.arange(len(self.movable))
        return slots

    @cached_property
    def _joints(self) -> dict[str, int]:
        return {name: joint for joint, name in enumerate(self.joint_names)}

    @cached_property
    def _links(self) -> dict[str, int]:
        # The base is a link as well, with the number -1.
        return {self.base_name: BASE} | {name: link for link, name in enumerate(self.link_names)}

    def joint_index(self, joint: int | str) -> int:
        """Return the index of a joint given by name or index; raises UnknownNameError with the closest names."""
        return self._index("joint", joint, self._joints, range(self.num_joints))

    def link_index(self, link: int | str) -> int:
        """Return the index of a link given by name or index, -1 for the base; raises UnknownNameError."""
        return self._index("link", link, self._links, range(BASE, self.num_joints))

    def _index(self, noun: str, wanted: int | str, by_name: dict[str, int], allowed: range) -> int:
        """Return the index of a joint or link by name or index; raises UnknownNameError with the closest name."""
        if isinstance(wanted, str):
            index = by_name.get(wanted)
            if index is None:
                raise unknown_name(f"{noun} of {self.name!r}", wanted, by_name)
            return index
        if wanted not in allowed:
            raise unknown_name(f"{noun} index of {self.name!r}", wanted, map(str, allowed))
        return int(wanted)

    def chain(self, link: int) -> Iterator[int]:
        """Yield the joints between `link` and the base, from the link inwards."""
        while link != BASE:
            yield link
            link = int(self.parents[link])


# What of an entity is seen, and the RViz marker that shows each of its shapes.


PLANE_SIZE = 100.0
"""Side length in m of the square that represents an infinite plane."""

CUBE, SPHERE, CYLINDER, MESH_RESOURCE = 1, 2, 3, 10
"""Types of visualization_msgs/Marker."""

WITH_MATERIALS = (".dae", ".obj")
"""Formats of meshes that can have materials."""

TRANSPARENT = (0.0, 0.0, 0.0, 0.0)
"""The color of a marker whose mesh is shown in its own materials; any other color is mixed with them."""


class VisiblePart(NamedTuple):
    """A shape in the frame of a link, BASE or its number."""

    link: int
    geometry: Geometry


def visible_parts(
    model: RobotModel | None, shape: BodyShape | None, half_extents: Vector, centre: Vector
) -> list[VisiblePart]:
    """Return what is seen of an entity: the shapes of its links, or its own.

    A box of `half_extents` about `centre` stands for a robot whose description has nothing to see.
    """
    if model is not None and model.visuals:
        return [VisiblePart(visual.link, visual.geometry) for visual in model.visuals]
    if shape is None:
        return []
    if shape.model_path:
        return [VisiblePart(BASE, Geometry(int(ShapeKind.BOX), half_extents=half_extents, position=centre))]
    return [VisiblePart(BASE, geometry) for geometry in (shape.visual or shape.collision,) if geometry is not None]


def has_own_materials(geometry: Geometry) -> bool:
    """Return whether `geometry` is a mesh that is seen in the materials of its file: nothing else gives it a color."""
    kept = Path(geometry.mesh_path).suffix.lower() in WITH_MATERIALS
    return ShapeKind(geometry.kind) is ShapeKind.MESH and kept and geometry.rgba == Geometry.rgba


def marker_shape(geometry: Geometry) -> tuple[int, Vector, str]:
    """Return the type of the marker that shows `geometry`, its scale in m, and the URI of its mesh or nothing."""
    kind, across = ShapeKind(geometry.kind), 2.0 * geometry.radius
    if kind is ShapeKind.MESH:
        return MESH_RESOURCE, geometry.mesh_scale, shared_uri(geometry.mesh_path)
    if kind is ShapeKind.SPHERE:
        return SPHERE, (across, across, across), ""
    if kind is ShapeKind.CYLINDER:
        return CYLINDER, (across, across, geometry.height), ""
    if kind is ShapeKind.CAPSULE:
        # There is no marker for capsules.
        return CYLINDER, (across, across, geometry.height + across), ""
    if kind is ShapeKind.PLANE:
        # Not of height 0, as RViz does not draw markers with a scale of 0.
        return CUBE, (PLANE_SIZE, PLANE_SIZE, 0.001), ""
    x, y, z = geometry.half_extents
    return CUBE, (2.0 * x, 2.0 * y, 2.0 * z), ""
