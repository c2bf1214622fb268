"""Robots follow each other closely: into a node as the one before leaves it, and never nearer than discs allow."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made import Runs, closest, lattice

from fleet_sim.base.arrays import Ints
from fleet_sim.warehouse.traffic.network import Claims, Network

LINE = np.arange(4)
AHEAD = LINE[:, None] + np.arange(9)


def line_of_four(radius: float = 0.3, **values: float) -> Runs:
    """Four robots behind each other, that of row 3 first, who all drive 8 m straight on."""
    runs = Runs(lattice(12, 1), LINE, radius=radius, **values)
    runs.append(AHEAD)
    return runs


def around_a_corner() -> tuple[Runs, Ints]:
    """Two robots behind each other that both turn to the left at the same node."""
    runs = Runs(lattice(3, 3), np.array([0, 1]))
    runs.append(np.array([[0, 1, 2, 5], [1, 2, 5, 8]]))
    return runs, np.array([5, 8])


def test_a_line_drives_off_together() -> None:
    runs = line_of_four()
    places = runs.run(90)
    assert runs.nodes() == (LINE + 8).tolist()
    assert closest(places) >= 0.6
    # Each sets out soon after the one before it. To wait until it is 0.6 m away takes 0.8 s for each.
    came = [int(np.argmax(places[:, robot, 0] == robot + 8.0)) for robot in LINE]
    assert max(came) - min(came) <= 15


@pytest.mark.parametrize("radius", [0.1, 0.3, 0.45])
def test_who_follows_stops_behind_one_that_stops(radius: float) -> None:
    runs = line_of_four(radius)
    runs.accels[2] = 0.7
    while runs.table.leader[2] != 3 or runs.table.progress[2] < 0.05:
        runs.step()
    # Its brakes are weaker than those of the one before it.
    runs.table.held[3] = 1
    places = runs.run(80)
    assert (runs.table.speed == 0.0).all()
    assert closest(places) >= 2.0 * radius
    # Between two nodes, as near as discs allow, or on the node that they have cleared.
    assert np.diff(runs.table.place[2:, 0])[0] < max(1.0, 2.0 * radius + 0.01)
    runs.table.held[3] = 0
    assert closest(runs.run(120)) >= 2.0 * radius
    assert runs.nodes() == (LINE + 8).tolist()


def test_corners_are_followed_too() -> None:
    runs, goals = around_a_corner()
    assert closest(runs.run(120)) >= 0.6
    assert runs.nodes() == goals.tolist()


def test_a_new_plan_begins_behind_the_leader() -> None:
    runs = line_of_four()
    while (runs.table.leader >= 0).sum() < 2:
        runs.step()
    ends = runs.graph.ends(runs.table, runs.rows)
    assert len(set(ends.tolist())) == 4
    # The last one stays, the others go on by one.
    runs.append(np.stack((ends, ends + (LINE > 0)), axis=1))
    assert closest(runs.run(80)) >= 0.6
    assert runs.nodes() == (ends + (LINE > 0)).tolist()
    assert (runs.table.leader == -1).all()


@pytest.mark.parametrize("stays", [True, False])
def test_the_leader_leaves_the_traffic(stays: bool) -> None:
    runs = line_of_four()
    while runs.table.leader[2] != 3 or runs.table.progress[3] < 0.2:
        runs.step()
    left = runs.table.place[3].copy()
    runs.graph.forget(runs.table, runs.rows, 3, stays=stays)
    runs.rows = LINE[:3]
    # What the robot that stays covers is closed.
    covered = np.abs(np.arange(12) - left[0]) < 0.6
    runs.open_mask[:] = ~(covered & stays)
    places = runs.run(60)
    if stays:
        assert (left[0] - places[:, 2, 0] >= 0.6).all()
        runs.open_mask[:] = True
        runs.run(80)
    assert runs.nodes()[:3] == [8, 9, 10]


def test_nobody_follows_where_lanes_are_near_to_others() -> None:
    free = lattice(6, 1)
    count = free.neighbours.size
    claims = Claims(np.arange(count + 1), np.full(count, len(free)) + np.arange(count))
    runs = Runs(Network(free.positions, free.neighbours, claims=claims), np.array([0, 1]))
    runs.append(np.array([[0, 1, 2, 3], [1, 2, 3, 4]]))
    for _ in range(80):
        runs.step()
        assert (runs.table.leader == -1).all()
    assert runs.nodes() == [3, 4]
