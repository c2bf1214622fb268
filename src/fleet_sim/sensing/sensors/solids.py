"""The collision shapes of a world as sensors see them, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bytes, Floats, Ints, Rows
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ROUND_KINDS, ShapeKind
from fleet_sim.base.spatial.triangles import BoxTree, Surface
from fleet_sim.models.meshes.loading import Hull, MeshTriangles, hull_of, hull_planes, triangles_of
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.shapes import BASE, Geometry, LinkGeometry, half_extents_of
from fleet_sim.world.world import World

_NONE, _MESH = int(ShapeKind.NONE), int(ShapeKind.MESH)


class Solids(NamedTuple):
    """Posed convex pieces, one per index; `rows` (N,) are the entities they belong to.

    kinds (N,), positions (N, 3), orientations (N, 4), half_extents (N, 3), radii (N,) as in `spatial.shapes`. `hulls`
    (N,) are those of meshes, None for the others; COMPOUND counts as the box around it. An entity may have several
    pieces, on `links` (N,) of a robot; -1 is the base.
    """

    rows: Rows
    kinds: Bytes
    positions: Floats
    orientations: Floats
    half_extents: Floats
    radii: Floats
    hulls: AnyArray
    links: Ints

    def take(self, indices: Rows) -> Solids:
        """Return the pieces at `indices`."""
        columns: list[AnyArray] = [values.take(indices, axis=0) for values in self]
        return Solids(*columns)


def solids_of(world: World, rows: Rows | None = None) -> Solids:
    """Return the pieces of the living entities in `rows` (None: of all), where they are now.

    The pieces of robots that have a model come after the others. Concave meshes have none, see `surfaces_of`.
    """
    chosen = np.flatnonzero(world.alive) if rows is None else rows
    chosen = chosen[world.shape_kind[chosen] != _NONE]
    modelled_mask = world.robots.model[chosen] >= 0
    # Bodies of the user's own are compounds; what they are made of is known for most.
    meshed_mask = (world.shape_kind[chosen] >= _MESH) & ~modelled_mask & (world.shape_id[chosen] >= 0)
    # The usual case: all columns can be used as they are, without joining parts.
    if not modelled_mask.any() and not meshed_mask.any():
        return _plain(world, chosen)
    parts = [_plain(world, chosen[~modelled_mask & ~meshed_mask])]
    meshed, modelled = chosen[meshed_mask], chosen[modelled_mask]
    # Entities of one shape or model have the same pieces, so each kind needs one call.
    for shape_id, members in _alike(world.shape_id[meshed], meshed):
        mesh = world.shapes[shape_id].collision
        if mesh is None:
            parts.append(_plain(world, members))
        elif not mesh.concave:
            parts.append(_of_links(world, (LinkGeometry(BASE, mesh),), members))
    for number, members in _alike(world.robots.model[modelled], modelled):
        pieces = world.models[number].collisions
        convex = [piece for piece in pieces if not piece.geometry.concave]
        if convex or not pieces:
            parts.append(_of_links(world, convex, members) if convex else _plain(world, members))
    columns: list[AnyArray] = [np.concatenate(values) for values in zip(*parts, strict=True)]
    return Solids(*columns)


def _alike(numbers: Ints, rows: Rows) -> Iterator[tuple[int, Rows]]:
    """Yield each of `numbers` (N,) with those of `rows` (N,) that have it."""
    for number in np.unique(numbers).tolist():
        yield number, rows[numbers == number]


def _plain(world: World, rows: Rows) -> Solids:
    """Return the shapes of `rows` (N,) without a model, where they are in the world."""
    positions, orientations = world.position.take(rows, axis=0), world.orientation.take(rows, axis=0)
    # Most shapes are centred on their entity; only the others pay for a rotation.
    off = np.flatnonzero(~world.shape_centred[rows])
    if len(off):
        turns, shapes = orientations[off], rows[off]
        positions[off] += quaternions.rotate(turns, world.shape_position[shapes])
        orientations[off] = quaternions.multiply(turns, world.shape_orientation[shapes])
    half_extents = world.half_extents.take(rows, axis=0)
    hulls = np.full(len(rows), None, object)
    return Solids(
        rows,
        world.shape_kind[rows],
        positions,
        orientations,
        half_extents,
        world.radius[rows],
        hulls,
        np.full(len(rows), BASE),
    )


def _of_links(world: World, pieces: Sequence[LinkGeometry], rows: Rows) -> Solids:
    """Return the pieces that robots of one kind have on their links: the pieces of one robot are together."""
    each = len(pieces)
    links = np.tile(np.array([piece.link for piece in pieces], np.int64), len(rows))
    owners = np.repeat(rows, each)
    positions, turns = world.link_poses(owners, links)
    local = _local_poses(pieces)
    positions = positions + quaternions.rotate(turns, np.tile(local[0], (len(rows), 1)))
    orientations = quaternions.multiply(turns, np.tile(local[1], (len(rows), 1)))
    sizes = [_size(piece.geometry) for piece in pieces]
    hulls = np.array([None, *(hull for _, _, hull in sizes)], object)[1:]
    return Solids(
        owners,
        np.tile(np.array([piece.geometry.kind for piece in pieces], np.uint8), len(rows)),
        positions,
        orientations,
        np.tile(np.array([size[0] for size in sizes]), (len(rows), 1)),
        np.tile(np.array([size[1] for size in sizes]), len(rows)),
        np.tile(hulls, len(rows)),
        links,
    )


def _local_poses(pieces: Sequence[LinkGeometry]) -> tuple[Floats, Floats]:
    """Return where the middles of the pieces are in their links' frames."""
    geometries = [piece.geometry for piece in pieces]
    positions = np.array([geometry.position for geometry in geometries], np.float64)
    orientations = np.array([geometry.orientation for geometry in geometries], np.float64)
    # A hull counts from the middle of its box, a mesh file from its own origin.
    for index, geometry in enumerate(geometries):
        if geometry.kind == ShapeKind.MESH:
            centre = hull_of(geometry).centre[None]
            positions[index] += quaternions.rotate(orientations[index : index + 1], centre)[0]
    return positions, orientations


def _size(shape: Geometry) -> tuple[Floats, float, Hull | None]:
    """Return half extents (3,) and radius of a geometry, as `spatial.shapes` defines them, and the hull of a mesh."""
    if shape.kind == ShapeKind.MESH:
        hull = hull_of(shape)
        return hull.half_extents, 0.0, hull
    return np.array(half_extents_of(shape)), shape.radius if shape.kind in ROUND_KINDS else 0.0, None


def nearest_points(solids: Solids, rows: Rows, points: Floats) -> Floats:
    """Return the point (K, 3) of the entity `rows[k]` that is nearest to `points[k]`, (K, 3).

    From inside of a piece it is the piece's centre. NaN for a row without a piece among `solids`.
    """
    order = np.argsort(solids.rows, kind="stable")
    owners = solids.rows[order]
    starts = np.searchsorted(owners, rows, "left")
    counts = np.searchsorted(owners, rows, "right") - starts
    asked = np.repeat(np.arange(len(rows)), counts)
    # Several pieces per row: their indices are laid end to end, one segment per row asked for.
    firsts = np.cumsum(counts) - counts
    pieces = solids.take(order[np.arange(len(asked)) + np.repeat(starts - firsts, counts)])
    nearest = _nearest(pieces, points[asked])
    gaps = ((nearest - points[asked]) ** 2).sum(axis=1)
    out = np.full((len(rows), 3), np.nan)
    some = np.flatnonzero(counts)
    # The nearest of each row's pieces: the first in order of row, then of gap.
    out[some] = nearest[np.lexsort((gaps, asked))[firsts[some]]]
    return out


def _nearest(solids: Solids, points: Floats) -> Floats:
    """Return the point of solid k nearest to points[k]."""
    local = quaternions.rotate(quaternions.conjugate(solids.orientations), points - solids.positions)
    kinds, radii = solids.kinds[:, None], solids.radii[:, None]
    inner = np.clip(local, -solids.half_extents, solids.half_extents)
    flat_mask = (kinds == ShapeKind.PLANE)[:, 0]
    # A plane has no extents to clip to: its nearest point is straight below.
    inner[flat_mask] = local[flat_mask] * np.array([1.0, 1.0, 0.0])
    # Round shapes: so far from the axis, or from the core of a ball or capsule.
    core = np.zeros_like(local)
    reach = solids.half_extents[:, 2] - solids.radii
    core[:, 2] = np.where(kinds[:, 0] == ShapeKind.CAPSULE, np.clip(local[:, 2], -reach, reach), 0.0)
    cylinder_mask = (kinds == ShapeKind.CYLINDER)[:, 0]
    core[cylinder_mask, 2] = local[cylinder_mask, 2]
    away = local - core
    lengths = np.sqrt((away * away).sum(axis=1, keepdims=True))
    rounded = core + away * np.minimum(1.0, radii / np.maximum(lengths, 1e-12))
    rounded[cylinder_mask, 2] = inner[cylinder_mask, 2]
    round_mask = (kinds == ShapeKind.SPHERE) | (kinds == ShapeKind.CYLINDER) | (kinds == ShapeKind.CAPSULE)
    out = np.where(round_mask, rounded, inner)
    # Clipping leaves a point inside where it is; the centre of the piece stands for the surface then.
    inside_mask = (out == local).all(axis=1) & ~flat_mask
    out[inside_mask] = 0.0
    return solids.positions + quaternions.rotate(solids.orientations, out)


# The surfaces of a world: collision shapes that are triangles, with room inside, where they are now.


_KEPT = 256
"""Number of posed surfaces that are kept: they are costly to make, and seldom move."""


class PlacedSurface(NamedTuple):
    """A surface of the entity in `row`, on its link `link` (-1: the base)."""

    row: int
    link: int
    surface: Surface


class LocalSurfaces(NamedTuple):
    """Surfaces S of entities `rows`, on their `links` (-1: the base), in frames with `positions` (S, 3) and
    `orientations` (S, 4).
    """

    rows: Rows
    links: Ints
    positions: Floats
    orientations: Floats
    surfaces: tuple[Surface, ...]


def surfaces_of(world: World, rows: Rows | None = None) -> list[PlacedSurface]:
    """Return the surfaces of the living entities in `rows` (None: of all), where they are now, in order of rows.

    What has a convex shape is not among them, see `solids_of`. Raises InvalidValueError for an unusable mesh file.
    """
    return [PlacedSurface(row, piece.link, _placed(world, row, piece)) for row, piece in _concave(world, rows)]


def local_surfaces(world: World, rows: Rows | None = None) -> LocalSurfaces:
    """Return the same surfaces in frames of their own: nothing is made anew where they move, and equal ones are one.

    Raises InvalidValueError for an unusable mesh file.
    """
    found = _concave(world, rows)
    owners, links = (
        np.array([row for row, _ in found], np.int64),
        np.array([piece.link for _, piece in found], np.int64),
    )
    geometries = [piece.geometry for _, piece in found]
    # Two dimensions also where there is nothing.
    local = (
        np.array([geometry.position for geometry in geometries], np.float64).reshape(-1, 3),
        np.array([geometry.orientation for geometry in geometries], np.float64).reshape(-1, 4),
    )
    positions, orientations = quaternions.compose(*world.link_poses(owners, links), *local) if found else local
    surfaces = tuple(_local(triangles_of(geometry)) for geometry in geometries)
    return LocalSurfaces(owners, links, positions, orientations, surfaces)


@lru_cache(maxsize=256)
def _local(mesh: MeshTriangles) -> Surface:
    return Surface(mesh.corners)


def _concave(world: World, rows: Rows | None) -> list[tuple[int, LinkGeometry]]:
    """Return the rows that have concave collision shapes, with each of those."""
    shapes, models = world.shapes.concave, [number for number, model in enumerate(world.models) if model.concave]
    # The usual case: nobody looks at rows where nothing was ever concave.
    if not shapes and not models:
        return []
    chosen = np.flatnonzero(world.alive) if rows is None else rows
    of_models = world.robots.model[chosen]
    # Where there is a model, its links have the shapes.
    found_mask = np.isin(of_models, models) | (np.isin(world.shape_id[chosen], shapes) & (of_models < 0))
    return [(row, piece) for row in chosen[found_mask].tolist() for piece in concave_pieces(world, row)]


def concave_pieces(world: World, row: int) -> tuple[LinkGeometry, ...]:
    """Return the concave collision shapes of the entity in `row`."""
    model = world.model_of(row)
    if model is not None:
        return model.concave
    shape_id = int(world.shape_id[row])
    shape = world.shapes[shape_id].collision if shape_id >= 0 else None
    return (LinkGeometry(BASE, shape),) if shape is not None and shape.concave else ()


def _placed(world: World, row: int, piece: LinkGeometry) -> Surface:
    rows, links = np.array([row]), np.array([piece.link])
    local = np.array([piece.geometry.position]), np.array([piece.geometry.orientation])
    position, orientation = quaternions.compose(*world.link_poses(rows, links), *local)
    return _posed(triangles_of(piece.geometry), tuple(position[0].tolist()), tuple(orientation[0].tolist()))


@lru_cache(maxsize=_KEPT)
def _posed(mesh: MeshTriangles, position: tuple[float, ...], orientation: tuple[float, ...]) -> Surface:
    corners = mesh.corners.reshape(-1, 3)
    orientations = np.broadcast_to(np.array(orientation), (len(corners), 4))
    return Surface((quaternions.rotate(orientations, corners) + np.array(position)).reshape(-1, 3, 3))


def nearer_on_surfaces(surfaces: Sequence[PlacedSurface], rows: Rows, points: Floats, nearest: Floats) -> Floats:
    """Return `nearest` (K, 3), or the point of a surface of the entity `rows[k]` that is nearer to `points[k]`, (K, 3).

    NaN in `nearest` is no point.
    """
    out = nearest.copy()
    for placed in surfaces:
        asked = np.flatnonzero(rows == placed.row)
        away = out[asked] - points[asked]
        gaps = np.sqrt((away * away).sum(axis=1))
        reach = np.where(np.isnan(gaps), np.inf, gaps)
        # Searched no farther than what is known already.
        found_distances, found, _ = placed.surface.tree.nearest(points[asked], reach)
        nearer = np.flatnonzero(found_distances < reach)
        out[asked[nearer]] = found[nearer]
    return out


# What rays can meet in a world: convex pieces, surfaces and the floor, as arrays. Convex pieces come first, then
# surfaces. Planes have no end, so no box is around them. Equal hulls and equal surfaces share their data.


BOX, SPHERE, CYLINDER, CAPSULE = (int(kind) for kind in list(ShapeKind)[1:5])
PLANE, HULL, SURFACE = int(ShapeKind.PLANE), int(ShapeKind.MESH), int(ShapeKind.COMPOUND) + 1
"""Kinds of targets. What only the box around it is known of is a box."""
FIRST, LAST, TRIANGLES, PER_LEAF = range(4)
"""Columns of `Targets.parts`: the planes of a hull, or the boxes of a surface and its first triangle."""
_LEAF = 2
_SLACK = 1e-9
"""Share by which the boxes around pieces are too large, so that none is missed by rounding."""


class Targets(NamedTuple):
    """P things that rays can meet, surfaces last; of several at one distance a ray meets the first.

    `kinds` (P,), `rows` (-1: the floor) and `links` (P,); `frames` (P, 12) are rotations to the world, then positions,
    and `sizes` (P, 4) half extents and radius in m. `parts` (P, 4), with the columns above, are where the data of hulls
    and surfaces are: of all hulls the sides, `planes` (F, 4), of all surfaces the trees: `boxes` (B, 6), `triangles`
    (T, 9) and their numbers `order` (T,), see `RayTree`; all in their own frames. `lower` and `upper` (P, 3) are
    corners of boxes around targets in the world.
    """

    kinds: Ints
    rows: Rows
    links: Ints
    frames: Floats
    sizes: Floats
    parts: Ints
    planes: Floats
    boxes: Floats
    triangles: Floats
    order: Ints
    lower: Floats
    upper: Floats


class Sorted(NamedTuple):
    """Which targets rays have to look at: `endless` (E,), and in a tree of `boxes` (B, 6) `leaf` for each leaf.

    The leaves have the targets `order` (L,), one after the other; see `BoxTree.flat`.
    """

    endless: Ints
    boxes: Floats
    order: Ints
    leaf: int


def targets_of(world: World, rows: Rows | None = None, *, floor: bool) -> tuple[Targets, tuple[Surface, ...]]:
    """Return what is of the living entities in `rows` (None: of all), where they are now, and the surfaces among it.

    With `floor` the first target is the plane z = 0. Raises InvalidValueError for an unusable mesh file.
    """
    surfaces, solids = local_surfaces(world, rows), solids_of(world, rows)
    if floor:
        solids = _with_floor(solids)
    kinds, hulls = _kinds_and_hulls(solids)
    parts = np.zeros((len(kinds), 4), np.int64)
    # Each hull once. The tuple is the same until shapes come or go, so the packed ones are found in the cache.
    planes, firsts = _packed_hulls(tuple(dict.fromkeys(hulls)))
    for index, hull in zip(np.flatnonzero(kinds == HULL).tolist(), hulls, strict=True):
        parts[index, :2] = firsts[hull]
    frames, sizes = _frames(solids.positions, solids.orientations), np.column_stack((solids.half_extents, solids.radii))
    columns: list[AnyArray] = [kinds, solids.rows, solids.links, frames, sizes, parts]
    columns += _bounds(kinds, frames, solids.half_extents, frames[:, 9:])
    boxes, triangles, order, tops, trees = _packed_surfaces(surfaces.surfaces)
    if len(tops):
        columns = [np.concatenate(pair) for pair in zip(columns, _of_surfaces(surfaces, tops, trees), strict=True)]
    kinds, rows, links, frames, sizes, parts, lower, upper = columns
    packed = planes, boxes, triangles, order
    return Targets(kinds, rows, links, frames, sizes, parts, *packed, lower, upper), surfaces.surfaces


def _frames(positions: Floats, orientations: Floats) -> Floats:
    return np.concatenate((quaternions.to_matrices(orientations).reshape(-1, 9), positions), axis=1)


def _of_surfaces(surfaces: LocalSurfaces, tops: Floats, parts: Ints) -> list[AnyArray]:
    """Return the columns of targets for surfaces with topmost boxes `tops` (S, 6): the first six, and bounds."""
    count = len(tops)
    frames, kinds = _frames(surfaces.positions, surfaces.orientations), np.full(count, SURFACE)
    middles = 0.5 * (tops[:, :3] + tops[:, 3:])
    centres = surfaces.positions + quaternions.rotate(surfaces.orientations, middles)
    bounds = _bounds(kinds, frames, 0.5 * (tops[:, 3:] - tops[:, :3]), centres)
    return [kinds, surfaces.rows, surfaces.links, frames, np.zeros((count, 4)), parts, *bounds]


def _with_floor(solids: Solids) -> Solids:
    plane = np.array([PLANE], np.uint8)
    at, turn, none = np.zeros((1, 3)), quaternions.IDENTITY[None], np.full(1, None, object)
    parts = [Solids(np.array([NO_ROW]), plane, at, turn, at, np.zeros(1), none, np.array([BASE])), solids]
    columns: list[AnyArray] = [np.concatenate(values) for values in zip(*parts, strict=True)]
    return Solids(*columns)


def _kinds_and_hulls(solids: Solids) -> tuple[Ints, list[Hull]]:
    """Return the kinds (P,) of pieces, and in their order the hulls of those that have one."""
    kinds = solids.kinds.astype(np.int64)
    unusual = np.flatnonzero(kinds > PLANE)
    found = solids.hulls[unusual].tolist()
    # Of what has no hull, the box around it is met.
    kinds[unusual] = [BOX if hull is None else HULL for hull in found]
    return kinds, [hull for hull in found if hull is not None]


@lru_cache(maxsize=16)
def _packed_hulls(hulls: tuple[Hull, ...]) -> tuple[Floats, dict[Hull, tuple[int, int]]]:
    """Return the sides (F, 4) of hulls, and the first and the end of those of each."""
    planes = [np.zeros((0, 4)), *(hull_planes(hull) for hull in hulls)]
    ends = np.cumsum([len(part) for part in planes]).tolist()
    return np.concatenate(planes), {hull: (ends[index], ends[index + 1]) for index, hull in enumerate(hulls)}


@lru_cache(maxsize=16)
def _packed_surfaces(surfaces: tuple[Surface, ...]) -> tuple[Floats, Floats, Ints, Floats, Ints]:
    """Return the trees of surfaces one after the other, `boxes`, `triangles`, `order`, each surface's topmost box and
    its `parts`, (S, 6) and (S, 4). Equal surfaces share a tree.
    """
    numbers = {surface: number for number, surface in enumerate(dict.fromkeys(surfaces))}
    trees = [surface.tree.for_rays() for surface in numbers]
    parts = np.zeros((len(trees), 4), np.int64)
    parts[:, LAST] = np.cumsum([len(tree.boxes) for tree in trees])
    parts[1:, FIRST] = parts[:-1, LAST]
    parts[1:, TRIANGLES] = np.cumsum([len(tree.order) for tree in trees])[:-1]
    parts[:, PER_LEAF] = [tree.leaf for tree in trees]
    # Back from trees, each once, to all surfaces.
    parts = parts[[numbers[surface] for surface in surfaces]]
    boxes = np.concatenate([np.zeros((0, 6)), *(tree.boxes for tree in trees)])
    triangles = np.concatenate([np.zeros((0, 9)), *(tree.triangles for tree in trees)])
    order = np.concatenate([np.zeros(0, np.int64), *(tree.order for tree in trees)])
    return boxes, triangles, order, boxes[parts[:, FIRST]], parts


def _bounds(kinds: Ints, frames: Floats, half: Floats, centres: Floats) -> tuple[Floats, Floats]:
    """Return the corners (P, 3), (P, 3) of world boxes around boxes with `half` extents, a little larger than those."""
    turns = np.abs(frames[:, :9].reshape(-1, 3, 3))
    # |R| times the half extents: how far a turned box reaches along each axis of the world.
    sides = turns[:, :, 0] * half[:, 0, None] + turns[:, :, 1] * half[:, 1, None] + turns[:, :, 2] * half[:, 2, None]
    sides += _SLACK * (1.0 + sides + np.abs(centres))
    sides[kinds == PLANE] = np.inf
    return centres - sides, centres + sides


def sorted_near(targets: Targets, lower: Floats, upper: Floats) -> tuple[Ints, BoxTree | None, Ints]:
    """Return the targets without an end, and a tree of those others that reach into the box from `lower` to `upper`
    (3,), None for none; and their numbers, as the tree counts them.
    """
    endless_mask = targets.kinds == PLANE
    near_mask = (targets.lower <= upper).all(axis=1) & (targets.upper >= lower).all(axis=1) & ~endless_mask
    near = np.flatnonzero(near_mask)
    tree = BoxTree(targets.lower[near], targets.upper[near], leaf=_LEAF) if len(near) else None
    return np.flatnonzero(endless_mask), tree, near
