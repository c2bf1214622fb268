"""Rays against the shapes of a world, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.core.world import World
from fleet_sim.meshes.hulls import Hull, hull_faces
from fleet_sim.sensors.solids import Solids
from fleet_sim.sensors.surfaces import PlacedSurface
from fleet_sim.spatial import quaternions, ray_shapes
from fleet_sim.spatial.shapes import ShapeKind
from fleet_sim.spatial.triangles import Surface

_PAIRS = 1 << 18
"""Pairs of a ray and a shape compared at once."""
NO_LINK = -1


@dataclass(frozen=True, eq=False)
class RayHits:
    """What N rays met first, ray by ray.

    `distances` (N,) in m, infinite for nothing; `points` and unit `normals` (N, 3) in the world, NaN for nothing;
    `object_ids` and `links` (N,), -1 for nothing and for the floor, where links count from -1, the base.
    """

    distances: Floats
    points: Floats
    normals: Floats
    object_ids: Ints
    links: Ints
    _rows: Rows
    _world: World

    @cached_property
    def hit_mask(self) -> Bools:
        """Which rays (N,) met anything."""
        return np.isfinite(self.distances)

    @property
    def entities(self) -> list[Any]:
        """The entities met (N), None for nothing and for the floor."""
        return [None if row < 0 else self._world.handles[row] for row in self._rows.tolist()]

    def __len__(self) -> int:
        return len(self.distances)


class Rays:
    """Rays `origins` (N, 3) along unit `directions` (N, 3), each up to its `reach` (N,), and what they met so far."""

    def __init__(self, origins: Floats, directions: Floats, reach: Floats) -> None:
        self.origins, self.directions, self.reach = origins, directions, reach
        self.ranges = np.full(len(origins), np.inf)
        self.normals = np.full((len(origins), 3), np.nan)
        self.rows, self.links = np.full(len(origins), -1, np.int64), np.full(len(origins), NO_LINK, np.int64)

    def meet(self, rays: Ints, ranges: Floats, normals: Floats, rows: Ints, links: Ints) -> None:
        """Enter what `rays` (K,) met at `ranges` (K,); the nearest counts, and of equals the first."""
        order = np.lexsort((ranges, rays))
        # Sorted by ray and range, the first entry of each ray is its nearest.
        order = order[np.flatnonzero(np.diff(rays[order], prepend=-1))]
        owners = rays[order]
        nearer_mask = (ranges[order] < self.ranges[owners]) & (ranges[order] <= self.reach[owners])
        order, owners = order[nearer_mask], owners[nearer_mask]
        self.ranges[owners], self.normals[owners] = ranges[order], normals[order]
        self.rows[owners], self.links[owners] = rows[order], links[order]

    def meet_floor(self) -> None:
        """Let the rays meet the plane z = 0."""
        rays, none = np.arange(len(self.ranges)), np.full(len(self.ranges), -1, np.int64)
        self.meet(rays, *ray_shapes.meet_planes(self.origins, self.directions), none, none)

    def meet_surfaces(self, surfaces: list[PlacedSurface]) -> None:
        """Let the rays meet surfaces."""
        for placed in surfaces:
            limits = np.minimum(self.reach, self.ranges)
            ranges, triangles = placed.surface.tree.cast(self.origins, self.directions, limits)
            rays = np.flatnonzero(triangles >= 0)
            normals = placed.surface.normals[triangles[rays]]
            # A surface has two sides; the normal is that of the side that was met.
            facing = np.sign((normals * self.directions[rays]).sum(axis=1))
            count = len(rays)
            self.meet(
                rays, ranges[rays], -facing[:, None] * normals, np.full(count, placed.row), np.full(count, placed.link)
            )

    def meet_solids(self, solids: Solids) -> None:
        """Let the rays meet convex pieces."""
        radii = np.sqrt((solids.half_extents**2).sum(axis=1))
        # No sphere is around a plane, so every ray is compared with it.
        radii[solids.kinds == ShapeKind.PLANE] = np.inf
        step = max(1, _PAIRS // max(1, len(radii)))
        for first in range(0, len(self.ranges), step):
            part = slice(first, first + step)
            away = solids.positions[None] - self.origins[part, None]
            along = np.einsum("rpk,rk->rp", away, self.directions[part])
            # Nearest points beyond the end of a ray do not count; 1e9 m stands for rays that have none.
            along = np.clip(along, 0.0, np.where(np.isfinite(self.reach), self.reach, 1e9)[part, None])
            gaps = away - along[..., None] * self.directions[part, None]
            rays, pieces = np.nonzero((gaps * gaps).sum(axis=2) <= radii * radii)
            self._meet_pairs(rays + first, pieces, solids)

    def _meet_pairs(self, rays: Ints, pieces: Ints, solids: Solids) -> None:
        turns = solids.orientations[pieces]
        # Into the frame of each piece, where a box is aligned with the axes and a cylinder stands upright.
        back = quaternions.conjugate(turns)
        origins = quaternions.rotate(back, self.origins[rays] - solids.positions[pieces])
        directions = quaternions.rotate(back, self.directions[rays])
        ranges, normals = np.full(len(rays), np.inf), np.zeros((len(rays), 3))
        kinds = solids.kinds[pieces]
        for kind in np.unique(kinds).tolist():
            chosen = np.flatnonzero(kinds == kind)
            ranges[chosen], normals[chosen] = _enter(
                kind, origins[chosen], directions[chosen], solids.take(pieces[chosen])
            )
        self.meet(rays, ranges, quaternions.rotate(turns, normals), solids.rows[pieces], solids.links[pieces])


def _enter(kind: int, origins: Floats, directions: Floats, solids: Solids) -> ray_shapes.Entries:
    half, radii = solids.half_extents, solids.radii
    if kind == ShapeKind.SPHERE:
        return ray_shapes.enter_spheres(origins, directions, radii)
    if kind == ShapeKind.CYLINDER:
        return ray_shapes.enter_cylinders(origins, directions, radii, half[:, 2])
    if kind == ShapeKind.CAPSULE:
        return ray_shapes.enter_capsules(origins, directions, radii, half[:, 2] - radii)
    if kind == ShapeKind.PLANE:
        return ray_shapes.meet_planes(origins, directions)
    ranges, normals = ray_shapes.enter_boxes(origins, directions, half)
    # By identity: instances of a mesh share one hull, and comparing vertices would cost more than the rays.
    hulls = {id(hull): hull for hull in solids.hulls.tolist() if hull is not None}
    numbers = np.array([id(hull) for hull in solids.hulls.tolist()])
    for number, hull in hulls.items():
        same = np.flatnonzero(numbers == number)
        ranges[same], normals[same] = ray_shapes.enter_hull(origins[same], directions[same], *hull_planes(hull))
    return ranges, normals


@lru_cache(maxsize=256)
def hull_surface(hull: Hull) -> Surface:
    """Return the sides of a hull, in its frame; made once, as finding them is slow."""
    return Surface(hull.vertices[hull_faces(hull.vertices)])


def hull_planes(hull: Hull) -> tuple[Floats, Floats]:
    """Return unit normals (F, 3) and offsets (F,) of the sides of a hull, in its frame."""
    surface = hull_surface(hull)
    return surface.normals, (surface.normals * surface.corners[:, 0]).sum(axis=1)
