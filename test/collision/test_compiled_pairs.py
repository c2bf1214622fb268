"""Compiled code gives boxes of the same bits, and decides pairs alike."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.collision.compiled_bounds import write_bounds
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.aabbs import world_aabbs
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

pytest.importorskip("numba")


@pytest.mark.parametrize("upright", [True, False])
def test_bounds_have_the_bits_of_the_reference(upright: bool) -> None:
    rng = np.random.default_rng(5)
    turns = rng.normal(size=(3000, 4)) * ([0.0, 0.0, 1.0, 1.0] if upright else [1.0, 1.0, 1.0, 1.0])
    # Some stand exactly along the axes.
    turns[::5] = np.eye(4)[rng.integers(2 if upright else 0, 4, 600)]
    shapes = ShapeArrays(
        rng.integers(0, len(ShapeKind), 3000).astype(np.uint8),
        rng.uniform(-50.0, 50.0, (3000, 3)),
        quaternions.normalized(turns),
        rng.uniform(0.5, 2.0, (3000, 3)),
        rng.uniform(0.1, 0.5, 3000),
    )
    # Half of the shapes are not where their bodies are.
    centred_mask = rng.random(3000) < 0.5
    offsets, own = rng.uniform(-1.0, 1.0, (3000, 3)), quaternions.normalized(rng.normal(size=(3000, 4)))
    off = np.flatnonzero(~centred_mask)
    placed, turned = shapes.positions.copy(), shapes.orientations.copy()
    placed[off] += quaternions.rotate(turned[off], offsets[off])
    turned[off] = quaternions.multiply(turned[off], own[off])
    expected = world_aabbs(shapes.kinds, placed, turned, shapes.half_extents, shapes.radii)
    lower, upper = np.full((3000, 3), 7.0), np.full((3000, 3), 7.0)
    behind_mask = np.arange(3000) % 3 != 0
    left = behind_mask.copy()
    assert write_bounds(left, *shapes, centred_mask, offsets, own, lower, upper) == np.count_nonzero(behind_mask)
    assert not left.any()
    for corners, right in ((lower, expected[0]), (upper, expected[1])):
        assert corners[behind_mask].tobytes() == right[behind_mask].tobytes()
        assert (corners[~behind_mask] == 7.0).all()
