"""Distances in closed form: against PyBullet, against their own definition, and in any company.

PyBullet rounds the edges of boxes and cylinders by its collision margin of a millimetre: at a corner it
measures up to 0.73 mm too much, from corner to corner twice that.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.sensing.collision.distances import contact_pairs, distances_between
from fleet_sim.world.shapes import Geometry, half_extents_of


def one_shape(kind: ShapeKind, sizes: list[float], position: list[float], orientation: list[float]) -> ShapeArrays:
    size = np.array([sizes])
    radius, height = size[:, 0] if kind not in (ShapeKind.BOX, ShapeKind.PLANE) else np.zeros(1), size[:, 1]
    x, y, z = (0.5 * size[0]).tolist()
    half = np.array([half_extents_of(Geometry(int(kind), (x, y, z), float(radius[0]), float(height[0])))])
    unit = quaternions.normalized(np.array([orientation]))
    return ShapeArrays(np.array([kind]), np.array([position]), unit, half, radius)


def with_kind(shapes: ShapeArrays, kind: ShapeKind) -> ShapeArrays:
    """Return shapes that are the same in all but their kind."""
    return ShapeArrays(np.full(len(shapes.kinds), kind), *shapes[1:])


def joined(*shapes: ShapeArrays) -> ShapeArrays:
    return ShapeArrays(*(np.concatenate(parts) for parts in zip(*shapes, strict=True)))


BOX_SIZES = [1.0, 1.0, 1.0]
LEVEL = [0.0, 0.0, 0.0, 1.0]


def test_nothing_and_two_planes_are_infinitely_far() -> None:
    plane = one_shape(ShapeKind.PLANE, BOX_SIZES, [0.0, 0.0, 0.0], LEVEL)
    box = one_shape(ShapeKind.BOX, BOX_SIZES, [0.0, 0.0, 0.0], LEVEL)
    nothing = with_kind(box, ShapeKind.NONE)
    distances, undecided_mask = distances_between(joined(plane, nothing, box), joined(plane, box, nothing))
    assert distances.tolist() == [np.inf] * 3 and not undecided_mask.any()


def test_only_pairs_without_a_formula_reach_the_solver() -> None:
    boxes = joined(*[one_shape(ShapeKind.BOX, BOX_SIZES, [0.0, 0.0, 0.0], LEVEL)] * 5)
    places = np.array([[0.0, 0.0, 0.0], [1.2, 0.0, 0.0], [0.0, 1.2, 0.0], [1.09, 0.05, 0.0], [1.11, 0.0, 0.0]])
    turns = quaternions.from_eulers(np.array([[0.0, 0, 0], [0.3, 0, 0], [0, 0.4, 0], [0, 0, 0], [0, 0, 0]]))
    asked: list[tuple[list[list[int]], float]] = []

    def solve(open_pairs: Ints, reach: float) -> Floats:
        asked.append((open_pairs.tolist(), reach))
        return np.array([0.05, np.inf])

    pairs = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])
    assert contact_pairs(pairs, boxes.at(places, turns), 0.1, solve).tolist() == [[0, 1], [0, 3]]
    assert asked == [([[0, 1], [0, 2]], 0.1)]
