"""The content of a picture: one instance per visible geometry of every entity, and where each of them is now."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import NO_ROWS, Bytes, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import picture, to_read
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import ROUND_KINDS, ShapeKind
from fleet_sim.models.meshes import mesh as primitives
from fleet_sim.models.meshes.loading import load_mesh, version_of
from fleet_sim.models.meshes.mesh import Mesh, Part
from fleet_sim.world.schema import UNIT_QUATERNION
from fleet_sim.world.shapes import BASE, Geometry
from fleet_sim.world.snapshot import NO_APPEARANCE, Appearance, appearance_of
from fleet_sim.world.world import World

# What a picture shows: instances of meshes, with what carries them, sorted by mesh.


class MeshKey(NamedTuple):
    """Names a mesh; instances with equal keys are drawn together. `size` is part of capsules, `path` of files.

    A `mirrored` mesh has one or three negative scale factors. A `two_sided` one is seen from behind as well.
    `version` is that of the file.
    """

    kind: ShapeKind
    path: str = ""
    size: tuple[float, ...] = ()
    mirrored: bool = False
    two_sided: bool = False
    version: int = 0

    @property
    def levels(self) -> int:
        """How many levels of detail there are."""
        return len(primitives.SEGMENTS) if self.kind in ROUND_KINDS else 1


class MeshInstances(NamedTuple):
    """Instances `start` to `stop` of a table, which show one mesh."""

    key: MeshKey
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class InstanceTable:
    """Instances (M) in the order of `batches`: what they show, and the row and link that carry them."""

    batches: tuple[MeshInstances, ...]
    rows: Rows
    links: Ints
    ids: npt.NDArray[np.int32]
    """Object id and link (M, 2)."""
    positions: Floats
    orientations: Floats
    scales: npt.NDArray[np.float32]
    colors: npt.NDArray[np.uint8]
    radii: Floats
    """Of spheres around the instances' origins that hold them."""
    on_links: Rows
    """Instances that are carried by a link other than the base."""
    placed: Rows
    """Instances that do not sit on the frame that carries them."""


log = logging.getLogger("fleet_sim.sensing.sensors")

PLANE_HALF_SIZE = 1000.0
"""Half the side in m of the drawn part of a plane, which is infinite."""
_PLANE_HALF_HEIGHT = 1e-3

NOTHING = Mesh((Part(np.zeros((1, 3)), np.zeros((1, 3), np.int64)),))
"""One triangle without a size, which no pixel shows."""

Scale = tuple[float, float, float]


class MeshStore:
    """Meshes by name and level of detail, each made or read once."""

    def __init__(self) -> None:
        self._meshes: dict[tuple[MeshKey, int], Mesh] = {}

    def mesh(self, key: MeshKey, level: int) -> Mesh:
        """Return a mesh. For a file that cannot be used that is NOTHING, and one warning says why."""
        mesh = self._meshes.get((key, level))
        if mesh is None:
            try:
                mesh = _make_mesh(key, level)
            except InvalidValueError as error:
                # One bad file must not blind the cameras to everything else.
                log.warning("%s; cameras do not see it", error)
                mesh = NOTHING
            for note in mesh.notes:
                _warn_once(note)
            self._meshes[key, level] = mesh
        return mesh


@cache
def _warn_once(note: str) -> None:
    """Log a note on a mesh file once per process: each simulation reads the files anew, but they stay as they are."""
    log.warning("%s", note)


def _make_mesh(key: MeshKey, level: int) -> Mesh:
    """Return the mesh that a key names, at a level of detail."""
    if key.kind == ShapeKind.SPHERE:
        return primitives.sphere(level)
    if key.kind == ShapeKind.CYLINDER:
        return primitives.cylinder(level)
    if key.kind == ShapeKind.CAPSULE:
        return primitives.capsule(level, *key.size)
    if key.kind == ShapeKind.MESH:
        mesh = load_mesh(key.path)
        return mesh.two_sided() if key.two_sided else mesh
    return primitives.box()


class Scene:
    """The instances of a world, kept while nothing is spawned, removed or colored."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.meshes = MeshStore()
        self._versions = (-1, -1)
        self._table = instance_table(NO_APPEARANCE, NO_ROWS, self.meshes)

    def table(self) -> InstanceTable:
        """Return the instances there are now."""
        world = self.world
        # The versions count spawns, removals and new colors. What moves changes poses only, which are read for each
        # picture.
        versions = (world.version, world.look.version)
        if self._versions != versions:
            self._table = instance_table(appearance_of(world), world.rows, self.meshes)
            self._versions = versions
        return self._table

    def poses(self, table: InstanceTable) -> tuple[Floats, Floats]:
        """Return the world poses (M, 3), (M, 4) of all instances as they are now."""
        world = self.world
        # Indexing copies, so the parts below may write. Most instances sit on their base frame and need neither of
        # them.
        positions, orientations = world.position[table.rows], world.orientation[table.rows]
        chosen = table.on_links
        if len(chosen):
            positions[chosen], orientations[chosen] = world.link_poses(table.rows[chosen], table.links[chosen])
        chosen = table.placed
        if len(chosen):
            positions[chosen], orientations[chosen] = quaternions.compose(
                positions[chosen], orientations[chosen], table.positions[chosen], table.orientations[chosen]
            )
        return positions, orientations


_Groups = dict[MeshKey, list[tuple[Ints, int, Geometry]]]
"""Geometries by mesh, each with the indices of the entities whose link of that number carries it."""


def _visible(looks: Appearance) -> _Groups:
    """Return the visible geometries, by mesh."""
    groups: _Groups = defaultdict(list)
    shapes, models = looks.shape_ids, looks.model_ids
    # What a robot with a model shows is on its links, whatever its shape column says.
    plain_mask = (models < 0) & (shapes >= 0)
    for shape_id in np.unique(shapes[plain_mask]).tolist():
        # Grouped by mesh first: instances of one mesh are consecutive in the table and drawn by one call.
        chosen = np.flatnonzero(plain_mask & (shapes == shape_id))
        _enter(looks, groups, chosen, BASE, looks.shapes[shape_id].visual)
    for model in np.unique(models[models >= 0]).tolist():
        for visual in looks.models[model].visuals:
            _enter(looks, groups, np.flatnonzero(models == model), visual.link, visual.geometry)
    return groups


def _enter(looks: Appearance, groups: _Groups, indices: Ints, link: int, geometry: Geometry | None) -> None:
    if geometry is None or geometry.kind == ShapeKind.NONE:
        return
    # What has no opacity is left out, be it by its shape or by a color given since: -1 is none given.
    opacities = looks.colors(indices, np.full(len(indices), link))[:, 3]
    shown = indices[np.where(opacities < 0.0, geometry.rgba[3], opacities) > 0.0]
    if len(shown):
        groups[key_of(geometry)].append((shown, link, geometry))


def key_of(geometry: Geometry) -> MeshKey:
    """Return the name of the mesh that shows a geometry."""
    if geometry.kind == ShapeKind.CAPSULE:
        return MeshKey(ShapeKind.CAPSULE, size=(geometry.radius, geometry.height))
    if geometry.kind == ShapeKind.MESH:
        mirrored = bool(np.prod(geometry.mesh_scale) < 0.0)
        return MeshKey(
            ShapeKind.MESH,
            geometry.mesh_path,
            mirrored=mirrored,
            two_sided=geometry.concave,
            version=version_of(geometry.mesh_path),
        )
    # A plane is drawn as PyBullet's view draws it: as a thin wide box.
    return MeshKey(ShapeKind.BOX if geometry.kind == ShapeKind.PLANE else ShapeKind(geometry.kind))


def scale_of(geometry: Geometry) -> Scale:
    """Return the factors that scale the unit mesh of a geometry to its size."""
    kind = geometry.kind
    if kind == ShapeKind.BOX:
        return geometry.half_extents
    if kind == ShapeKind.SPHERE:
        return geometry.radius, geometry.radius, geometry.radius
    if kind == ShapeKind.CYLINDER:
        return geometry.radius, geometry.radius, 0.5 * geometry.height
    if kind == ShapeKind.PLANE:
        return PLANE_HALF_SIZE, PLANE_HALF_SIZE, _PLANE_HALF_HEIGHT
    return geometry.mesh_scale if kind == ShapeKind.MESH else (1.0, 1.0, 1.0)


def instance_table(looks: Appearance, rows: Rows, store: MeshStore) -> InstanceTable:
    """Return the instances that show entities of the appearance `looks`, which are in `rows` (N,) of the table."""
    groups = _visible(looks)
    entries = [entry for group in groups.values() for entry in group]
    counts = [len(indices) for indices, _, _ in entries]
    geometries = [geometry for _, _, geometry in entries]
    scales = np.array([scale_of(geometry) for geometry in geometries], np.float64).reshape(-1, 3)
    # The finest level: its vertices reach furthest, so its bound holds all coarser ones too.
    meshes = [store.mesh(key, key.levels - 1) for key, group in groups.items() for _ in group]
    radii = [mesh.bound(scale) for mesh, scale in zip(meshes, scales, strict=True)]
    indices = np.concatenate([NO_ROWS, *(indices for indices, _, _ in entries)])
    links = np.repeat(np.array([link for _, link, _ in entries], np.int64), counts)
    positions = np.array([geometry.position for geometry in geometries], np.float64).reshape(-1, 3)
    orientations = np.array([geometry.orientation for geometry in geometries], np.float64).reshape(-1, 4)
    # Composing poses is the costly part of a frame, and most geometries are centred on their link.
    placed_mask = positions.any(1) | (orientations != UNIT_QUATERNION).any(1)
    own = np.array([geometry.rgba for geometry in geometries], np.float64).reshape(-1, 4)
    given = looks.colors(indices, links)
    colors = np.where(given < 0.0, np.repeat(own, counts, axis=0), given)
    return InstanceTable(
        batches=_batches(groups),
        rows=rows[indices],
        links=links,
        ids=np.column_stack([looks.object_ids[indices], links]).astype(np.int32),
        positions=np.repeat(positions, counts, axis=0),
        orientations=np.repeat(orientations, counts, axis=0),
        scales=np.repeat(scales, counts, axis=0).astype(np.float32),
        colors=(255.0 * colors).round().astype(np.uint8),
        radii=np.repeat(np.array(radii, np.float64), counts),
        on_links=np.flatnonzero(links != BASE),
        placed=np.flatnonzero(np.repeat(placed_mask, counts)),
    )


def _batches(groups: _Groups) -> tuple[MeshInstances, ...]:
    batches, start = [], 0
    for key, group in groups.items():
        stop = start + sum(len(indices) for indices, _, _ in group)
        batches.append(MeshInstances(key, start, stop))
        start = stop
    return tuple(batches)


# FlatMarks: strips and squares that pictures for people show on the floor besides the bodies of a world.


Rgb = tuple[int, int, int]


class FlatMarks(NamedTuple):
    """Level boxes: middles (K, 3) and half extents (K, 3) in m, headings (K,) in rad, and colors (K, 3)."""

    positions: Floats
    yaws: Floats
    half_extents: Floats
    colors: Bytes


def strips(lines: Floats, width: float, thickness: float, color: Rgb) -> FlatMarks:
    """Return strips along `lines` (K, 2, 3), which are level."""
    ways = lines[:, 1] - lines[:, 0]
    half = np.empty((len(lines), 3))
    # Half a width longer at each end, so that corners are whole.
    half[:, 0], half[:, 1:] = 0.5 * (trig.hypot(ways[:, 0], ways[:, 1]) + width), (0.5 * width, 0.5 * thickness)
    yaws = trig.arctan2(ways[:, 1], ways[:, 0])
    return FlatMarks(0.5 * (lines[:, 0] + lines[:, 1]), yaws, half, _painted(len(lines), color))


def squares(places: Floats, yaws: Floats, half: float, thickness: float, color: Rgb) -> FlatMarks:
    """Return squares with their middles at `places` (K, 3), turned by `yaws` (K,)."""
    half_extents = np.tile((half, half, 0.5 * thickness), (len(places), 1))
    return FlatMarks(places, yaws, half_extents, _painted(len(places), color))


def joined(marks: Sequence[FlatMarks]) -> FlatMarks:
    """Return all of them as one."""
    none = FlatMarks(np.empty((0, 3)), np.empty(0), np.empty((0, 3)), np.empty((0, 3), np.uint8))
    return FlatMarks(*(np.concatenate(parts) for parts in zip(none, *marks, strict=True)))


def _painted(count: int, color: Rgb) -> Bytes:
    return np.tile(np.array(color, np.uint8), (count, 1))


# Textures: picture files as pixels, for all that draws meshes.


LARGEST_TEXTURE = 1 << 26
"""Pixels of a picture on a mesh."""


def read_texture(path: str) -> Bytes:
    """Return a picture file as (H, W, 3) uint8, last line first, as texture coordinates count.

    Raises MissingDependencyError without Pillow, InvalidValueError for a file that is no picture.
    """
    try:
        with picture(to_read(path), LARGEST_TEXTURE) as image:
            pixels = np.asarray(image.convert("RGB"), np.uint8)
    except (OSError, ValueError) as error:
        raise InvalidValueError(f"texture {path!r}: {error}") from error
    # OpenGL takes the first row in memory as v = 0, and v points up. It reads memory, so a flipped view will not do.
    return np.ascontiguousarray(pixels[::-1])
