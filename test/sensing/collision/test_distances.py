"""Distances in closed form: against PyBullet, against their own definition, and in any company.

PyBullet rounds the edges of boxes and cylinders by its collision margin of a millimetre: at a corner it
measures up to 0.73 mm too much, from corner to corner twice that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pybullet
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.kernels import is_usable
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.sensing.collision.distances import contact_pairs, distances_between, upright_mask
from fleet_sim.world.shapes import Geometry, half_extents_of

BULLET_ROUNDING = 1.5e-3
EDGED = (ShapeKind.BOX, ShapeKind.CYLINDER)


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


numbers = st.floats(-1.0, 1.0, allow_subnormal=False)
yawed = st.floats(-3.2, 3.2).map(lambda yaw: quaternions.from_yaws(np.array([yaw]))[0].tolist())
turned = st.lists(numbers, min_size=4, max_size=4).filter(lambda parts: sum(part * part for part in parts) > 0.01)


def shapes_with(orientation: st.SearchStrategy[list[float]], *kinds: ShapeKind) -> st.SearchStrategy[ShapeArrays]:
    return st.builds(
        one_shape,
        st.sampled_from(kinds),
        st.lists(st.floats(0.1, 0.8), min_size=3, max_size=3),
        st.lists(numbers.map(lambda value: 1.5 * value), min_size=3, max_size=3),
        orientation,
    )


SOLIDS = (ShapeKind.BOX, ShapeKind.SPHERE, ShapeKind.CYLINDER, ShapeKind.CAPSULE)
upright_shapes = shapes_with(yawed, *SOLIDS)
any_shapes = shapes_with(turned, *SOLIDS, ShapeKind.PLANE)


@pytest.fixture(scope="module")
def client() -> Iterator[int]:
    number = pybullet.connect(pybullet.DIRECT)
    yield number
    pybullet.disconnect(number)


def bullet_distance(client: int, shapes: ShapeArrays) -> float:
    """Return the least distance PyBullet finds between rows 0 and 1."""
    bodies = [bullet_body(client, shapes, row) for row in (0, 1)]
    points = pybullet.getClosestPoints(*bodies, 20.0, physicsClientId=client)
    for body in bodies:
        pybullet.removeBody(body, physicsClientId=client)
    return min((float(point[8]) for point in points), default=float("inf"))


def bullet_body(client: int, shapes: ShapeArrays, row: int) -> int:
    half, radius = shapes.half_extents[row], float(shapes.radii[row])
    options = {
        ShapeKind.BOX: {"shapeType": pybullet.GEOM_BOX, "halfExtents": half.tolist()},
        ShapeKind.SPHERE: {"shapeType": pybullet.GEOM_SPHERE, "radius": radius},
        ShapeKind.CYLINDER: {"shapeType": pybullet.GEOM_CYLINDER, "radius": radius, "height": 2.0 * half[2]},
        ShapeKind.CAPSULE: {
            "shapeType": pybullet.GEOM_CAPSULE,
            "radius": radius,
            "height": 2.0 * (half[2] - radius),
        },
        ShapeKind.PLANE: {"shapeType": pybullet.GEOM_PLANE, "planeNormal": [0, 0, 1]},
    }[ShapeKind(shapes.kinds[row])]
    shape = pybullet.createCollisionShape(physicsClientId=client, **options)
    return int(
        pybullet.createMultiBody(
            baseMass=0.0,
            baseCollisionShapeIndex=shape,
            basePosition=shapes.positions[row].tolist(),
            baseOrientation=shapes.orientations[row].tolist(),
            physicsClientId=client,
        )
    )


def assert_as_bullet(client: int, shapes: ShapeArrays) -> None:
    (distance,), _ = distances_between(shapes.take(np.array([0])), shapes.take(np.array([1])))
    edged = any(kind in EDGED for kind in shapes.kinds)
    measured = bullet_distance(client, shapes)
    if distance > BULLET_ROUNDING:
        assert measured == pytest.approx(distance, abs=BULLET_ROUNDING if edged else 1e-6)
    else:
        assert measured <= 2.0 * BULLET_ROUNDING


@settings(max_examples=150, deadline=None)
@given(upright_shapes, upright_shapes)
def test_upright_shapes_are_as_far_apart_as_pybullet_says(client: int, a: ShapeArrays, b: ShapeArrays) -> None:
    assert_as_bullet(client, joined(a, b))


@settings(max_examples=150, deadline=None)
@given(any_shapes, any_shapes)
def test_tilted_shapes_with_a_closed_form_too(client: int, a: ShapeArrays, b: ShapeArrays) -> None:
    _, (undecided,) = distances_between(a, b)
    assume(not undecided and not (a.kinds[0] == b.kinds[0] == ShapeKind.PLANE))
    assert_as_bullet(client, joined(a, b))


@settings(max_examples=100, deadline=None)
@given(any_shapes, any_shapes)
def test_the_order_of_a_pair_does_not_matter(a: ShapeArrays, b: ShapeArrays) -> None:
    forth, back = distances_between(a, b), distances_between(b, a)
    assert forth[1].tolist() == back[1].tolist()
    np.testing.assert_allclose(forth[0], back[0], atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(any_shapes, upright_shapes), min_size=2, max_size=20))
def test_a_pair_has_the_same_bits_alone_and_in_a_batch(shapes: list[ShapeArrays]) -> None:
    world = joined(*shapes)
    pairs = np.array([(i, j) for i in range(len(shapes)) for j in range(i + 1, len(shapes))])
    first, second = pairs.T
    distances, undecided_mask = distances_between(world.take(first), world.take(second), compiled=is_usable())
    for k in range(len(pairs)):
        alone, open_mask = distances_between(world.take(first[k : k + 1]), world.take(second[k : k + 1]))
        assert open_mask[0] == undecided_mask[k]
        np.testing.assert_array_equal(alone[0], distances[k])


@settings(max_examples=100, deadline=None)
@given(upright_shapes, upright_shapes, st.lists(numbers, min_size=3, max_size=3))
def test_along_a_straight_line_the_distance_is_convex(a: ShapeArrays, b: ShapeArrays, way: list[float]) -> None:
    distances = []
    for time in (-1.0, 0.0, 1.0):
        moved = a.at(a.positions + 3.0 * time * np.array(way), a.orientations)
        distances.append(float(distances_between(moved, b)[0][0]))
    assert distances[1] <= 0.5 * (distances[0] + distances[2]) + 1e-9


BOX_SIZES = [1.0, 1.0, 1.0]
LEVEL = [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ([1.5, 0.0, 0.0], 0.5),
        ([1.5, 1.5, 0.0], 0.5**0.5),
        ([1.5, 1.5, 1.5], 0.75**0.5),
        ([0.0, 0.0, 3.0], 2.0),
        ([1.0, 0.3, 0.0], 0.0),
        ([0.8, 0.1, 0.0], -0.2),
        ([0.0, 0.0, 0.0], -1.0),
    ],
)
def test_boxes_by_hand(position: list[float], expected: float) -> None:
    a = one_shape(ShapeKind.BOX, BOX_SIZES, [0.0, 0.0, 0.0], LEVEL)
    b = one_shape(ShapeKind.BOX, BOX_SIZES, position, LEVEL)
    assert distances_between(a, b)[0][0] == pytest.approx(expected, abs=1e-15)


def test_crossed_boxes_overlap_although_no_corner_is_inside() -> None:
    a = one_shape(ShapeKind.BOX, [4.0, 0.2, 1.0], [0.0, 0.0, 0.0], LEVEL)
    b = one_shape(ShapeKind.BOX, [0.2, 4.0, 1.0], [0.0, 0.0, 0.0], LEVEL)
    assert distances_between(a, b)[0][0] < 0.0


def test_nothing_and_two_planes_are_infinitely_far() -> None:
    plane = one_shape(ShapeKind.PLANE, BOX_SIZES, [0.0, 0.0, 0.0], LEVEL)
    box = one_shape(ShapeKind.BOX, BOX_SIZES, [0.0, 0.0, 0.0], LEVEL)
    nothing = with_kind(box, ShapeKind.NONE)
    distances, undecided_mask = distances_between(joined(plane, nothing, box), joined(plane, box, nothing))
    assert distances.tolist() == [np.inf] * 3 and not undecided_mask.any()


@pytest.mark.parametrize("kind", [ShapeKind.MESH, ShapeKind.COMPOUND])
def test_meshes_are_undecided(kind: ShapeKind) -> None:
    box = one_shape(ShapeKind.BOX, BOX_SIZES, [0.0, 0.0, 0.0], LEVEL)
    distances, undecided_mask = distances_between(joined(box, box), joined(box, with_kind(box, kind)))
    assert undecided_mask.tolist() == [False, True] and np.isnan(distances[1])


def test_upright_means_turned_about_z_or_upside_down() -> None:
    eulers = np.array([[0, 0, 1.0], [np.pi, 0, 0.4], [0, np.pi, 0], [0.001, 0, 0], [np.pi / 2, 0, 0]])
    box = one_shape(ShapeKind.BOX, BOX_SIZES, [0.0, 0.0, 0.0], LEVEL)
    boxes = joined(*[box] * 5).at(np.zeros((5, 3)), quaternions.from_eulers(eulers))
    assert upright_mask(boxes).tolist() == [True, True, True, False, False]
    assert upright_mask(with_kind(boxes, ShapeKind.SPHERE)).all()


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
