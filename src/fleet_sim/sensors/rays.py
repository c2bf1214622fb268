"""Rays in any direction, through PyBullet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.sensors.solids import Solids
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.shapes import ShapeKind

BATCH = 16383
"""Largest batch: with one ray more, PyBullet loses a ray."""
_STEP_ON = 1e-3
"""Distance in m behind a hit on its own entity at which a ray continues."""
_HALVINGS = 40
_ROUND = (np.uint8(ShapeKind.SPHERE), np.uint8(ShapeKind.CAPSULE))
_MOST_OWN = 16
"""Number of surfaces of its own entity a ray passes through before it counts as free."""


class NearestHits(NamedTuple):
    """What rays met: ranges (R,) in m, infinite for nothing; the entities' rows (R,), -1 for none or the floor;
    unit normals (R, 3) of the surfaces, zero for nothing.
    """

    ranges: Floats
    rows: Rows
    normals: Floats


def cast_rays(
    mirror: BulletMirror, solids: Solids, origins: Floats, directions: Floats, reach: float, own: Rows
) -> NearestHits:
    """Return the hits of rays from `origins` (R, 3) along unit `directions` (R, 3), within `reach`.

    Surfaces of the entities `own` (R,) are passed through. A ray that begins inside a shape does not hit it; only
    spheres and capsules are hit from inside, at once.
    """
    mirror.ensure()
    count = len(origins)
    hits = NearestHits(np.full(count, np.inf), np.full(count, -1, np.int64), np.zeros((count, 3)))
    begun = np.zeros(count)
    open_rays = np.arange(count)
    # PyBullet returns only the first hit of a ray, so a ray that hits its own entity is cast again from just behind.
    for _ in range(_MOST_OWN):
        if not len(open_rays):
            break
        starts = origins[open_rays] + begun[open_rays, None] * directions[open_rays]
        ends = origins[open_rays] + reach * directions[open_rays]
        fractions, rows, normals = _cast(mirror, starts, ends)
        hit_mask = fractions < 1.0
        # Fractions are of the part that was cast, not of the whole reach.
        ranges = begun[open_rays] + fractions * (reach - begun[open_rays])
        own_mask = hit_mask & (rows >= 0) & (rows == own[open_rays])
        done = np.flatnonzero(hit_mask & ~own_mask)
        hits.ranges[open_rays[done]] = ranges[done]
        hits.rows[open_rays[done]] = rows[done]
        hits.normals[open_rays[done]] = normals[done]
        # In a sphere or capsule PyBullet reports a hit at once, wherever the ray begins. Steps of 1 mm would use up all
        # tries before the ray is out.
        inside = np.flatnonzero(own_mask & (fractions == 0.0))
        if len(inside):
            rays = open_rays[inside]
            ranges[inside] += way_out(solids, own[rays], starts[inside], directions[rays])
        begun[open_rays] = ranges + _STEP_ON
        open_rays = open_rays[own_mask & (ranges + _STEP_ON < reach)]
    return hits


def way_out(solids: Solids, owners: Rows, origins: Floats, directions: Floats) -> Floats:
    """Return how far (R,) rays go until they have left the spheres and capsules of their `owners` (R,)."""
    ways = np.zeros(len(owners))
    for piece in np.flatnonzero(np.isin(solids.kinds, _ROUND) & np.isin(solids.rows, owners)).tolist():
        rays = np.flatnonzero(owners == solids.rows[piece])
        radius = float(solids.radii[piece])
        reach = float(solids.half_extents[piece, 2]) - radius
        orientation = solids.orientations[piece : piece + 1]
        axis = (reach * quaternions.rotate(orientation, np.array([[0.0, 0.0, 1.0]])))[0]
        # No chord of a capsule is longer than the capsule.
        low, high = np.zeros(len(rays)), np.full(len(rays), 2.0 * (radius + reach))
        # The distance to a capsule's axis is convex along a ray: it leaves once. Halving finds where.
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            points = origins[rays] + middle[:, None] * directions[rays] - solids.positions[piece]
            # The axis of a sphere has length 0; the bound keeps the quotient at 0.
            along = np.clip((points @ axis) / max(reach * reach, 1e-12), -1.0, 1.0)
            inside_mask = ((points - along[:, None] * axis) ** 2).sum(axis=1) < radius * radius
            low, high = np.where(inside_mask, middle, low), np.where(inside_mask, high, middle)
        ways[rays] = np.maximum(ways[rays], high)
    return ways


def _cast(mirror: BulletMirror, starts: Floats, ends: Floats) -> tuple[Floats, Rows, Floats]:
    """Return fractions (R,), 1 for nothing, rows (R,) and normals (R, 3)."""
    found = []
    for first in range(0, len(starts), BATCH):
        part = slice(first, first + BATCH)
        found += mirror.client.rayTestBatch(starts[part].tolist(), ends[part].tolist())
    fractions = np.array([hit[2] for hit in found])
    bodies = np.array([hit[0] for hit in found], np.int64)
    normals = np.array([hit[4] for hit in found])
    fractions[bodies < 0] = 1.0
    return fractions, mirror.rows_of_bodies(bodies), normals
