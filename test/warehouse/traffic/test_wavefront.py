"""Searches on words of bits find ways exactly as cheap as searches that look at places one by one."""

from __future__ import annotations

import networks
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.base.arrays import Ints
from fleet_sim.base.errors import PlanError
from fleet_sim.warehouse.sites import Grid
from fleet_sim.warehouse.traffic import Network, Problem, check_paths, checked_plan, make_planner, rotations
from fleet_sim.warehouse.traffic.planners.lacam import find_way
from fleet_sim.warehouse.traffic.planners.reserved import (
    NOBODY,
    Reservations,
    empty_timetable,
    find_path,
    fits_words,
    put,
    take,
    words_of,
)


@pytest.mark.parametrize("rotate", [False, True])
@given(seed=st.integers(0, 2**32), wide=st.booleans())
@settings(max_examples=40, deadline=None)
def test_ways_are_as_cheap_as_those_found_place_by_place(rotate: bool, seed: int, wide: bool) -> None:
    rng = np.random.default_rng(seed)
    # Words of one row, and rows of several words.
    network = networks.random_network(rng, *((3, 140) if wide else (8, 8)), 0.9)
    starts, goals = networks.random_places(rng, network, 40 if wide else len(network) // 3)
    blocked = np.zeros(len(network), bool)
    problem = Problem(network, starts, goals, blocked, seed=seed, time_limit=600.0)
    try:
        paths = checked_plan(make_planner("lacam", network, allow_rotations=rotate, most_visited=2000), problem)
    except PlanError:
        return
    blocked = rng.random(len(network)) < 0.05
    words = words_of(network, blocked)
    table, kept = empty_timetable(words, paths.shape[1] - 1), Reservations(network, paths.shape[1] - 1)
    for robot, path in enumerate(paths):
        put(words, table, paths, robot, rotate)
        kept.reserve(path, robot)
    fresh = [array.copy() for array in (table.held, table.free, table.open)]
    chances = np.array([seed + 1], np.uint64)
    for robot in rng.permutation(len(paths))[:10].tolist():
        kept.reserve(paths[robot], NOBODY)
        take(words, table, paths, robot, rotate)
        steps = network.tables.to(int(goals[robot]))
        most, one, two = paths.shape[1] - 1, paths[robot].copy(), paths[robot].copy()
        cost = find_way(words, table, starts[robot], goals[robot], steps[starts[robot]], most, chances, one)
        args = (kept.arrays(blocked), steps, starts[robot], goals[robot], True, most, rotate, two)
        assert cost == find_path(*args)
        if cost >= 0:
            assert_driveable(problem, paths, robot, one, rotate)
        kept.reserve(paths[robot], robot)
        put(words, table, paths, robot, rotate)
    # All that was taken out and put in again left no trace.
    for array, before in zip((table.held, table.free, table.open), fresh, strict=True):
        assert np.array_equal(array, before)


def assert_driveable(problem: Problem, paths: Ints, robot: int, path: Ints, rotate: bool) -> None:
    changed = paths.copy()
    changed[robot] = path
    check_paths(problem, changed)
    assert rotate or rotations(changed) == []


def test_only_grids_with_moves_to_the_cells_beside_are_words() -> None:
    network = networks.grid_network("...\n...")
    assert fits_words(network)
    assert not fits_words(Network(network.positions, network.neighbours))
    far = Network(np.zeros((3, 2)), np.array([[2], [0], [1]]), np.arange(3), grid=Grid(np.ones((1, 3), bool)))
    assert not fits_words(far)
