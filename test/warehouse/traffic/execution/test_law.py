"""The drive law: limits are kept, stops are exact, lines are driven without stopping."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made import Runs, lattice

from fleet_sim.warehouse.traffic.graph import tracks_of
from fleet_sim.warehouse.traffic.network import Network


def test_a_line_takes_the_time_of_the_trapezoid() -> None:
    # 10 m at 2 m/s and 2 m/s2: 1 s up, 4 s, 1 s down.
    runs = Runs(lattice(11, 1), np.array([0]), dt=0.05)
    runs.append(np.arange(11)[None])
    places = runs.run(150)
    steps = int(np.argmax(places[:, 0, 0] == 10.0)) + 1
    assert 120 <= steps <= 123
    speeds = np.diff(places[:, 0, 0], prepend=0.0) / 0.05
    assert speeds.max() <= 2.0 + 1e-9
    assert np.abs(np.diff(speeds)).max() <= 2.0 * 0.05 + 1e-9


@pytest.mark.parametrize("dt", [0.01, 0.1, 0.37])
def test_a_robot_stands_exactly_on_its_node(dt: float) -> None:
    runs = Runs(lattice(4, 4), np.array([0]), dt=dt)
    runs.append(np.array([[0, 1, 2, 6, 10, 9]]))
    runs.run(int(20 / dt))
    assert runs.table.place[0].tolist() == [1.0, 2.0]
    assert runs.table.speed[0] == 0.0


def test_a_differential_robot_turns_before_it_drives_and_an_omnidirectional_one_does_not() -> None:
    took = []
    for turns in (True, False):
        runs = Runs(lattice(3, 3), np.array([0]), turns=turns)
        runs.append(np.array([[0, 1, 2, 5, 8]]))
        places = runs.run(200)
        took.append(int(np.argmax((places[:, 0] == [2.0, 2.0]).all(axis=1))))
        yaw = runs.table.yaw[0]
        assert yaw == (pytest.approx(np.pi / 2) if turns else 0.0)
    # A quarter turn at 2 rad/s and 4 rad/s2 takes 1.29 s.
    assert 12 <= took[0] - took[1] <= 15


def test_a_robot_may_drive_backwards() -> None:
    runs = Runs(lattice(3, 1), np.array([1]))
    runs.table.lead[:] = 2
    runs.append(np.array([[1, 0]]))
    runs.run(40)
    assert runs.table.yaw[0] == 0.0
    assert runs.table.reversing[0]
    assert runs.nodes() == [0]


def test_a_limit_holds_from_the_first_node_of_its_lanes() -> None:
    runs = Runs(lattice(12, 1), np.array([0]))
    limits = runs.tracks.limits.reshape(12, 4)
    limits[5:8, 0] = 0.5
    runs.append(np.arange(12)[None])
    places = runs.run(160)[:, 0, 0]
    speeds = np.diff(places) / runs.dt
    inside = (places[:-1] >= 5.0) & (places[1:] <= 8.0)
    assert inside.any()
    assert speeds[inside].max() <= 0.5 + 1e-9
    assert speeds[places[:-1] < 4.0].max() == pytest.approx(2.0)
    assert runs.nodes() == [11]


def test_acute_lanes_are_left_later() -> None:
    # Two lanes from node 0 at 30 degrees: robots 0.5 m apart need 1 m along them.
    network = Network(
        np.array([[0.0, 0.0], [3.0, 0.0], [3.0 * np.cos(np.pi / 6), 3.0 * np.sin(np.pi / 6)]]),
        np.array([[1, 2], [-1, -1], [-1, -1]]),
    )
    tracks = tracks_of(network, 0.5)
    assert tracks.clears[:2] == pytest.approx([1.0, 1.0])
