"""Compiled code finds the pairs that the grids find, in the same order, and gives boxes of the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.arrays import Bools, Floats
from fleet_sim.collision.broad import BroadPhase
from fleet_sim.collision.compiled_bounds import write_bounds
from fleet_sim.collision.compiled_pairs import CompiledPairs
from fleet_sim.collision.compiled_upright import upright_contacts, upright_distances
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.aabbs import world_aabbs
from fleet_sim.spatial.distances import pair_distances, upright_mask
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

pytest.importorskip("numba")

ODD = [0.0, -0.0, 1e-300, 1e7, -1e12, 1.5e12, 1e300, np.inf, -np.inf, np.nan]


def scene(seed: int, count: int, spread: float, sizes: tuple[float, float], odd: float) -> tuple[Floats, Floats]:
    """Boxes on a coarse lattice, so that many touch exactly; a share `odd` of the corners is infinite, NaN or far."""
    rng = np.random.default_rng(seed)
    centres = np.round(rng.uniform(-spread, spread, (count, 3)) * [4.0, 4.0, 0.4]) / 4.0
    half = np.round(rng.uniform(*sizes, (count, 3)) * 8.0) / 8.0
    lower, upper = centres - half, centres + half
    for corners in (lower, upper):
        corners[rng.random(corners.shape) < odd] = rng.choice(ODD)
    # A lower corner above the upper one is nobody's box.
    upside_down = lower > upper
    return np.where(upside_down, upper, lower), np.where(upside_down, lower, upper)


scenes = st.builds(
    scene,
    st.integers(0, 10_000),
    st.integers(0, 120),
    st.sampled_from([0.0, 3.0, 12.0, 80.0, 1e6]),
    st.sampled_from([(0.05, 0.25), (0.3, 0.3), (0.0, 0.0), (0.01, 4.0), (0.1, 90.0)]),
    st.sampled_from([0.0, 0.0, 0.02]),
)


def masks(seed: int, count: int) -> tuple[Bools, Bools]:
    rng = np.random.default_rng(seed)
    return rng.random(count) < 0.9, rng.random(count) < rng.choice([0.0, 0.3, 0.9])


@settings(max_examples=60, deadline=None)
@given(
    scenes,
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.02, 0.25, 1.0]),
    st.sampled_from([None, 0.05, 0.7, 50.0]),
    st.booleans(),
)
def test_pairs_are_those_of_the_grids(
    corners: tuple[Floats, Floats], seed: int, margin: float, cell: float | None, ignore_static: bool
) -> None:
    lower, upper = corners
    active_mask, static_mask = masks(seed, len(lower))
    options = {} if cell is None else {"mode": "constant", "cell_size": cell}
    grids, kernels = BroadPhase(**options), BroadPhase(**options)
    kernels.use_kernels()
    # Twice, the second time with some boxes moved: tables of static boxes are kept between calls.
    for step in range(3):
        if step == 2:
            shift = 0.25 * (np.arange(len(lower)) % 7 == 0)[:, None]
            lower, upper = lower + shift, upper + shift
        asked = {"margin": margin, "static_mask": static_mask, "ignore_static": ignore_static}
        expected = grids.pairs(lower, upper, active_mask=active_mask, **asked)
        found = kernels.pairs(lower, upper, active_mask=active_mask, **asked)
        assert found.dtype == np.int64
        assert found.tolist() == expected.tolist()


def test_pairs_stay_those_of_the_grids_while_boxes_spread_jump_and_gather() -> None:
    rng = np.random.default_rng(4)
    centres = rng.uniform(-6.0, 6.0, (200, 3)) * [1.0, 1.0, 0.05]
    ways = rng.normal(0.0, 0.4, (200, 3)) * [1.0, 1.0, 0.0]
    grids, kernels = BroadPhase(mode="constant", cell_size=0.7), BroadPhase(mode="constant", cell_size=0.7)
    kernels.use_kernels()
    active_mask, met = np.ones(200, np.bool_), 0
    # They drive apart, out of the area where they were, and back; some jump far away, and are no numbers for a while.
    for check in range(260):
        centres += ways if check % 130 < 65 else -ways
        lower, upper = centres - 0.25, centres + 0.25
        if check % 50 == 10:
            lower[3], upper[3] = 1e5, 1e5 + 0.5
        if check % 50 == 20:
            lower[5, 0] = np.nan
        asked = {"margin": 0.02, "active_mask": active_mask}
        expected = grids.pairs(lower, upper, **asked)
        assert kernels.pairs(lower, upper, **asked).tolist() == expected.tolist()
        met += len(expected)
    assert met > 2000


def test_usual_worlds_are_left_to_compiled_code() -> None:
    rng = np.random.default_rng(2)
    centres = rng.uniform(0.0, 100.0, (1500, 3)) * [1.0, 1.0, 0.0]
    lower, upper = centres - 0.3, centres + 0.3
    # A wall, and the floor.
    lower[0], upper[0] = [0.0, 0.0, 0.0], [90.0, 0.2, 1.0]
    lower[1], upper[1] = -np.inf, [np.inf, np.inf, 0.0]
    static_mask = np.arange(1500) < 2
    pairs = CompiledPairs().pairs(lower, upper, 0.02, ~static_mask, static_mask, 1.2)
    assert pairs is not None
    assert len(pairs) > 1498


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
