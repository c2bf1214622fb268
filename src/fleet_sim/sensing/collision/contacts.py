"""Distances and contacts of the entities of a world, however they are shaped; many pairs in one call."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import MissingDependencyError
from fleet_sim.base.kernels import check_installed, compiled
from fleet_sim.base.spatial import quaternions
from fleet_sim.models.kinematics.tree import Forward, tree_of
from fleet_sim.sensing.collision.convex import (
    BALL,
    KIND,
    LEAF,
    NODES,
    OUTER,
    PLANE,
    ROOT,
    START,
    SURFACE,
    Pieces,
    Placed,
    Scratch,
    new_scratch,
    piece_distance,
    place_second,
)
from fleet_sim.sensing.collision.pieces import PieceBook, place_pieces
from fleet_sim.world.world import World

# Distances and contacts of pairs of entities, piece by piece, in one call. Boxes around pieces are compared first, as
# most pieces are far apart. Surfaces go down a tree of boxes to their triangles; all other pieces are convex.


# Of the size of boxes' coordinates: boxes may be so much nearer than rounding says.
_SLACK = 1e-12


@compiled
def pair_distances(
    pieces: Pieces, placed: Placed, pairs: Ints, limit: float, touch: bool, scratch: Scratch, out: Floats
) -> None:
    """Write to `out` (M,) the signed distances of `pairs` (M, 2) of entities, infinite above `limit`.

    With `touch`, and a limit of at least 0, any number of at most `limit` stands for a distance that is that.
    """
    for index in range(len(pairs)):
        one, other, within, best = pairs[index, 0], pairs[index, 1], limit, np.inf
        for mine in range(placed.begins[one], placed.begins[one + 1]):
            # Most pieces of a robot are far from all of another one.
            if (touch and best <= limit) or not _are_near(placed.boxes[mine], placed.around[other], within):
                continue
            for yours in range(placed.begins[other], placed.begins[other + 1]):
                if _are_near(placed.boxes[mine], placed.boxes[yours], within):
                    best = min(best, _distance(pieces, placed, mine, yours, within, touch, scratch))
                    # Only what is nearer is of interest from now on.
                    within = min(within, best)
                    if touch and best <= limit:
                        break
        out[index] = best


@compiled
def touching_places(pieces: Pieces, placed: Placed, which: Ints, limit: float, scratch: Scratch, out: Bools) -> None:
    """Write to `out` (M,) which pairs of places `which` (M, 2) have pieces that are at most `limit` >= 0 apart."""
    for index in range(len(which)):
        mine, yours = which[index, 0], which[index, 1]
        near = _are_near(placed.boxes[mine], placed.boxes[yours], limit)
        out[index] = near and _distance(pieces, placed, mine, yours, limit, True, scratch) <= limit


@compiled
def near_points(
    pieces: Pieces, placed: Placed, one: int, other: int, limit: float, scratch: Scratch, found: Floats, which: Ints
) -> int:
    """Write distance, nearest points and normal (10,) of the pieces of two entities that are at most `limit` apart.

    In the world, the normal from the second to the first. `which` (K, 2) are the places of the pieces. Returns how many
    there are; those for which `found` (K, 10) has no room are left out.
    """
    count = 0
    for mine in range(placed.begins[one], placed.begins[one + 1]):
        for yours in range(placed.begins[other], placed.begins[other + 1]):
            if not _are_near(placed.boxes[mine], placed.boxes[yours], limit):
                continue
            distance = _distance(pieces, placed, mine, yours, limit, False, scratch)
            if distance <= limit:
                if count < len(found):
                    which[count, 0], which[count, 1] = mine, yours
                    found[count, 0] = distance
                    _write_world(placed.poses[mine], scratch.found, found[count])
                count += 1
    return count


@compiled
def _write_world(pose: Floats, found: Floats, out: Floats) -> None:
    """Write points and normal, found in a frame at `pose`, as they are in the world."""
    for part in range(3):
        x, y, z = found[1 + 3 * part], found[2 + 3 * part], found[3 + 3 * part]
        for line in range(3):
            turned = pose[3 * line] * x + pose[3 * line + 1] * y + pose[3 * line + 2] * z
            out[1 + 3 * part + line] = turned if part == 2 else turned + pose[9 + line]


@compiled
def _are_near(box: Floats, other: Floats, limit: float) -> bool:
    """Return whether boxes (6,) may be at most `limit` apart; what is inside of them is not nearer."""
    square, size = 0.0, 0.0
    for axis in range(3):
        gap = max(box[axis] - other[3 + axis], other[axis] - box[3 + axis])
        if gap > 0.0:
            square += gap * gap
            # Rounding is relative to the coordinates.
            size = max(size, abs(box[axis]), abs(other[axis]))
    reach = max(limit, 0.0) + _SLACK * size
    return bool(square <= reach * reach)


@compiled
def _distance(
    pieces: Pieces, placed: Placed, mine: int, yours: int, limit: float, touch: bool, scratch: Scratch
) -> float:
    """Return the distance of two placed pieces, as `piece_distance` does; none of a surface from another or a plane."""
    first, second = placed.numbers[mine], placed.numbers[yours]
    kind, other = pieces.codes[first, KIND], pieces.codes[second, KIND]
    if kind != SURFACE and other != SURFACE:
        place_second(placed.poses[mine], placed.poses[yours], scratch.relative)
        return piece_distance(pieces, first, second, limit, touch, scratch)
    if kind >= PLANE and other >= PLANE:
        return np.inf
    if kind != SURFACE:
        # The surface goes first: its triangles are taken one by one.
        mine, yours, first, second = yours, mine, second, first
    place_second(placed.poses[mine], placed.poses[yours], scratch.relative)
    distance = _surface_distance(pieces, first, second, limit, touch, scratch)
    # Found in the frame of the surface, as if that were the first.
    if kind != SURFACE and not touch:
        place_second(placed.poses[yours], placed.poses[mine], scratch.relative)
        _exchange(scratch)
    return distance


@compiled
def _exchange(scratch: Scratch) -> None:
    """Exchange first and second in what was found, now in the frame of the other one."""
    found, r, kept = scratch.found, scratch.relative, scratch.kept
    for column in range(1, 10):
        kept[column] = found[column]
    for part in range(3):
        x, y, z = kept[1 + 3 * part], kept[2 + 3 * part], kept[3 + 3 * part]
        for line in range(3):
            turned = r[3 * line] * x + r[3 * line + 1] * y + r[3 * line + 2] * z
            # It points from the second to the first, so it turns round.
            if part == 2:
                found[7 + line] = -turned
            else:
                found[4 - 3 * part + line] = turned + r[9 + line]


@compiled
def _surface_distance(pieces: Pieces, surface: int, other: int, limit: float, touch: bool, scratch: Scratch) -> float:
    """Return the least distance of the triangles of a surface from a convex piece at `scratch.relative`."""
    codes, r, box, around = pieces.codes, scratch.relative, pieces.boxes[other], scratch.box
    for line in range(3):
        a, b, c = r[3 * line], r[3 * line + 1], r[3 * line + 2]
        centre = a * box[0] + b * box[1] + c * box[2] + r[9 + line]
        half = abs(a) * box[3] + abs(b) * box[4] + abs(c) * box[5]
        around[line], around[3 + line] = centre - half, centre + half
    # PyBullet gives no margin to triangles that it measures from spheres.
    margin = 0.0 if codes[other, KIND] == BALL else pieces.sizes[surface, OUTER]
    pieces.sizes[0, OUTER] = margin
    best, leaf, root, inner = np.inf, codes[surface, LEAF], codes[surface, ROOT], codes[surface, NODES] // 2
    stack, height = scratch.stack, 1
    stack[0] = 0
    while height > 0:
        height -= 1
        node = stack[height]
        if not _are_near(pieces.trees[root + node], around, max(limit, 0.0) + margin):
            continue
        if node < inner:
            stack[height], stack[height + 1] = 2 * node + 2, 2 * node + 1
            height += 2
            continue
        for triangle in range(leaf):
            _take_triangle(pieces, codes[surface, START] + 3 * (leaf * (node - inner) + triangle))
            distance = piece_distance(pieces, 0, other, limit, touch, scratch)
            if distance <= limit and touch:
                return distance
            if distance < best:
                # Only what is nearer is looked at from now on.
                best = limit = distance
                for column in range(1, 10):
                    scratch.kept[column] = scratch.found[column]
    for column in range(1, 10):
        scratch.found[column] = scratch.kept[column]
    return best


@compiled
def _take_triangle(pieces: Pieces, start: int) -> None:
    """Let piece 0 be the triangle whose corners begin at `start`."""
    pieces.codes[0, START] = start
    for axis in range(3):
        a, b, c = (pieces.corners[start, axis], pieces.corners[start + 1, axis], pieces.corners[start + 2, axis])
        low, high = min(a, b, c), max(a, b, c)
        pieces.boxes[0, axis], pieces.boxes[0, 3 + axis] = (
            0.5 * (low + high),
            0.5 * (high - low) + pieces.sizes[0, OUTER],
        )


log = logging.getLogger("fleet_sim.sensing.collision")

# Frames of a body that never moves in its base: of what has no joints.
_STILL = np.concatenate((np.eye(3), np.zeros((3, 1))), axis=1).reshape(3, 4, 1, 1)
_POINTS = 64
"""Room for the points of so many near pieces of two entities at first."""

Poses: TypeAlias = tuple[Floats, Floats]
LinkPair: TypeAlias = tuple[int, int]


class NearPoint(NamedTuple):
    """Where a link of one entity is near a link of another: -1 is the base.

    Points are on the two surfaces, in the world; `normal` is a unit vector from the second to the first, and `distance`
    is negative where they overlap: then the first would have to move so far along the normal.
    """

    link: int
    other_link: int
    point: Floats
    other_point: Floats
    normal: Floats
    distance: float


class ExactDistances:
    """Measures entities piece by piece: robots link by link at their present joint values, meshes as convex hulls.

    Distances are those of PyBullet's `getClosestPoints`, so with its margins: hulls, and cylinders of robots, are 1 mm
    larger all around, edges of boxes and cylinders have a radius of 1 mm. Each is computed from the two poses alone:
    the same bits alone and in company. Concave meshes have no distance from each other nor from planes, as there.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._book = PieceBook(world)
        self._work = new_scratch()
        self._placed = _room(0, 0)

    def reaching(self, pairs: Ints, limit: float) -> Floats:
        """Return numbers (M,) of at most `limit` >= 0 for those `pairs` (M, 2) of rows whose distance is that.

        Faster than `distances`, and infinite for the others.
        """
        return self._measured(pairs, limit, within=True)

    def distances(self, pairs: Ints, limit: float) -> Floats:
        """Return the signed distances (M,) of `pairs` (M, 2) of rows, infinite above `limit` and without shapes."""
        return self._measured(pairs, limit, within=False)

    def _measured(self, pairs: Ints, limit: float, *, within: bool) -> Floats:
        rows, local = _local(pairs)
        self._place(rows, self._world.position[rows], self._world.orientation[rows])
        out = np.empty(len(pairs))
        kernels().pairs(self._book.pieces, self._placed, local, limit, within, self._work, out)
        return out

    def posed(self, pairs: Ints, first: Poses, second: Poses, limit: float) -> Floats:
        """Return the same with the first row of pair k at pose k of `first` and the other at pose k of `second`.

        Poses (M, 3), (M, 4) are those of collision shapes, as `ShapeArrays` has them.
        """
        count = len(pairs)
        rows = np.concatenate((pairs[:, 0], pairs[:, 1]))
        positions, orientations = (np.concatenate(parts) for parts in zip(first, second, strict=True))
        self._place(rows, *self._bases(rows, positions, orientations))
        local = np.stack((np.arange(count), np.arange(count, 2 * count)), axis=1)
        out = np.empty(count)
        kernels().pairs(self._book.pieces, self._placed, local, limit, False, self._work, out)
        return out

    def points(self, row: int, other: int, limit: float) -> list[NearPoint]:
        """Return where the links of two rows are at most `limit` apart, a point for each pair of collision shapes.

        In order of the shapes in their files.
        """
        rows = np.array([row, other])
        self._place(rows, self._world.position[rows], self._world.orientation[rows])
        pieces, room = self._book.pieces, _POINTS
        while True:
            found, which = np.empty((room, 10)), np.empty((room, 2), np.int64)
            count = kernels().points(pieces, self._placed, 0, 1, limit, self._work, found, which)
            if count <= room:
                break
            room = count
        links = self._book.links(self._placed.numbers[which[:count]])
        return [
            NearPoint(link, other_link, line[1:4], line[4:7], line[7:], float(line[0]))
            for (link, other_link), line in zip(links.tolist(), found[:count], strict=True)
        ]

    def _bases(self, rows: Rows, positions: Floats, orientations: Floats) -> Poses:
        """Return the poses of bodies whose collision shapes are at the given poses."""
        world = self._world
        if world.shape_centred[rows].all():
            return positions, orientations
        turns = quaternions.multiply(orientations, quaternions.conjugate(world.shape_orientation[rows]))
        return positions - quaternions.rotate(turns, world.shape_position[rows]), turns

    def touching_links(
        self, row: int, pairs: list[LinkPair], limit: float, joints: Floats | None = None
    ) -> list[LinkPair]:
        """Return those of `pairs` of links of a robot that are at most `limit` apart, or would be at `joints` (B,)."""
        model = self._world.model_of(row)
        assert model is not None
        frames = None if joints is None else Forward(tree_of(model)).frames(joints[None])
        self._place(np.array([row]), np.zeros((1, 3)), quaternions.IDENTITY[None], frames)
        placed = self._placed
        links = self._book.links(placed.numbers[: placed.begins[1]])
        which = [
            (one, other, index)
            for index, pair in enumerate(pairs)
            for one in np.flatnonzero(links == pair[0]).tolist()
            for other in np.flatnonzero(links == pair[1]).tolist()
        ]
        if not which:
            return []
        places = np.array(which, np.int64)
        out = np.zeros(len(places), np.bool_)
        kernels().places(self._book.pieces, placed, np.ascontiguousarray(places[:, :2]), limit, self._work, out)
        return [pairs[index] for index in np.unique(places[out, 2]).tolist()]

    def _place(self, rows: Rows, positions: Floats, orientations: Floats, frames: Floats | None = None) -> None:
        """Place the pieces of `rows` (N,) with their bases at poses.

        `frames` are those of the bodies of a single robot, at other joint values than it has.
        """
        firsts, counts = self._book.forms(rows)
        total = int(counts.sum())
        if len(rows) >= len(self._placed.begins) or total > len(self._placed.numbers):
            # Twice as much, so that it seldom has to grow.
            self._placed = _room(2 * len(rows), 2 * total)
        self._placed.begins[0] = 0
        np.cumsum(counts, out=self._placed.begins[1 : len(rows) + 1])
        models = self._world.robots.model[rows]
        jointed_mask = (models >= 0) & (self._world.robots.joint_count[rows] > 0)
        still = np.flatnonzero(~jointed_mask)
        groups: list[tuple[Rows, Floats, Ints]] = [(still, _STILL, np.zeros(len(still), np.int64))]
        if frames is not None:
            groups = [(np.array([0]), frames, np.array([0]))]
        elif jointed_mask.any():
            # Frames of links are computed for all robots of a model at once.
            for number in np.unique(models[jointed_mask]).tolist():
                chosen = np.flatnonzero(jointed_mask & (models == number))
                groups.append((chosen, *self._world.links.body_frames(rows[chosen])))
        for chosen, moved, columns in groups:
            if len(chosen):
                whole = self._book.pieces, firsts, chosen, positions, orientations
                kernels().place(*whole, moved, columns, self._placed, self._work)


class _Kernels(NamedTuple):
    place: Callable[..., Any]
    pairs: Callable[..., Any]
    points: Callable[..., Any]
    places: Callable[..., Any]


@cache
def kernels() -> _Kernels:
    """Return the kernels, in Python where they cannot be compiled: the same numbers, some hundred times slower."""
    compiled = place_pieces, pair_distances, near_points, touching_places
    try:
        check_installed()
    except MissingDependencyError as error:
        log.debug("exact distances are computed in Python, which is some hundred times slower: %s", error)
        return _Kernels(*(kernel.in_python for kernel in compiled))
    return _Kernels(*compiled)


def _local(pairs: Ints) -> tuple[Rows, Ints]:
    """Return the rows (N,) of `pairs`, each once, and the pairs as indices into them."""
    rows, inverse = np.unique(pairs, return_inverse=True)
    # NumPy before 2.0 returns the inverse flat.
    return rows, np.ascontiguousarray(inverse.reshape(pairs.shape))


def _room(entities: int, pieces: int) -> Placed:
    return Placed(
        begins=np.zeros(entities + 1, np.int64),
        numbers=np.zeros(pieces, np.int64),
        poses=np.zeros((pieces, 12)),
        boxes=np.zeros((pieces, 6)),
        around=np.zeros((entities, 6)),
    )
