"""Rays in any direction: what they meet of a world.

`solids.py` has what can be met as arrays. Kernels cast one ray after another, in Python or compiled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.base.spatial import quaternions, shapes
from fleet_sim.base.spatial.shapes import UPRIGHT
from fleet_sim.base.spatial.triangles import NEAR_ZERO, PARALLEL, SLACK, BoxTree, Surface
from fleet_sim.sensing.sensors.sensor import Batch, SensorKind
from fleet_sim.sensing.sensors.solids import (
    BOX,
    CAPSULE,
    CYLINDER,
    FIRST,
    HULL,
    LAST,
    PER_LEAF,
    PLANE,
    SPHERE,
    SURFACE,
    TRIANGLES,
    Sorted,
    Targets,
    sorted_near,
    targets_of,
)
from fleet_sim.world.columns import numbers_of
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

# Where a ray enters a convex shape; inf for a miss, and for a ray that begins inside. A ray begins at (x, y, z) and
# goes along the unit vector (u, v, w), both in the frame of the shape.


@compiled_step
def enter_box(
    x: float, y: float, z: float, u: float, v: float, w: float, across: float, deep: float, high: float
) -> float:
    """Return where a ray enters a box with half extents `across`, `deep` and `high`."""
    into, out = -math.inf, math.inf
    for origin, way, size in ((x, u, across), (y, v, deep), (z, w, high)):
        # Along two sides the ray crosses neither: it is between them all the time, or never.
        if way == 0.0:
            if abs(origin) > size:
                return math.inf
            continue
        side = size if way > 0.0 else -size
        into, out = max(into, (-side - origin) / way), min(out, (side - origin) / way)
    # From inside nothing is met. Adding 0 makes 0 of -0.
    return math.inf if into > out or into < 0.0 else into + 0.0


@compiled_step
def enter_sphere(x: float, y: float, z: float, u: float, v: float, w: float, radius: float) -> float:
    """Return where a ray enters the ball about the origin."""
    along, beyond = x * u + y * v + z * w, x * x + y * y + z * z - radius * radius
    square = along * along - beyond
    if square < 0.0 or beyond <= 0.0:
        return math.inf
    found = -along - math.sqrt(square)
    return math.inf if found < 0.0 else found + 0.0


@compiled_step
def _side(x: float, y: float, u: float, v: float, radius: float) -> tuple[float, float]:
    """Return where a ray enters and leaves the infinite cylinder about z; inf and -inf for a miss."""
    square, along, beyond = u * u + v * v, x * u + y * v, x * x + y * y - radius * radius
    # Upright, a ray is in the cylinder all the way, or never.
    if square < UPRIGHT:
        return (math.inf, -math.inf) if beyond > 0.0 else (-math.inf, math.inf)
    root = along * along - square * beyond
    if root < 0.0:
        return math.inf, -math.inf
    half = math.sqrt(root)
    return (-along - half) / square, (-along + half) / square


@compiled_step
def enter_cylinder(
    x: float, y: float, z: float, u: float, v: float, w: float, radius: float, half_height: float
) -> float:
    """Return where a ray enters the cylinder about z from -`half_height` to `half_height`."""
    into, out = _side(x, y, u, v, radius)
    if w == 0.0:
        if abs(z) > half_height:
            return math.inf
    else:
        one, other = (-half_height - z) / w, (half_height - z) / w
        into, out = max(into, min(one, other)), min(out, max(one, other))
    return math.inf if into > out or into < 0.0 else into + 0.0


@compiled_step
def enter_capsule(x: float, y: float, z: float, u: float, v: float, w: float, radius: float, reach: float) -> float:
    """Return where a ray enters the capsule about the part of z from -`reach` to `reach`."""
    # The nearest point of the axis: from inside nothing is met.
    axis = z - min(max(z, -reach), reach)
    if x * x + y * y + axis * axis <= radius * radius:
        return math.inf
    into, _ = _side(x, y, u, v, radius)
    found = math.inf
    # On its side between the two ends; all else is on the balls at these.
    if 0.0 <= into < math.inf and abs(z + into * w) <= reach:
        found = into + 0.0
    found = min(found, enter_sphere(x, y, z + reach, u, v, w, radius))
    return min(found, enter_sphere(x, y, z - reach, u, v, w, radius))


@compiled_step
def meet_plane(z: float, w: float) -> float:
    """Return where a ray meets the plane z = 0, from either side."""
    if z == 0.0 or w == 0.0:
        return math.inf
    found = -z / w
    return found + 0.0 if found >= 0.0 else math.inf


@compiled_step
def enter_hull(
    x: float, y: float, z: float, u: float, v: float, w: float, planes: Floats, first: int, last: int
) -> float:
    """Return where a ray enters the convex body behind `planes` (F, 4), unit normals and offsets, from `first` on."""
    into, out = -math.inf, math.inf
    for side in range(first, last):
        a, b, c = planes[side, 0], planes[side, 1], planes[side, 2]
        # Above the plane of the side, and how fast the ray comes nearer to that, or goes away.
        height, closing = x * a + y * b + z * c - planes[side, 3], u * a + v * b + w * c
        if closing < 0.0:
            into = max(into, -height / closing)
        elif closing > 0.0:
            out = min(out, -height / closing)
        elif height > 0.0:
            return math.inf
        if into > out:
            return math.inf
    return math.inf if into < 0.0 else into + 0.0


@compiled_step
def meet_triangle(x: float, y: float, z: float, u: float, v: float, w: float, triangles: Floats, place: int) -> float:
    """Return where a ray meets `triangles[place]` (9,), apex and two sides, from either side."""
    a, b, c = triangles[place, 3], triangles[place, 4], triangles[place, 5]
    d, e, f = triangles[place, 6], triangles[place, 7], triangles[place, 8]
    # As Möller and Trumbore do it: Cramer's rule gives the shares of both sides, and the distance.
    across_x, across_y, across_z = v * f - w * e, w * d - u * f, u * e - v * d
    area = a * across_x + b * across_y + c * across_z
    if abs(area) < PARALLEL:
        return math.inf
    off_x, off_y, off_z = x - triangles[place, 0], y - triangles[place, 1], z - triangles[place, 2]
    share = (off_x * across_x + off_y * across_y + off_z * across_z) / area
    if share < -SLACK:
        return math.inf
    turned_x, turned_y, turned_z = off_y * c - off_z * b, off_z * a - off_x * c, off_x * b - off_y * a
    other = (u * turned_x + v * turned_y + w * turned_z) / area
    found = (d * turned_x + e * turned_y + f * turned_z) / area
    if other < -SLACK or share + other > 1.0 + SLACK or found <= 0.0:
        return math.inf
    return found


# Rays in any direction against targets. A ray goes through a tree of boxes from near to far, and leaves out what is
# behind the nearest thing met so far. Surfaces have trees of their own, in their own frames.


_BEHIND = 1e-9
"""Of the distance to a box: it is left out if it is so much behind what was met, which is more than rounding."""


Line: TypeAlias = tuple[float, float, float, float, float, float, float]
"""Where a ray begins, the inverse components of its direction, and its reach."""


class Beams(NamedTuple):
    """R rays: `origins` and unit `directions` (R, 3), `inverse` (R, 3) their inverse components, infinite for 0.

    `reach` (R,) in m; `own` (R,) rows of entities that are not met, -1 for none.
    """

    origins: Floats
    directions: Floats
    inverse: Floats
    reach: Floats
    own: Rows


class RayScratch(NamedTuple):
    """Arrays that the kernel computes in: `nodes` of trees that are still to be looked into, and how far they are."""

    nodes: Ints
    ranges: Floats


@compiled_step
def cast_beams(
    beams: Beams, targets: Targets, tree: Sorted, scratch: RayScratch, ranges: Floats, met: Ints, triangles: Ints
) -> None:
    """Write how far each beam goes, which target it meets, and which triangle of that, -1 for none, (R,) each."""
    inner = len(tree.boxes) // 2
    for beam in range(len(ranges)):
        ranges[beam], met[beam], triangles[beam] = math.inf, -1, -1
        # Planes have no box, so they are not in the tree: every beam tries them.
        for place in range(len(tree.endless)):
            _try(beams, beam, targets, tree.endless[place], ranges, met)
        if not len(tree.order):
            continue
        x, y, z = beams.origins[beam, 0], beams.origins[beam, 1], beams.origins[beam, 2]
        u, v, w = beams.inverse[beam, 0], beams.inverse[beam, 1], beams.inverse[beam, 2]
        line = x, y, z, u, v, w, beams.reach[beam]
        height = _push(line, tree.boxes, 0, 0, ranges[beam], scratch, 0)
        while height > 0:
            height -= 1
            node = scratch.nodes[height]
            # Something nearer was met since this node was pushed.
            if _is_behind(scratch.ranges[height], ranges[beam]):
                continue
            if node < inner:
                height = _push_both(line, tree.boxes, 0, node, ranges[beam], scratch, height)
                continue
            for place in range(tree.leaf * (node - inner), tree.leaf * (node - inner + 1)):
                target = tree.order[place]
                if targets.kinds[target] == SURFACE:
                    _try_surface(beams, beam, targets, target, scratch, height, ranges, met, triangles)
                elif _try(beams, beam, targets, target, ranges, met):
                    # What is met now has no triangles; a surface that was met before may have left one.
                    triangles[beam] = -1


@inlined
def _is_behind(near: float, known: float) -> bool:
    return near > known + _BEHIND * (1.0 + abs(near))


@inlined
def _push(line: Line, boxes: Floats, first: int, node: int, known: float, scratch: RayScratch, height: int) -> int:
    """Push a node on the stack if a line goes through its box nearer than `known`; return the new height."""
    near = _pierced(line, boxes, first + node)
    if near == math.inf or _is_behind(near, known):
        return height
    scratch.nodes[height], scratch.ranges[height] = node, near
    return height + 1


@inlined
def _push_both(line: Line, boxes: Floats, first: int, node: int, known: float, scratch: RayScratch, height: int) -> int:
    """Push the two nodes below one, the nearer one last, as it is looked into first; return the new height."""
    begin = height
    height = _push(line, boxes, first, 2 * node + 2, known, scratch, height)
    height = _push(line, boxes, first, 2 * node + 1, known, scratch, height)
    if height == begin + 2 and scratch.ranges[begin] < scratch.ranges[begin + 1]:
        near = scratch.ranges[begin]
        scratch.nodes[begin], scratch.nodes[begin + 1] = 2 * node + 1, 2 * node + 2
        scratch.ranges[begin], scratch.ranges[begin + 1] = scratch.ranges[begin + 1], near
    return height


@inlined
def _pierced(line: Line, boxes: Floats, box: int) -> float:
    """Return where a line goes into a box; inf if it does not."""
    enter, leave, reach = -math.inf, math.inf, line[6]
    for axis in range(3):
        origin, inverse = line[axis], line[3 + axis]
        one, other = (boxes[box, axis] - origin) * inverse, (boxes[box, 3 + axis] - origin) * inverse
        # 0 times infinity: the line runs in the plane of a side, and this axis excludes nothing.
        # NaN, which is not a number, differs from itself.
        if one == one and other == other:
            enter, leave = max(enter, min(one, other)), min(leave, max(one, other))
    # Relative to the numbers, so that rounding loses nothing that touches the box.
    slack = NEAR_ZERO * (1.0 + (abs(enter) if abs(enter) < math.inf else 0.0))
    inside = enter <= leave + slack and leave >= -slack and enter <= reach + slack
    return enter if inside else math.inf


@compiled_step
def _try(beams: Beams, beam: int, targets: Targets, target: int, ranges: Floats, met: Ints) -> bool:
    """Let a beam meet a convex target or a plane; return whether it is what the beam meets so far."""
    own, kind, sizes = beams.own[beam], targets.kinds[target], targets.sizes
    # A sensor does not see its own entity.
    if own >= 0 and own == targets.rows[target]:
        return False
    x, y, z, u, v, w = _local(beams, beam, targets.frames, target)
    if kind == PLANE:
        return _keep(beams, beam, target, meet_plane(z, w), ranges, met)
    found = math.inf
    if kind == BOX:
        found = enter_box(x, y, z, u, v, w, sizes[target, 0], sizes[target, 1], sizes[target, 2])
    elif kind == SPHERE:
        found = enter_sphere(x, y, z, u, v, w, sizes[target, 3])
    elif kind == CYLINDER:
        found = enter_cylinder(x, y, z, u, v, w, sizes[target, 3], sizes[target, 2])
    elif kind == CAPSULE:
        found = enter_capsule(x, y, z, u, v, w, sizes[target, 3], sizes[target, 2] - sizes[target, 3])
    elif kind == HULL:
        first, last = targets.parts[target, FIRST], targets.parts[target, LAST]
        found = enter_hull(x, y, z, u, v, w, targets.planes, first, last)
    return _keep(beams, beam, target, found, ranges, met)


@inlined
def _local(beams: Beams, beam: int, frames: Floats, target: int) -> tuple[float, float, float, float, float, float]:
    """Return where a beam begins and how it goes in the frame of a target."""
    a, b = beams.origins[beam, 0] - frames[target, 9], beams.origins[beam, 1] - frames[target, 10]
    c = beams.origins[beam, 2] - frames[target, 11]
    d, e, f = beams.directions[beam, 0], beams.directions[beam, 1], beams.directions[beam, 2]
    # By columns: the inverse of a rotation is its transpose.
    return (
        frames[target, 0] * a + frames[target, 3] * b + frames[target, 6] * c,
        frames[target, 1] * a + frames[target, 4] * b + frames[target, 7] * c,
        frames[target, 2] * a + frames[target, 5] * b + frames[target, 8] * c,
        frames[target, 0] * d + frames[target, 3] * e + frames[target, 6] * f,
        frames[target, 1] * d + frames[target, 4] * e + frames[target, 7] * f,
        frames[target, 2] * d + frames[target, 5] * e + frames[target, 8] * f,
    )


@inlined
def _inverse(way: float) -> float:
    """Return one over a component of a direction; infinite, with its sign, for 0."""
    return 1.0 / way if way != 0.0 else math.copysign(math.inf, way)


@inlined
def _keep(beams: Beams, beam: int, target: int, found: float, ranges: Floats, met: Ints) -> bool:
    if found > beams.reach[beam] or found > ranges[beam] or found == math.inf:
        return False
    # Of several at one distance the first counts.
    if found == ranges[beam] and met[beam] <= target:
        return False
    ranges[beam], met[beam] = found, target
    return True


@compiled_step
def _try_surface(
    beams: Beams,
    beam: int,
    targets: Targets,
    target: int,
    scratch: RayScratch,
    base: int,
    ranges: Floats,
    met: Ints,
    triangles: Ints,
) -> None:
    """Let a beam meet the triangles of a surface; the nodes on the stack from `base` on are its own."""
    own, parts = beams.own[beam], targets.parts
    if own >= 0 and own == targets.rows[target]:
        return
    x, y, z, u, v, w = _local(beams, beam, targets.frames, target)
    line = x, y, z, _inverse(u), _inverse(v), _inverse(w), beams.reach[beam]
    first, leaf = parts[target, FIRST], parts[target, PER_LEAF]
    inner = (parts[target, LAST] - first) // 2
    height = _push(line, targets.boxes, first, 0, ranges[beam], scratch, base)
    while height > base:
        height -= 1
        node = scratch.nodes[height]
        if _is_behind(scratch.ranges[height], ranges[beam]):
            continue
        if node < inner:
            height = _push_both(line, targets.boxes, first, node, ranges[beam], scratch, height)
            continue
        begin = parts[target, TRIANGLES] + leaf * (node - inner)
        for place in range(begin, begin + leaf):
            found, number = meet_triangle(x, y, z, u, v, w, targets.triangles, place), targets.order[place]
            # Triangles share edges: of two at one distance the lower number counts, in whatever order the tree has
            # them.
            if _keep(beams, beam, target, found, ranges, met) or (
                found == ranges[beam] and met[beam] == target and number < triangles[beam]
            ):
                triangles[beam] = number


def new_ray_scratch() -> RayScratch:
    """Return room for the nodes of a tree of targets, and in one of them of the tree of a surface."""
    return RayScratch(np.empty(160, np.int64), np.empty(160))


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
        origins, directions = _rays_local(self._beams, hit, self._targets, met)
        points = origins + self.ranges[hit] * directions
        kinds, sizes = self._targets.kinds[met], self._targets.sizes[met].T
        for kind in np.unique(kinds).tolist():
            some = np.flatnonzero(kinds == kind)
            if kind == SURFACE:
                out[hit[some]] = self._of_triangles(hit[some])
            elif kind == HULL:
                for chosen, planes in _by_hull(self._targets, met, some):
                    local = shapes.hull_normals(points[:, chosen], directions[:, chosen], planes)
                    out[hit[chosen]] = _to_world(self._targets, met[chosen], local)
            else:
                shape = kind, points[:, some], directions[:, some], sizes[:3, some], sizes[3, some]
                out[hit[some]] = _to_world(self._targets, met[some], shapes.normals(*shape))
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
    with `rows` only what is in those.
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
        what = targets, _flat(*near), new_ray_scratch()
        if world.casts_compiled(len(origins)):
            cast_beams(beams, *what, ranges, met, triangles)
        else:
            given = map(numbers_of, (beams, *what, ranges, met, triangles))
            cast_beams.in_python(*given)
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


def _by_hull(targets: Targets, chosen: Ints, some: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Yield those of the pairs `some` (S,), which are with hulls, that are with one hull, and its sides (F, 4)."""
    firsts = targets.parts[chosen[some], FIRST]
    for first in np.unique(firsts).tolist():
        part = some[firsts == first]
        last = targets.parts[chosen[part[0]], LAST]
        yield part, targets.planes[first:last]


def _rays_local(beams: Beams, rays: Ints, targets: Targets, chosen: Ints) -> tuple[Floats, Floats]:
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
