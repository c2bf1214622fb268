"""Batch poses and component arrays."""

import numpy as np

from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import quaternions as components
from fleet_sim.base.spatial import quaternions as poses


def some(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(size=(count, 3)), quaternions.normalized(random.normal(size=(count, 4)))


def test_relative_undoes_compose() -> None:
    a, b = some(50), some(50, 1)
    position, orientation = poses.relative(*a, *poses.compose(*a, *b))
    assert np.allclose(position, b[0])
    assert np.allclose(np.abs((orientation * b[1]).sum(axis=1)), 1.0)


def test_inverse() -> None:
    a = some(50)
    position, orientation = poses.compose(*a, *poses.inverse(*a))
    assert np.allclose(position, 0.0)
    assert np.allclose(np.abs(orientation[:, 3]), 1.0)


def test_rows_do_not_depend_on_their_company() -> None:
    a, b = some(1000), some(1000, 1)
    many = poses.compose(*a, *b)
    for row in (0, 7, 999):
        one = poses.compose(a[0][[row]], a[1][[row]], b[0][[row]], b[1][[row]])
        assert one[0].tobytes() == many[0][[row]].tobytes()
        assert one[1].tobytes() == many[1][[row]].tobytes()


def test_components_agree_with_rows() -> None:
    vectors, turns = some(20)
    rows = np.arange(20)[::-1]
    index = components.vector_index(rows)
    gathered = components.gather(vectors, index)
    frames = components.gather_quaternions(turns, rows)
    assert np.array_equal(gathered.T, vectors[rows])
    there = components.to_world(frames, gathered)
    assert np.allclose(there.T, quaternions.rotate(turns[rows], vectors[rows]))
    assert np.allclose(components.to_body(frames, there), gathered)
    assert np.allclose(components.cross(gathered, there).T, np.cross(gathered.T, there.T))
    assert np.allclose(components.dot(gathered, there), (gathered * there).sum(axis=0))
    back = np.zeros_like(vectors)
    components.scatter(back, index, gathered)
    assert np.array_equal(back, vectors)


def test_a_matrix_is_the_rotation_it_was_made_from() -> None:
    turns = quaternions.normalized(np.random.default_rng(3).normal(size=(50, 4)))
    turns[:4] = np.eye(4)
    for turn, matrix in zip(turns, quaternions.to_matrices(turns), strict=True):
        found = quaternions.from_matrix(matrix)
        assert min(np.abs(found - turn).max(), np.abs(found + turn).max()) < 1e-12
