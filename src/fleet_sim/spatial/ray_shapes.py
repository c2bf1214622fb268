"""Where rays enter convex shapes, in closed form, in the frames of the shapes.

All functions take `origins` (K, 3) and unit `directions` (K, 3) and return ranges (K,), infinite for misses, and unit
normals (K, 3), zero for misses. A ray that begins inside a shape does not meet it.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats

Entries = tuple[Floats, Floats]


def enter_boxes(origins: Floats, directions: Floats, half_extents: Floats) -> Entries:
    """Return where rays enter boxes with `half_extents` (K, 3)."""
    # Along an axis in which a ray does not move it is inside the slab forever or never: +-inf, and NaN on its side.
    with np.errstate(divide="ignore", invalid="ignore"):
        near = (-np.sign(directions) * half_extents - origins) / directions
        far = (np.sign(directions) * half_extents - origins) / directions
    still_mask = directions == 0.0
    out_mask = np.abs(origins) > half_extents
    near = np.where(still_mask, np.where(out_mask, np.inf, -np.inf), near)
    far = np.where(still_mask, np.inf, far)
    axis = near.argmax(axis=1)
    ranges = near.max(axis=1)
    missed_mask = (ranges > far.min(axis=1)) | (ranges < 0.0)
    normals = np.zeros_like(origins)
    rays = np.arange(len(origins))
    normals[rays, axis] = -np.sign(directions[rays, axis])
    return _without(ranges, normals, missed_mask)


def enter_spheres(origins: Floats, directions: Floats, radii: Floats) -> Entries:
    """Return where rays enter spheres with `radii` (K,)."""
    along = (origins * directions).sum(axis=1)
    beyond = (origins * origins).sum(axis=1) - radii * radii
    square = along * along - beyond
    ranges = -along - np.sqrt(np.maximum(square, 0.0))
    normals = (origins + ranges[:, None] * directions) / radii[:, None]
    return _without(ranges, normals, (square < 0.0) | (ranges < 0.0) | (beyond <= 0.0))


def enter_cylinders(origins: Floats, directions: Floats, radii: Floats, halves: Floats) -> Entries:
    """Return where rays enter cylinders about z with `radii` (K,), from -`halves` to `halves` (K,)."""
    side, into, out = _side(origins, directions, radii)
    with np.errstate(divide="ignore", invalid="ignore"):
        caps = np.stack((-halves - origins[:, 2], halves - origins[:, 2])) / directions[:, 2]
    level_mask = directions[:, 2] == 0.0
    within_mask = np.abs(origins[:, 2]) <= halves
    low = np.where(level_mask, np.where(within_mask, -np.inf, np.inf), caps.min(axis=0))
    high = np.where(level_mask, np.inf, caps.max(axis=0))
    ranges = np.maximum(into, low)
    missed_mask = side | (ranges > np.minimum(out, high)) | (ranges < 0.0)
    with np.errstate(invalid="ignore"):
        points = origins + np.where(np.isfinite(ranges), ranges, 0.0)[:, None] * directions
    normals = points / radii[:, None]
    normals[:, 2] = 0.0
    cap_mask = low > into
    normals[cap_mask] = 0.0
    normals[cap_mask, 2] = -np.sign(directions[cap_mask, 2])
    return _without(ranges, normals, missed_mask)


def enter_capsules(origins: Floats, directions: Floats, radii: Floats, reach: Floats) -> Entries:
    """Return where rays enter capsules about z with `radii` (K,), whose axes go from -`reach` to `reach` (K,)."""
    missed_mask, into, _ = _side(origins, directions, radii)
    heights = origins[:, 2] + np.where(np.isfinite(into), into, 0.0) * directions[:, 2]
    missed_mask |= (np.abs(heights) > reach) | (into < 0.0) | ~np.isfinite(into)
    normals = (origins + np.where(missed_mask, 0.0, into)[:, None] * directions) / radii[:, None]
    normals[:, 2] = 0.0
    ranges, normals = _without(into, normals, missed_mask)
    for sign in (-1.0, 1.0):
        ends = np.zeros_like(origins)
        ends[:, 2] = sign * reach
        found, turned = enter_spheres(origins - ends, directions, radii)
        nearer_mask = found < ranges
        ranges, normals = np.where(nearer_mask, found, ranges), np.where(nearer_mask[:, None], turned, normals)
    # From inside of one part a ray may enter another one.
    axis = np.clip(origins[:, 2], -reach, reach)
    inside_mask = (origins[:, :2] ** 2).sum(axis=1) + (origins[:, 2] - axis) ** 2 <= radii * radii
    return _without(ranges, normals, inside_mask)


def meet_planes(origins: Floats, directions: Floats) -> Entries:
    """Return where rays meet the planes z = 0, from either side."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ranges = -origins[:, 2] / directions[:, 2]
    normals = np.zeros_like(origins)
    normals[:, 2] = np.sign(origins[:, 2])
    return _without(ranges, normals, ~(ranges >= 0.0) | (origins[:, 2] == 0.0))


def enter_hull(origins: Floats, directions: Floats, planes: Floats, offsets: Floats) -> Entries:
    """Return where rays enter the convex body behind `planes` (F, 3), unit normals, at `offsets` (F,)."""
    heights = origins @ planes.T - offsets
    closing = directions @ planes.T
    with np.errstate(divide="ignore", invalid="ignore"):
        ranges = -heights / closing
    into = np.where(closing < 0.0, ranges, -np.inf)
    out = np.where(closing > 0.0, ranges, np.inf)
    beside_mask = ((closing == 0.0) & (heights > 0.0)).any(axis=1)
    face = into.argmax(axis=1)
    entered = into.max(axis=1)
    missed_mask = beside_mask | (entered > out.min(axis=1)) | (entered < 0.0)
    return _without(entered, planes[face], missed_mask)


def _side(origins: Floats, directions: Floats, radii: Floats) -> tuple[Bools, Floats, Floats]:
    """Return which rays miss the infinite cylinder about z, and where the others enter and leave it."""
    square = (directions[:, :2] ** 2).sum(axis=1)
    along = (origins[:, :2] * directions[:, :2]).sum(axis=1)
    beyond = (origins[:, :2] ** 2).sum(axis=1) - radii * radii
    upright_mask = square < 1e-18
    square = np.where(upright_mask, 1.0, square)
    root = along * along - square * beyond
    missed_mask = np.where(upright_mask, beyond > 0.0, root < 0.0)
    half = np.sqrt(np.maximum(root, 0.0))
    into = np.where(upright_mask, -np.inf, (-along - half) / square)
    out = np.where(upright_mask, np.inf, (-along + half) / square)
    return missed_mask, into, out


def _without(ranges: Floats, normals: Floats, missed_mask: Bools) -> Entries:
    return np.where(missed_mask, np.inf, ranges), np.where(missed_mask[:, None], 0.0, normals)
