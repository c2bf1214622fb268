"""The systems of equations of a step of inverse kinematics."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.kinematics.jacobian import solve_definite


@pytest.mark.parametrize("size", [3, 6])
def test_one_system_is_solved_to_the_bits_of_many(size: int) -> None:
    rng = np.random.default_rng(0)
    jacobians = rng.normal(size=(50, size, 7))
    matrices = jacobians @ jacobians.transpose(0, 2, 1) + 1e-5 * np.eye(size)
    vectors = rng.normal(size=(50, size))
    expected = np.linalg.solve(matrices, vectors[:, :, None])[:, :, 0]
    together = solve_definite(matrices.transpose(1, 2, 0).copy(), vectors.T.copy())
    assert np.allclose(together.T, expected, rtol=1e-6, atol=0.0)
    alone = [solve_definite(matrices[[one]].transpose(1, 2, 0).copy(), vectors[[one]].T.copy()) for one in range(50)]
    assert np.concatenate(alone, axis=1).tobytes() == together.tobytes()


def test_one_system_without_a_solution_gives_what_many_give() -> None:
    matrices, vectors = np.zeros((3, 3, 2)), np.ones((3, 2))
    with np.errstate(all="ignore"):
        together = solve_definite(matrices.copy(), vectors.copy())
        alone = solve_definite(matrices[:, :, :1].copy(), vectors[:, :1].copy())
    assert np.array_equal(alone[:, 0], together[:, 0], equal_nan=True)
    assert not np.isfinite(alone).any()
