"""Compiled code gives boxes of the same bits, and decides pairs alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.collision.compiled_bounds import write_bounds
from fleet_sim.collision.compiled_upright import upright_contacts, upright_distances
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.aabbs import world_aabbs
from fleet_sim.spatial.distances import pair_distances, upright_mask
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


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.02, 0.5]))
def test_upright_pairs_are_decided_as_by_arrays(seed: int, margin: float) -> None:
    rng = np.random.default_rng(seed)
    # Many touch exactly, or are as far apart as the margin, to the last bit; some are broken, some tilted.
    places = np.round(rng.uniform(-2.0, 2.0, (40, 3)) * [2.0, 2.0, 0.5]) * np.array([0.3, 0.31, 0.2])
    places[::3, 0] += margin
    places[rng.random(40) < 0.03, 1] = rng.choice([np.nan, np.inf, 1e200])
    turns = np.eye(4)[rng.integers(0, 4, 40)]
    turned = rng.random(40) < 0.5
    turns[turned] = quaternions.from_yaws(rng.uniform(-4.0, 4.0, int(turned.sum())))
    turns[rng.random(40) < 0.1] = quaternions.normalized(rng.normal(size=(1, 4)))
    kinds = rng.integers(0, len(ShapeKind), 40).astype(np.uint8)
    shapes = ShapeArrays(kinds, places, turns, rng.choice([0.1, 0.15, 0.3], (40, 3)), np.full(40, 0.1))
    centred_mask = rng.random(40) < 0.95
    pairs = np.array([(one, other) for one in range(40) for other in range(one + 1, 40)])
    with np.errstate(all="ignore"):
        distances, undecided_mask = pair_distances(pairs, shapes, reach=margin)
        hit_mask = distances <= margin
    measured = np.empty(len(pairs))
    count = upright_distances(shapes.take(pairs[:, 0]), shapes.take(pairs[:, 1]), margin, measured)
    other_mask = np.isnan(measured)
    assert count == np.count_nonzero(other_mask)
    assert measured[~other_mask].tobytes() == distances[~other_mask].tobytes()
    hits, left = np.empty_like(pairs), np.empty_like(pairs)
    columns = kinds, centred_mask, places, turns, shapes.half_extents, shapes.radii
    found, open_count = upright_contacts(pairs, *columns, margin, hits, left)
    left_mask = (pairs[:, None] == left[:open_count]).all(axis=2).any(axis=1)
    assert hits[:found].tolist() == pairs[hit_mask & ~left_mask].tolist()
    # Left is what has no closed form, and little else: other shapes, and broken numbers.
    solid_mask = (kinds >= ShapeKind.BOX) & (kinds <= ShapeKind.CAPSULE) & centred_mask
    solid_mask &= upright_mask(shapes) & np.isfinite(places).all(axis=1)
    assert not (left_mask & solid_mask[pairs[:, 0]] & solid_mask[pairs[:, 1]]).any()
    assert not (other_mask & solid_mask[pairs[:, 0]] & solid_mask[pairs[:, 1]]).any()
    assert left_mask[undecided_mask].all()
