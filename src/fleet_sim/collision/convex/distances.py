"""Distances and contacts of the entities of a world, however they are shaped; many pairs in one call."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.collision.convex.book import UNKNOWN, PieceBook
from fleet_sim.collision.convex.pairs import near_points, pair_distances, touching_places
from fleet_sim.collision.convex.placing import place_pieces
from fleet_sim.collision.convex.tables import Placed, new_scratch
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError, MissingDependencyError
from fleet_sim.kernels.compiled import check_installed
from fleet_sim.kinematics.forward import Forward
from fleet_sim.kinematics.tree import tree_of
from fleet_sim.spatial import quaternions

log = logging.getLogger("fleet_sim.collision")

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

    def __init__(
        self,
        world: World,
        *,
        unknown: Callable[[Ints, float], Floats],
        unknown_posed: Callable[[Ints, Floats, Floats, float], Floats],
    ) -> None:
        """`unknown` and `unknown_posed` measure pairs with an entity whose shapes only the engine knows."""
        self._world = world
        self._book = PieceBook(world)
        self._unknown, self._unknown_posed = unknown, unknown_posed
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
        open_mask = self._place(rows, self._world.position[rows], self._world.orientation[rows])[local].any(axis=1)
        out = np.empty(len(pairs))
        kernels().pairs(self._book.pieces, self._placed, local, limit, within, self._work, out)
        # Shapes that only the engine knows are measured by it.
        if open_mask.any():
            out[open_mask] = self._unknown(pairs[open_mask], limit)
        return out

    def posed(self, pairs: Ints, first: Poses, second: Poses, limit: float) -> Floats:
        """Return the same with the first row of pair k at pose k of `first` and the other at pose k of `second`.

        Poses (M, 3), (M, 4) are those of collision shapes, as `ShapeArrays` has them.
        """
        count = len(pairs)
        rows = np.concatenate((pairs[:, 0], pairs[:, 1]))
        positions, orientations = (np.concatenate(parts) for parts in zip(first, second, strict=True))
        open_mask = self._place(rows, *self._bases(rows, positions, orientations)).reshape(2, count).any(axis=0)
        local = np.stack((np.arange(count), np.arange(count, 2 * count)), axis=1)
        out = np.empty(count)
        kernels().pairs(self._book.pieces, self._placed, local, limit, False, self._work, out)
        if open_mask.any():
            out[open_mask] = self._unknown_posed(pairs[open_mask], first[0][open_mask], first[1][open_mask], limit)
        return out

    def points(self, row: int, other: int, limit: float) -> list[NearPoint]:
        """Return where the links of two rows are at most `limit` apart, a point for each pair of collision shapes.

        In order of the shapes in their files. Raises InvalidValueError where only the engine knows the shapes of one.
        """
        rows = np.array([row, other])
        if self._place(rows, self._world.position[rows], self._world.orientation[rows]).any():
            raise InvalidValueError(
                f"the shapes of {self._world.label(row)!r} or {self._world.label(other)!r} are known to PyBullet only, "
                "as the body was made there; ask sim.bullet.getClosestPoints for their nearest points"
            )
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

    def _place(self, rows: Rows, positions: Floats, orientations: Floats, frames: Floats | None = None) -> Bools:
        """Place the pieces of `rows` (N,) with their bases at poses; return which nobody knows the shapes of.

        `frames` are those of the bodies of a single robot, at other joint values than it has.
        """
        firsts, counts = self._book.forms(rows)
        unknown_mask = counts == UNKNOWN
        counts[unknown_mask] = 0
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
        return unknown_mask


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
        log.warning("exact distances are computed in Python, which is some hundred times slower: %s", error)
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
