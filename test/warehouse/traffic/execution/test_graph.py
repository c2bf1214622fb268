"""The dependency graph: the order of the plan holds at every node, and plans that cannot be driven are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made import Runs, closest, lattice
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.base.errors import PlanError
from fleet_sim.warehouse.traffic.dependency_graph import tracks_of
from fleet_sim.warehouse.traffic.network import Network


def test_a_plan_may_come_while_robots_drive_and_they_do_not_stop_for_it() -> None:
    runs = Runs(lattice(12, 1), np.array([0]))
    end, speeds = 0, []
    for step in range(60):
        if step % 5 == 0:
            path = np.minimum(np.arange(end, end + 5), 11)
            runs.append(path[None])
        runs.step()
        end = int(runs.graph.ends(runs.table, runs.rows)[0])
        speeds.append(float(runs.table.speed[0]))
    reached = speeds.index(2.0)
    assert speeds[reached : reached + 10] == [2.0] * 10


def test_a_robot_that_is_taken_out_is_waited_for_no_longer() -> None:
    runs = Runs(lattice(5, 1), np.array([1, 0]))
    runs.table.held[0] = 1
    runs.append(np.array([[1, 2, 3, 4], [0, 1, 2, 3]]))
    runs.run(10)
    runs.graph.forget(runs.table, runs.rows, 0, stays=False)
    runs.rows = np.array([1])
    runs.run(100)
    assert runs.nodes() == [3]


@pytest.mark.parametrize(
    ("paths", "reason"), [([[1, 1], [1, 1]], "robot 0 starts at node 1"), ([[0, 1], [1, 0]], "circle")]
)
def test_a_plan_that_cannot_be_driven_is_refused_and_changes_nothing(paths: list[list[int]], reason: str) -> None:
    runs = Runs(lattice(5, 5), np.array([0, 1]))
    runs.append(np.array([[0, 5], [1, 2]]))
    with pytest.raises(PlanError, match=reason):
        runs.append(np.array(paths))
    runs.run(60)
    assert runs.nodes() == [5, 2]


def turn_some_round(now: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> set[int]:
    """Let robots on squares of four cells of the lattice of 6 x 5 move round, where all four are there."""
    at = {int(node): robot for robot, node in enumerate(now.tolist())}
    turned: set[int] = set()
    for corner in rng.permutation(24).tolist():
        square = [corner, corner + 1, corner + 7, corner + 6]
        members = [at.get(node, -1) for node in square]
        if corner % 6 == 5 or min(members) < 0 or turned & set(members):
            continue
        way = 1 if rng.random() < 0.5 else -1
        for place, robot in enumerate(members):
            after[robot] = square[(place + way) % 4]
        turned.update(members)
    return turned


def random_plan(
    network: Network, starts: np.ndarray, steps: int, rng: np.random.Generator, rotations: bool = False
) -> np.ndarray:
    """Paths that keep the rules: no two at a node, circles of four where all are there, otherwise at random."""
    paths = [starts]
    for _ in range(steps):
        now, taken, after = paths[-1], set(paths[-1].tolist()), paths[-1].copy()
        turned = turn_some_round(now, after, rng) if rotations else set()
        for robot in rng.permutation(len(now)).tolist():
            if robot in turned:
                continue
            free = [node for node in network.neighbours[now[robot]].tolist() if node >= 0 and node not in taken]
            if free and rng.random() < 0.8:
                after[robot] = rng.choice(free)
                taken.add(int(after[robot]))
                # Who moved before may be followed in the same step.
                taken.discard(int(now[robot]))
        paths.append(after)
    return np.stack(paths, axis=1)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), radius=st.sampled_from([0.2, 0.35, 0.49]), turns=st.booleans())
def test_robots_of_any_speed_never_touch_and_always_arrive(seed: int, radius: float, turns: bool) -> None:
    rng = np.random.default_rng(seed)
    network = lattice(6, 5)
    # Where they have room, robots in squares move round at once; on two of them they begin.
    starts = np.concatenate(
        ([0, 1, 6, 7, 16, 17, 22, 23], rng.choice([2, 9, 12, 14, 19, 26, 27, 29], 4, replace=False))
    )
    runs = Runs(network, starts, radius=radius, turns=turns)
    runs.speeds[:] = rng.uniform(0.3, 3.0, 12)
    runs.accels[:] = rng.uniform(0.3, 5.0, 12)
    ends = starts
    for _ in range(4):
        paths = random_plan(network, ends, int(rng.integers(1, 8)), rng, radius < 0.353)
        runs.append(paths)
        for _ in range(int(rng.integers(1, 60))):
            # Delays at random.
            runs.table.held[:] = rng.random(12) < 0.1
            places = np.array([runs.step()])
            assert closest(places) >= 2.0 * radius - 1e-9
        ends = runs.graph.ends(runs.table, runs.rows)
    runs.table.held[:] = 0
    places = runs.run(800)
    assert closest(places) >= 2.0 * radius - 1e-9
    assert (runs.table.at == runs.table.length - 1).all()
    np.testing.assert_array_equal(runs.table.place, network.positions[runs.nodes()])


# ---- following -------------------------------------------------------------------------------------------------------


LINE = np.arange(4)
AHEAD = LINE[:, None] + np.arange(9)


def line_of_four(radius: float = 0.3, **values: float) -> Runs:
    """Four robots behind each other, that of row 3 first, who all drive 8 m straight on."""
    runs = Runs(lattice(12, 1), LINE, radius=radius, **values)
    runs.append(AHEAD)
    return runs


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


# ---- The drive law: limits are kept, stops are exact, lines are driven without stopping ------------------------------


def test_acute_lanes_are_left_later() -> None:
    # Two lanes from node 0 at 30 degrees: robots 0.5 m apart need 1 m along them.
    network = Network(
        np.array([[0.0, 0.0], [3.0, 0.0], [3.0 * np.cos(np.pi / 6), 3.0 * np.sin(np.pi / 6)]]),
        np.array([[1, 2], [-1, -1], [-1, -1]]),
    )
    tracks = tracks_of(network, 0.5)
    assert tracks.clears[:2] == pytest.approx([1.0, 1.0])


# ---- rounds ----------------------------------------------------------------------------------------------------------


SQUARE = np.array([0, 1, 3, 2])
ROUND = np.stack((SQUARE, np.roll(SQUARE, -1)), axis=1)


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
