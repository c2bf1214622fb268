"""The dependency graph: the order of the plan holds at every node, and plans that cannot be driven are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made import Runs, closest, lattice
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.base.errors import PlanError
from fleet_sim.warehouse.traffic.network import Network


def test_robots_drive_a_plan_to_its_end() -> None:
    runs = Runs(lattice(5, 5), np.array([0, 1, 7]))
    runs.append(np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 9], [7, 7, 7, 7, 7]]))
    places = runs.run(120)
    assert runs.nodes() == [4, 9, 7]
    assert closest(places) >= 0.6


def test_the_order_of_the_plan_holds_whoever_is_faster() -> None:
    # Robot 1 is next to the crossing, but passes it after robot 0, which comes from afar.
    runs = Runs(lattice(5, 5), np.array([10, 7]))
    runs.append(np.array([[10, 11, 12, 13, 14, 14, 14], [7, 7, 7, 7, 12, 17, 22]]))
    places = runs.run(200)
    assert runs.nodes() == [14, 22]
    crossing = [np.flatnonzero(np.abs(places[:, robot] - [2.0, 2.0]).sum(axis=1) < 0.3) for robot in (0, 1)]
    assert crossing[0].max() < crossing[1].min()
    assert closest(places) >= 0.6


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


def test_a_robot_that_stands_for_ever_keeps_its_node() -> None:
    runs = Runs(lattice(5, 1), np.array([1, 0]))
    runs.table.held[0] = 1
    runs.append(np.array([[1, 2, 3], [0, 1, 2]]))
    runs.run(50)
    assert runs.nodes() == [1, 0]
    runs.table.held[0] = 0
    runs.run(100)
    assert runs.nodes() == [3, 2]


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
    ("paths", "reason"),
    [
        ([[1, 1], [1, 1]], "robot 0 starts at node 1"),
        ([[0, 2], [1, 1]], "robot 0 moves from node 0 to 2 at step 1, where no lane leads"),
        ([[0, -1], [1, 1]], "where no lane leads"),
        ([[0, 99], [1, 1]], "where no lane leads"),
        ([[0, 1], [1, 1]], "which robot 0 uses"),
        ([[0, 1], [1, 0]], "circle"),
    ],
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
