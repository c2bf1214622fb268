"""Outlines: what solids look like in a horizontal plane, as discs and polygons.

Upright solids have one outline over their whole height, so they serve planes at all heights at once; spheres are discs
whose radius depends on the height; what is tilted is cut at each height that is asked for. Surfaces are cut into lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.sensors.cuts import cut_boxes, cut_capsules, cut_cylinders, cut_hulls, posed
from fleet_sim.sensors.solids import Solids
from fleet_sim.sensors.surfaces import PlacedSurface
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.shapes import ShapeKind

_BOX, _SPHERE, _CYLINDER, _CAPSULE, _PLANE, _MESH = (
    np.uint8(kind)
    for kind in (
        *(ShapeKind.BOX, ShapeKind.SPHERE, ShapeKind.CYLINDER),
        *(ShapeKind.CAPSULE, ShapeKind.PLANE, ShapeKind.MESH),
    )
)
# x^2 + y^2 of a quaternion below this is a tilt below 1e-6 rad.
_UPRIGHT = 2.5e-13
_CORNERS_X = np.array([1.0, -1.0, -1.0, 1.0])
_CORNERS_Y = np.array([1.0, 1.0, -1.0, -1.0])


class Circles(NamedTuple):
    """Circles around N outlines of entities `rows`, and the heights from `lower` to `upper` they fill, (N,) each."""

    rows: Rows
    x: Floats
    y: Floats
    radii: Floats
    lower: Floats
    upper: Floats

    def take(self, kept: Ints) -> Circles:
        """Return the circles with the numbers `kept` (K,)."""
        rows, x, y, radii, lower, upper = self
        return Circles(rows[kept], x[kept], y[kept], radii[kept], lower[kept], upper[kept])


class Discs(NamedTuple):
    """Discs, which are their circles.

    Where `ball_mask` is set, the radius is that at height `z`, and it shrinks away from there as a ball's does.
    """

    circles: Circles
    z: Floats
    ball_mask: Bools

    def squares_at(self, indices: Ints, heights: Floats) -> Floats:
        """Return the squared radii (K,) of the discs at `indices` at `heights` (K,)."""
        squares = self.circles.radii[indices] ** 2
        off = np.where(self.ball_mask[indices], heights - self.z[indices], 0.0)
        return np.maximum(squares - off * off, 0.0)


class Polygons(NamedTuple):
    """Convex polygons, counter-clockwise: polygon i has the corners `corners[:, first[i] : first[i] + sizes[i]]`."""

    circles: Circles
    first: Ints
    sizes: Ints
    corners: Floats


class Walls(NamedTuple):
    """Planes of entities `rows` (N,): unit normals (N, 3) and the points (N, 3) they go through; they have no end."""

    rows: Rows
    normals: Floats
    points: Floats


class Segments(NamedTuple):
    """Cuts of surfaces: lines from `starts` to `ends`, (2, N) each, seen from both sides.

    `lower` and `upper` of their circles are both the height of the cut.
    """

    circles: Circles
    starts: Floats
    ends: Floats


_NONE, _NO_POINTS = np.empty(0), np.empty((2, 0))
_NO_SEGMENTS = Segments(Circles(NO_ROWS, *[_NONE] * 5), _NO_POINTS, _NO_POINTS)


class Outlines(NamedTuple):
    """All that can be seen in horizontal planes."""

    discs: Discs
    polygons: Polygons
    walls: Walls
    segments: Segments


def outlines_of(solids: Solids, surfaces: Sequence[PlacedSurface], heights: Floats) -> Outlines:
    """Return the outlines of `solids` and `surfaces` in the horizontal planes at `heights` (K,)."""
    x, y, z, w = np.ascontiguousarray(solids.orientations.T)
    # The product is sin^2(tilt) / 4: it is near 0 both upright and upside down.
    upright_mask = (x * x + y * y) * (z * z + w * w) < _UPRIGHT
    kinds = solids.kinds
    upright_mask |= kinds == _SPHERE
    flat_mask = kinds == _PLANE
    hull_mask = kinds == _MESH
    hull_mask[hull_mask] = [hull is not None for hull in solids.hulls[hull_mask].tolist()]
    # Compounds, and meshes without a hull, count as the box around them.
    box_mask = ((kinds == _BOX) | (kinds > _PLANE)) & ~hull_mask
    round_mask = ~(box_mask | flat_mask | hull_mask)
    discs = _upright_discs(solids.take(np.flatnonzero(upright_mask & round_mask)))
    polygons = [_upright_boxes(solids.take(np.flatnonzero(upright_mask & box_mask)))]
    if hull_mask.any():
        polygons += _cut_meshes(solids.take(np.flatnonzero(hull_mask)), heights)
    # Only what is neither upright, flat nor a mesh has to be cut again for each height.
    tilted_mask = ~(upright_mask | flat_mask | hull_mask)
    if tilted_mask.any():
        cuts = ((box_mask, cut_boxes), (kinds == _CYLINDER, cut_cylinders), (kinds == _CAPSULE, cut_capsules))
        for height in np.unique(heights).tolist():
            for mask, cut in cuts:
                chosen = np.flatnonzero(tilted_mask & mask)
                if len(chosen):
                    part = solids.take(chosen)
                    polygons.append(_polygons(part.rows, *cut(part, height), height))
    walls = _walls(solids.take(np.flatnonzero(flat_mask)))
    return Outlines(discs, _joined(polygons), walls, _segments(surfaces, heights))


def _cut_meshes(solids: Solids, heights: Floats) -> list[Polygons]:
    """Return where the planes at `heights` cut meshes, those of one hull at once."""
    found = []
    # Equal meshes share one hull through its cache, so identity tells which pieces can be cut in one call.
    z, hulls = solids.positions[:, 2], {id(hull): hull for hull in solids.hulls.tolist()}
    numbers = np.array([id(hull) for hull in solids.hulls.tolist()])
    for height in np.unique(heights).tolist():
        for number, hull in hulls.items():
            near = np.flatnonzero((numbers == number) & (np.abs(z - height) <= hull.radius))
            if len(near):
                part = solids.take(near)
                corners, counts = cut_hulls(posed(part, hull.vertices[None]), hull.edges, height)
                found.append(_polygons(part.rows, corners, counts, height))
    return found


def _segments(surfaces: Sequence[PlacedSurface], heights: Floats) -> Segments:
    """Return where the planes at `heights` cut surfaces."""
    if not surfaces:
        return _NO_SEGMENTS
    rows, starts, ends, levels = [NO_ROWS], [_NO_POINTS], [_NO_POINTS], [_NONE]
    for height in np.unique(heights).tolist():
        for placed in surfaces:
            start, end = placed.surface.cut(height)
            count = start.shape[1]
            rows.append(np.full(count, placed.row))
            levels.append(np.full(count, height))
            starts.append(start)
            ends.append(end)
    start, end = np.concatenate(starts, axis=1), np.concatenate(ends, axis=1)
    level, (x, y) = np.concatenate(levels), 0.5 * (start + end)
    radii = 0.5 * trig.hypot(*(end - start))
    return Segments(Circles(np.concatenate(rows), x, y, radii, level, level), start, end)


def _upright_discs(solids: Solids) -> Discs:
    """Return spheres and cylinders as one disc each, capsules as a cylinder and two balls."""
    x, y, z = np.ascontiguousarray(solids.positions.T)
    halves = solids.half_extents[:, 2]
    ball_mask = solids.kinds == _SPHERE
    capsules = np.flatnonzero(solids.kinds == _CAPSULE)
    reach = halves.copy()
    # The cylindrical part only; the loop below adds the two halves of balls.
    reach[capsules] -= solids.radii[capsules]
    plain = Discs(Circles(solids.rows, x, y, solids.radii, z - reach, z + reach), z, ball_mask)
    if not len(capsules):
        return plain
    ends = []
    for sign in (-1.0, 1.0):
        height = z[capsules] + sign * reach[capsules]
        radii = solids.radii[capsules]
        outer = height + sign * radii
        # Each ball fills only its outer half, so that no height has two discs of one capsule.
        lower, upper = np.minimum(height, outer), np.maximum(height, outer)
        whole_mask = np.ones(len(capsules), np.bool_)
        circles = Circles(solids.rows[capsules], x[capsules], y[capsules], radii, lower, upper)
        ends.append(Discs(circles, height, whole_mask))
    parts = [plain, *ends]
    return Discs(
        _joined_circles([part.circles for part in parts]),
        np.concatenate([part.z for part in parts]),
        np.concatenate([part.ball_mask for part in parts]),
    )


def _upright_boxes(solids: Solids) -> Polygons:
    """Return boxes that stand upright as polygons of four corners."""
    qx, qy, qz, qw = np.ascontiguousarray(solids.orientations.T)
    # The direction of the body's x axis; of a box upside down it is as good.
    cosines, sines = 1.0 - 2.0 * (qy * qy + qz * qz), 2.0 * (qw * qz + qx * qy)
    lengths, widths, heights = np.ascontiguousarray(solids.half_extents.T)
    x, y, z = np.ascontiguousarray(solids.positions.T)
    corners = np.empty((2, len(solids.rows), 4))
    for corner in range(4):
        forward, left = _CORNERS_X[corner] * lengths, _CORNERS_Y[corner] * widths
        corners[0, :, corner] = x + (cosines * forward - sines * left)
        corners[1, :, corner] = y + (sines * forward + cosines * left)
    count = np.full(len(solids.rows), 4, np.int64)
    first = 4 * np.arange(len(solids.rows))
    radii = np.sqrt(lengths * lengths + widths * widths)
    circles = Circles(solids.rows, x, y, radii, z - heights, z + heights)
    return Polygons(circles, first, count, corners.reshape(2, -1))


def _polygons(rows: Rows, corners: Floats, counts: Ints, height: float) -> Polygons:
    """Return polygons from corners (2, N, K), the first `counts` (N,) of each; those without are left out."""
    kept = np.flatnonzero(counts >= 3)
    corners, counts = corners[:, kept], counts[kept]
    used_mask = np.arange(corners.shape[2]) < counts[:, None]
    x, y = (np.where(used_mask, part, 0.0).sum(axis=1) / np.maximum(counts, 1) for part in corners)
    away = np.where(used_mask, trig.hypot(corners[0] - x[:, None], corners[1] - y[:, None]), 0.0)
    # Valid at this height only. Sensors compare their own height with it for equality, and it is one of theirs.
    level = np.full(len(kept), height)
    first = np.cumsum(counts) - counts
    radii = away.max(axis=1, initial=0.0)
    return Polygons(Circles(rows[kept], x, y, radii, level, level), first, counts, corners[:, used_mask])


def _joined(parts: list[Polygons]) -> Polygons:
    if len(parts) == 1:
        return parts[0]
    sizes = np.concatenate([part.sizes for part in parts])
    corners = np.concatenate([part.corners for part in parts], axis=1)
    # `corners` are joined end to end, so every polygon begins elsewhere now.
    return Polygons(_joined_circles([part.circles for part in parts]), np.cumsum(sizes) - sizes, sizes, corners)


def _joined_circles(parts: list[Circles]) -> Circles:
    return Circles(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _walls(solids: Solids) -> Walls:
    up = np.tile(np.array([0.0, 0.0, 1.0]), (len(solids.rows), 1))
    return Walls(solids.rows, quaternions.rotate(solids.orientations, up), solids.positions)
