"""Rays in any direction: what they meet of a world.

`targets.py` has what can be met as arrays, and `compiled_rays.py` casts with compiled code. On arrays, rays are paired
with the targets whose boxes they pierce, batch by batch, and of each ray the nearest one is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.sensors.compiled_rays import Beams, cast_beams, new_ray_scratch
from fleet_sim.sensors.kind import Batch, SensorKind
from fleet_sim.sensors.targets import (
    CAPSULE,
    CYLINDER,
    FIRST,
    HULL,
    LAST,
    PLANE,
    SPHERE,
    SURFACE,
    Sorted,
    Targets,
    sorted_near,
    targets_of,
)
from fleet_sim.spatial import quaternions, ray_shapes
from fleet_sim.spatial.box_tree import BoxTree
from fleet_sim.spatial.triangles import Surface

_BATCH = 4096
"""Rays that are compared with targets at once, few enough to keep the lists of pairs short."""
NOTHING = -1


class Met:
    """What R rays met first: `ranges` (R,) in m, infinite for nothing.

    Made by `cast_rays`. Rows, links and normals are computed when they are asked for, as most sensors use the ranges
    alone.
    """

    def __init__(
        self, beams: Beams, targets: Targets, surfaces: tuple[Surface, ...], ranges: Floats, met: Ints, triangles: Ints
    ) -> None:
        self.ranges = ranges
        self._beams, self._targets, self._surfaces = beams, targets, surfaces
        self._met, self._triangles = met, triangles

    @property
    def rows(self) -> Rows:
        """The rows (R,) of the entities met, -1 for nothing and for the floor."""
        # -1, for nothing, takes the last one, which is put there for it.
        return np.append(self._targets.rows, NO_ROW)[self._met]

    @property
    def links(self) -> Ints:
        """The links (R,) met, where links count from -1, the base; -1 for nothing too."""
        return np.append(self._targets.links, NOTHING)[self._met]

    @cached_property
    def normals(self) -> Floats:
        """Unit normals (R, 3) of what was met, on the side that was met; zero for nothing."""
        out = np.zeros((len(self.ranges), 3))
        hit = np.flatnonzero(self._met >= 0)
        met = self._met[hit]
        origins, directions = _local(self._beams, hit, self._targets, met)
        points = origins + self.ranges[hit] * directions
        kinds, sizes = self._targets.kinds[met], self._targets.sizes[met].T
        for kind in np.unique(kinds).tolist():
            some = np.flatnonzero(kinds == kind)
            if kind == SURFACE:
                out[hit[some]] = self._of_triangles(hit[some])
            elif kind == HULL:
                for chosen, planes in _by_hull(self._targets, met, some):
                    local = ray_shapes.hull_normals(points[:, chosen], directions[:, chosen], planes)
                    out[hit[chosen]] = _to_world(self._targets, met[chosen], local)
            else:
                shape = kind, points[:, some], directions[:, some], sizes[:3, some], sizes[3, some]
                out[hit[some]] = _to_world(self._targets, met[some], ray_shapes.normals(*shape))
        return out

    def _of_triangles(self, rays: Ints) -> Floats:
        """Return the normals (K, 3) of triangles that rays met, on the side from which they came."""
        met, out = self._met[rays], np.empty((len(rays), 3))
        # Surfaces come after all convex targets.
        convex = len(self._targets.kinds) - len(self._surfaces)
        for target in np.unique(met).tolist():
            some = np.flatnonzero(met == target)
            local = self._surfaces[target - convex].normals[self._triangles[rays[some]]]
            normals = _to_world(self._targets, met[some], local.T)
            ways = self._beams.directions[rays[some]]
            # A surface has two sides; the normal is that of the side that was met.
            facing = np.sign(normals[:, 0] * ways[:, 0] + normals[:, 1] * ways[:, 1] + normals[:, 2] * ways[:, 2])
            out[some] = -facing[:, None] * normals
        return out


def cast_rays(
    world: World,
    origins: Floats,
    directions: Floats,
    reach: Floats,
    own: Rows,
    *,
    floor: bool,
    rows: Rows | None = None,
) -> Met:
    """Return what rays from `origins` (R, 3) along unit `directions` (R, 3), up to `reach` (R,) in m, meet first.

    They pass through the entities in the rows `own` (R,), -1 for none. A ray that begins inside a convex shape does not
    meet it; planes, height fields and concave meshes are met from both sides. With `floor` the plane z = 0 is met, and
    with `rows` only what is in those. Results are the same to the last bit with compiled code and without.
    """
    with np.errstate(divide="ignore"):
        # A component of 0 has an infinite inverse, as tests of boxes expect.
        inverse = 1.0 / directions
    beams = Beams(np.ascontiguousarray(origins), directions, inverse, reach, own)
    targets, surfaces = targets_of(world, rows, floor=floor)
    ranges = np.full(len(origins), np.inf)
    met, triangles = np.full(len(origins), NOTHING, np.int64), np.full(len(origins), NOTHING, np.int64)
    if len(origins):
        # The tree has only what one of the rays could reach.
        longest = reach.max()
        near = sorted_near(targets, origins.min(axis=0) - longest, origins.max(axis=0) + longest)
        if world.compiled:
            cast_beams(beams, targets, _flat(*near), new_ray_scratch(), ranges, met, triangles)
        else:
            world.rays_on_arrays += len(origins)
            for first in range(0, len(origins), _BATCH):
                part = slice(first, first + _BATCH)
                some = Beams(origins[part], directions[part], inverse[part], reach[part], own[part])
                _cast(some, targets, surfaces, near, (ranges[part], met[part], triangles[part]))
    return Met(beams, targets, surfaces, ranges, met, triangles)


def cast_in_frames(kind: SensorKind, batch: Batch, rays: Floats, reach: float) -> tuple[Met, Floats]:
    """Return what the rays of the sensors of a batch meet, and their directions (N * M, 3) in the world.

    `rays` (M, 3) are directions in the frame of a sensor. Its own entity is not met.
    """
    count, each = len(batch), len(rays)
    directions = quaternions.rotate(np.repeat(batch.orientations, each, axis=0), np.tile(rays, (count, 1)))
    origins, own = np.repeat(batch.positions, each, axis=0), np.repeat(batch.rows, each)
    limits = np.full(len(origins), reach)
    return cast_rays(kind.world, origins, directions, limits, own, floor=kind.context.floor), directions


def _flat(endless: Ints, tree: BoxTree | None, near: Ints) -> Sorted:
    if tree is None:
        # Kernels take arrays, also where there is no tree.
        return Sorted(endless, np.zeros((0, 6)), np.zeros(0, np.int64), 1)
    return Sorted(endless, tree.flat, near[tree.order], tree.leaf)


def _cast(
    beams: Beams,
    targets: Targets,
    surfaces: tuple[Surface, ...],
    near: tuple[Ints, BoxTree | None, Ints],
    out: tuple[Floats, Ints, Ints],
) -> None:
    """Write ranges, targets and triangles (R,) to `out`."""
    endless, tree, numbers = near
    ranges, met, triangles = out
    count = len(ranges)
    # Endless targets go with every ray, those in the tree only with rays that go through their leaf.
    rays, chosen = np.repeat(np.arange(count), len(endless)), np.tile(endless, count)
    if tree is not None:
        pierced, leaves = tree.pierced(beams.origins, beams.inverse, beams.reach)
        rays = np.concatenate((rays, np.repeat(pierced, tree.leaf)))
        chosen = np.concatenate((chosen, numbers[tree.order[tree.places(leaves)]]))
    # Rays pass through the entity that they belong to.
    others_mask = (beams.own[rays] < 0) | (beams.own[rays] != targets.rows[chosen])
    rays, chosen = rays[others_mask], chosen[others_mask]
    found, on = _ranges(beams, rays, targets, chosen, surfaces)
    kept = np.flatnonzero((found <= beams.reach[rays]) & (found < np.inf))
    # By ray, then range, then number of the target: the first of each ray is what it meets.
    order = kept[np.lexsort((chosen[kept], found[kept], rays[kept]))]
    firsts = order[np.flatnonzero(np.diff(rays[order], prepend=-1))]
    ranges[rays[firsts]], met[rays[firsts]], triangles[rays[firsts]] = found[firsts], chosen[firsts], on[firsts]


def _ranges(
    beams: Beams, rays: Ints, targets: Targets, chosen: Ints, surfaces: tuple[Surface, ...]
) -> tuple[Floats, Ints]:
    """Return how far ray k goes to the target `chosen[k]` (K,), infinite for a miss, and which triangle it meets."""
    found, triangles = np.full(len(rays), np.inf), np.full(len(rays), NOTHING, np.int64)
    kinds = targets.kinds[chosen]
    origins, directions = _local(beams, rays, targets, chosen)
    half, radii = targets.sizes[chosen, :3].T, targets.sizes[chosen, 3]
    for kind in np.unique(kinds).tolist():
        some = np.flatnonzero(kinds == kind)
        begin, way, size, radius = origins[:, some], directions[:, some], half[:, some], radii[some]
        if kind == SPHERE:
            found[some] = ray_shapes.enter_spheres(begin, way, radius)
        elif kind == CYLINDER:
            found[some] = ray_shapes.enter_cylinders(begin, way, radius, size[2])
        elif kind == CAPSULE:
            found[some] = ray_shapes.enter_capsules(begin, way, radius, size[2] - radius)
        elif kind == PLANE:
            found[some] = ray_shapes.meet_planes(begin, way)
        elif kind == HULL:
            for part, planes in _by_hull(targets, chosen, some):
                found[part] = ray_shapes.enter_hull(origins[:, part], directions[:, part], planes)
        elif kind == SURFACE:
            local = origins, directions, beams.reach[rays]
            _meet_surfaces(local, targets, chosen, surfaces, some, found, triangles)
        else:
            found[some] = ray_shapes.enter_boxes(begin, way, size)
    return found, triangles


def _meet_surfaces(
    local: tuple[Floats, Floats, Floats],
    targets: Targets,
    chosen: Ints,
    surfaces: tuple[Surface, ...],
    some: Ints,
    found: Floats,
    triangles: Ints,
) -> None:
    """Write how far those pairs go that are in `some` (S,), with surfaces, and which triangles they meet.

    `local` are origins (3, K) and directions (3, K) in the frames of targets, and reaches (K,).
    """
    convex = len(targets.kinds) - len(surfaces)
    for target in np.unique(chosen[some]).tolist():
        part = some[chosen[some] == target]
        origins, directions = (np.ascontiguousarray(values[:, part].T) for values in local[:2])
        found[part], triangles[part] = surfaces[target - convex].tree.cast(origins, directions, local[2][part])


def _by_hull(targets: Targets, chosen: Ints, some: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Yield those of the pairs `some` (S,), which are with hulls, that are with one hull, and its sides (F, 4)."""
    firsts = targets.parts[chosen[some], FIRST]
    for first in np.unique(firsts).tolist():
        part = some[firsts == first]
        last = targets.parts[chosen[part[0]], LAST]
        yield part, targets.planes[first:last]


def _local(beams: Beams, rays: Ints, targets: Targets, chosen: Ints) -> tuple[Floats, Floats]:
    """Return where rays begin and how they go, (3, K) each, in the frames of targets."""
    frames = targets.frames[chosen].T
    away = beams.origins[rays].T - frames[9:]
    ways = beams.directions[rays].T
    return _turned_back(frames, away), _turned_back(frames, ways)


def _turned_back(frames: Floats, vectors: Floats) -> Floats:
    out = np.empty((3, vectors.shape[1]))
    for axis in range(3):
        out[axis] = frames[axis] * vectors[0] + frames[3 + axis] * vectors[1] + frames[6 + axis] * vectors[2]
    return out


def _to_world(targets: Targets, met: Ints, vectors: Floats) -> Floats:
    """Return vectors (3, K) in the frames of targets as vectors (K, 3) in the world."""
    frames = targets.frames[met].T
    out = np.empty((vectors.shape[1], 3))
    # By lines of the matrix, where `_turned_back` goes by columns: the inverse of a rotation is its transpose.
    for line in range(3):
        a, b, c = frames[3 * line], frames[3 * line + 1], frames[3 * line + 2]
        out[:, line] = a * vectors[0] + b * vectors[1] + c * vectors[2]
    return out
