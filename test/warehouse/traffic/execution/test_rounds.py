"""Robots that move round in a circle at once: in lockstep, when all are ready, and never touching each other."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made import Runs, closest, lattice

from fleet_sim.base.errors import PlanError

SQUARE = np.array([0, 1, 3, 2])
ROUND = np.stack((SQUARE, np.roll(SQUARE, -1)), axis=1)


def test_four_robots_change_places_as_near_as_the_corner_allows() -> None:
    runs = Runs(lattice(2, 2), SQUARE, radius=0.35)
    runs.append(ROUND)
    places = runs.run(60)
    assert runs.nodes() == ROUND[:, 1].tolist()
    assert 0.7071 < closest(places) < 0.72


@pytest.mark.parametrize(
    ("radius", "paths"),
    # Discs of more than 0.707 cells, and two that would swap.
    [(0.354, ROUND), (0.2, np.array([[0, 1], [1, 0], [3, 3], [2, 2]]))],
)
def test_without_room_they_are_refused(radius: float, paths: np.ndarray) -> None:
    runs = Runs(lattice(2, 2), SQUARE, radius=radius)
    with pytest.raises(PlanError, match=r"robot [0-3] moves .* at step 1, in a circle .* no room to move round"):
        runs.append(paths)


def test_all_wait_until_the_last_is_there_and_drive_no_faster_than_the_slowest() -> None:
    runs = Runs(lattice(2, 3), np.array([0, 1, 3, 4]), dt=0.05)
    runs.speeds[1], runs.accels[2] = 0.5, 0.4
    # The last one has to come to the circle first.
    runs.append(np.array([[0, 0, 1], [1, 1, 3], [3, 3, 2], [4, 2, 0]]))
    places = runs.run(200)
    moved = (np.diff(places, axis=0) != 0).any(axis=2)
    came = int(np.argmax((places[:, 3] == [0.0, 1.0]).all(axis=1)))
    begins = [came + int(np.argmax(moved[came:, robot])) for robot in range(4)]
    assert len(set(begins)) == 1
    steps = np.linalg.norm(np.diff(places[came + 1 :], axis=0), axis=2)
    assert np.ptp(steps, axis=1).max() < 1e-12
    assert steps.max() <= 0.5 * 0.05 + 1e-12
    assert np.abs(np.diff(steps, axis=0)).max() <= 0.4 * 0.05**2 + 1e-12
    assert runs.nodes() == [1, 3, 2, 0]


def test_one_that_is_held_before_or_on_the_way_holds_all() -> None:
    runs = Runs(lattice(2, 2), SQUARE)
    runs.append(ROUND)
    runs.table.held[2] = 1
    runs.run(40)
    assert runs.nodes() == SQUARE.tolist()
    assert (runs.table.progress == 0.0).all()
    runs.table.held[2] = 0
    while runs.table.progress[0] < 0.3:
        runs.step()
    runs.table.held[1] = 1
    places = runs.run(40)
    assert (runs.table.speed == 0.0).all()
    assert (runs.table.progress > 0.3).all() and (runs.table.progress < 1.0).all()
    assert runs.table.waiting.all()
    runs.table.held[1] = 0
    assert min(closest(places), closest(runs.run(40))) >= 0.6
    assert runs.nodes() == ROUND[:, 1].tolist()


def test_a_closed_place_is_waited_for_by_all_but_not_when_they_have_begun() -> None:
    runs = Runs(lattice(2, 2), SQUARE)
    runs.append(ROUND)
    runs.open_mask[3] = False
    runs.run(40)
    assert runs.nodes() == SQUARE.tolist()
    runs.open_mask[3] = True
    while runs.table.progress[0] == 0.0:
        runs.step()
    runs.open_mask[3] = False
    runs.run(40)
    assert runs.nodes() == ROUND[:, 1].tolist()


def test_plans_go_on_from_where_they_move_round_to() -> None:
    runs = Runs(lattice(3, 2), np.array([0, 1, 4, 3]))
    once = np.array([[0, 1], [1, 4], [4, 3], [3, 0]])
    runs.append(once)
    while runs.table.progress[0] < 0.4:
        runs.step()
    # Back to where it comes from, when the next one has been there and gone.
    runs.append(np.array([[1, 2, 2, 1], [4, 4, 5, 5], [3, 3, 3, 3], [0, 0, 0, 0]]))
    places = runs.run(150)
    assert runs.nodes() == [1, 5, 3, 0]
    assert closest(places) >= 0.6


@pytest.mark.parametrize("gone", range(4))
def test_without_one_the_others_go_on(gone: int) -> None:
    left = [robot for robot in range(4) if robot != gone]
    for begun in (False, True):
        runs = Runs(lattice(2, 2), SQUARE)
        runs.append(ROUND)
        while begun and runs.table.progress[0] < 0.4:
            runs.step()
        runs.graph.forget(runs.table, runs.rows, gone, stays=False)
        runs.rows = np.array(left)
        places = runs.run(100)[:, left]
        assert [runs.nodes()[place] for place in range(3)] == ROUND[left, 1].tolist()
        assert closest(places) >= 0.6


def test_where_one_stays_in_the_way_the_others_stop_with_it_until_it_is_gone() -> None:
    runs = Runs(lattice(2, 2), SQUARE)
    runs.append(ROUND)
    while runs.table.progress[0] < 0.4:
        runs.step()
    runs.graph.forget(runs.table, runs.rows, 1, stays=True)
    runs.rows = np.array([0, 2, 3])
    # What it covers is closed.
    runs.open_mask[[1, 3]] = False
    before = runs.table.place.copy()
    np.testing.assert_array_equal(runs.run(30)[-1], before)
    runs.open_mask[:] = True
    runs.run(60)
    assert runs.nodes() == ROUND[[0, 2, 3], 1].tolist()
