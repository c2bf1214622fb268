"""PIBT: steps that robots may drive, and that bring them to their goals."""

from __future__ import annotations

import networks
import numpy as np
import pytest

from fleet_sim.base.arrays import Ints
from fleet_sim.base.errors import ConfigError, InvalidValueError, PlanError
from fleet_sim.warehouse.traffic import Network, Problem, check_paths, checked_plan, make_planner, rotations


def lifelong(network: Network, robots: int, calls: int, window: int = 1, **settings: object) -> tuple[Ints, list[Ints]]:
    """Let robots get a new goal whenever they arrive; returns how often each did, and all plans."""
    rng = np.random.default_rng(robots)
    starts, goals = networks.random_places(rng, network, robots)
    planner, arrivals, plans = make_planner("pibt", network, **settings), np.zeros(robots, int), []
    for _ in range(calls):
        paths = checked_plan(planner, Problem(network, starts, goals, window=window))
        plans.append(paths)
        starts = paths[:, -1]
        there_mask = starts == goals
        arrivals += there_mask
        goals = np.where(there_mask, rng.integers(0, len(network), robots), goals)
    return arrivals, plans


@pytest.mark.parametrize("allow_rotations", [False, True])
def test_every_robot_arrives_again_and_again(allow_rotations: bool) -> None:
    network = networks.grid_network("\n".join(["." * 12] * 12))
    arrivals, plans = lifelong(network, 70, 300, allow_rotations=allow_rotations)
    assert arrivals.min() >= 3
    assert any(rotations(paths) for paths in plans) == allow_rotations


def test_chains_are_as_long_as_there_are_robots() -> None:
    # All but one in a corridor: the first can only move when the last has moved.
    count = 9_000
    network = corridor(count + 1)
    starts = np.arange(count)
    goals = np.full(count, count)
    paths = checked_plan(make_planner("pibt", network), Problem(network, starts, goals, window=1))
    assert paths[:, 1].tolist() == (starts + 1).tolist()


def corridor(length: int) -> Network:
    """Return nodes in a row."""
    ahead, back = np.arange(1, length + 1), np.arange(-1, length - 1)
    ahead[-1] = -1
    return Network(np.stack((np.arange(length), np.zeros(length)), axis=1), np.stack((ahead, back), axis=1))


def test_robots_at_their_goals_give_way() -> None:
    network = networks.grid_network("......\n##..##")
    planner = make_planner("pibt", network)
    starts, goals = np.array([0, 2]), np.array([5, 2])
    for _ in range(20):
        starts = checked_plan(planner, Problem(network, starts, goals, window=1))[:, -1]
    assert starts.tolist() == goals.tolist()


def test_a_plan_to_the_end_arrives_or_says_so() -> None:
    network = networks.grid_network()
    starts, goals = networks.random_places(np.random.default_rng(1), network, 8)
    paths = checked_plan(make_planner("pibt", network), Problem(network, starts, goals))
    assert paths[:, -1].tolist() == goals.tolist()
    blocked = networks.grid_network("....")
    with pytest.raises(PlanError, match="PIBT has not brought all robots to their goals in 50 steps"):
        make_planner("pibt", blocked, most_steps=50).plan(Problem(blocked, np.array([0, 1]), np.array([1, 0])))


def test_priorities_stay_with_robots_when_rows_change() -> None:
    # In a corridor the one who has waited longer gets his way, whichever row it is in.
    network = corridor(10)
    for patient, row in ((7, 1), (1, 0)):
        planner = make_planner("pibt", network)
        alone = Problem(network, np.array([4 + (row == 0)]), np.array([9 * row]), window=1, ids=np.array([patient]))
        for _ in range(3):
            planner.plan(alone)
        both = Problem(network, np.array([5, 4]), np.array([0, 9]), window=3, ids=np.array([1, 7]))
        first, second = planner.plan(both)[:, -1].tolist()
        assert (second > 4) == (patient == 7) and (first < 5) == (patient == 1)


def test_settings_are_checked() -> None:
    network = corridor(4)
    with pytest.raises(ConfigError, match="allow_rotation"):
        make_planner("pibt", network, allow_rotation=True)
    close = networks.roadmap_network([(5, 5), (15, 5), (10, 5.5)], [(0, 1), (2, 1)])
    with pytest.raises(InvalidValueError, match="too near"):
        make_planner("pibt", close, allow_rotations=True)


def test_lanes_with_claims_are_passed_one_after_the_other() -> None:
    # A crossing in the middle; the robot parked beside the lane is pushed away first.
    points = [(5, 10), (15, 10), (10, 5), (10, 15), (7, 10.5), (7, 13)]
    lanes = [(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4)]
    network = networks.roadmap_network(points, lanes)
    starts, goals = np.array([0, 2, 4]), np.array([1, 3, 4])
    planner = make_planner("pibt", network)
    seen = [starts]
    for _ in range(12):
        seen.append(checked_plan(planner, Problem(network, seen[-1], goals, window=1))[:, -1])
    assert seen[-1].tolist() == goals.tolist()
    check_paths(Problem(network, starts, goals), np.stack(seen, axis=1))


def test_robots_with_one_goal_come_near_it_in_turns() -> None:
    network = networks.grid_network("\n".join(["." * 12] * 12))
    random = np.random.default_rng(5)
    goal, *rest = random.permutation(len(network)).tolist()
    starts = np.array(rest[:40])
    for queue, most in ((0, 40), (2, 2)):
        planner = make_planner("pibt", network, queue=queue, against=1)
        paths = checked_plan(planner, Problem(network, starts, np.full(40, goal), window=2))
        nearer = network.distances(goal)[paths[:, -1]] < network.distances(goal)[starts]
        # Some that wait are pushed, which may bring them nearer.
        assert np.count_nonzero(nearer) <= 2 * most
        assert np.count_nonzero(nearer) > (1 if queue else 10)
    # Who was there goes elsewhere, and sooner or later everybody was.
    planner, places, wanted = make_planner("pibt", network, queue=2), starts, np.full(40, goal)
    for _ in range(400):
        places = checked_plan(planner, Problem(network, places, wanted, window=1))[:, -1]
        wanted = np.where((places == goal) & (wanted == goal), starts, wanted)
        if not (wanted == goal).any():
            break
    assert not (wanted == goal).any()
