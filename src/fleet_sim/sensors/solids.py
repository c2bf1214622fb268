"""The collision shapes of a world as sensors see them, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import AnyArray, Bytes, Floats, Ints, Rows
from fleet_sim.core.robot_model import BASE, LinkGeometry
from fleet_sim.core.shapes import Geometry, half_extents_of
from fleet_sim.core.world import World
from fleet_sim.meshes.hulls import Hull, hull_of
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.shapes import ROUND_KINDS, ShapeKind

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
