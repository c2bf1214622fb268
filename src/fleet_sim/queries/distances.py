"""Distances between entities, and from points to entities, shape by shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.collision.distances import distances_between
from fleet_sim.core.world import World
from fleet_sim.meshes.hulls import hull_planes, hull_surface
from fleet_sim.sensors.solids import Solids, solids_of
from fleet_sim.sensors.surfaces import surfaces_of
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

ExactSolver = Callable[[Ints, float], Floats]
"""Given pairs (K, 2) of rows and a limit in m, return the signed distances (K,), infinite beyond the limit."""
FAR = 1e5
"""The limit in m for what has no end, as a plane and a mesh."""


def point_distances(world: World, point: Floats, rows: Rows) -> Floats:
    """Return the signed distance (N,) from `point` (3,) to each of `rows`; infinite for what has no shape."""
    out = np.full(world.capacity, np.inf)
    solids = solids_of(world, rows)
    if len(solids.rows):
        np.minimum.at(out, solids.rows, _to_pieces(point, solids, compiled=world.compiled))
    for placed in surfaces_of(world, rows):
        found, _, _ = placed.surface.tree.nearest(point[None], np.array([np.inf]))
        out[placed.row] = min(out[placed.row], float(found[0]))
    return out[rows]


def entity_distances(world: World, row: int, others: Rows, limit: float, exact: ExactSolver) -> Floats:
    """Return the signed distances (N,) from the entity in `row` to `others`, which may be infinite above `limit`.

    Pairs of simple shapes are computed here; for the others `exact` is asked, which may need PyBullet.
    """
    mine, theirs = solids_of(world, np.array([row])), solids_of(world, others)
    rough = np.zeros(world.capacity, bool)
    # No formula covers the triangles of a surface: `exact` is asked for those.
    rough[[placed.row for placed in surfaces_of(world, others)]] = True
    if surfaces_of(world, np.array([row])):
        rough[:] = True
    out = np.full(world.capacity, np.inf)
    if len(mine.rows) and len(theirs.rows):
        first = np.repeat(np.arange(len(mine.rows)), len(theirs.rows))
        second = np.tile(np.arange(len(theirs.rows)), len(mine.rows))
        pairs = _arrays(mine.take(first)), _arrays(theirs.take(second))
        distances, open_mask = distances_between(*pairs, compiled=world.compiled)
        rows = theirs.rows[second]
        rough[rows[open_mask]] = True
        np.minimum.at(out, rows[~open_mask], distances[~open_mask])
    asked = others[rough[others] & (world.shape_kind[others] != ShapeKind.NONE)]
    if len(asked):
        out[asked] = exact(np.stack((np.full(len(asked), row), asked), axis=1), limit)
    return out[others]


def reach_of(world: World, row: int, others: Rows) -> float:
    """Return a distance in m that no two points of the entity in `row` and of `others` exceed; FAR without an end."""
    rows = np.append(others, row)
    lower, upper = world.aabb_lower[rows].min(axis=0), world.aabb_upper[rows].max(axis=0)
    size = upper - lower
    return float(np.sqrt((size * size).sum())) if np.isfinite(size).all() else FAR


def _to_pieces(point: Floats, solids: Solids, *, compiled: bool) -> Floats:
    """Return the distances (N,) in m of `point` (3,) to solids; to the box around what is made of unknown pieces."""
    count = len(solids.rows)
    here = ShapeArrays(
        np.full(count, ShapeKind.SPHERE, np.uint8),
        np.broadcast_to(point, (count, 3)).copy(),
        np.tile(np.array([0.0, 0.0, 0.0, 1.0]), (count, 1)),
        np.zeros((count, 3)),
        np.zeros(count),
    )
    hull_mask: Bools = np.array([hull is not None for hull in solids.hulls.tolist()], bool)
    shapes = _arrays(solids)
    # What is made of unknown pieces counts as the box around it.
    boxed_mask = (solids.kinds > ShapeKind.PLANE) & ~hull_mask
    shapes = shapes._replace(kinds=np.where(boxed_mask, np.uint8(ShapeKind.BOX), solids.kinds))
    distances, _ = distances_between(here, shapes, compiled=compiled)
    for index in np.flatnonzero(hull_mask).tolist():
        hull = solids.hulls[index]
        turn = quaternions.conjugate(solids.orientations[[index]])
        local = quaternions.rotate(turn, (point - solids.positions[index])[None])
        planes = hull_planes(hull)
        depth = float((planes[:, :3] @ local[0] - planes[:, 3]).max())
        # Inside the nearest face counts, outside the nearest point of the surface.
        if depth <= 0.0:
            distances[index] = depth
        else:
            distances[index] = hull_surface(hull).tree.nearest(local, np.array([np.inf]))[0][0]
    return distances


def _arrays(solids: Solids) -> ShapeArrays:
    return ShapeArrays(solids.kinds, solids.positions, solids.orientations, solids.half_extents, solids.radii)
