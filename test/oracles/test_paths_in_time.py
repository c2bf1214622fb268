"""Paths of robots among those of others, against a search of all places and times, step by step."""

from __future__ import annotations

from itertools import pairwise

import networks
import numpy as np
import pytest
from networks import dijkstra, ends_of
from oracle_rows import holds

from fleet_sim.base.arrays import Ints
from fleet_sim.warehouse.sites import Grid, Site
from fleet_sim.warehouse.traffic import Network, Problem, check_paths, checked_plan, make_planner
from fleet_sim.warehouse.traffic.planners.guides import MARGIN, UNGUIDED, Traces, apart, find_guides
from fleet_sim.warehouse.traffic.planners.refinement import (
    RobotPaths,
    empty_timetable,
    find_way,
    improve,
    put,
    take,
    words_of,
)


class Others:
    """Paths (R, T + 1) of other robots, and which moves they leave to one more."""

    def __init__(self, network: Network, paths: list[list[int]], rotate: bool) -> None:
        self.paths, self.rotate = paths, rotate
        self.ends = ends_of(network)

    def may(self, step: int, begin: int, end: int) -> bool:
        """Whether a robot may go from a node to another one, or stay, in a step."""
        moves = [tuple(path[step : step + 2]) for path in self.paths]
        if any(after == end for _, after in moves):
            return False
        if begin == end:
            return True
        following = dict(moves)
        node, seen = end, 0
        while node in following and following[node] != node:
            node, seen = following[node], seen + 1
            if node == begin:
                return self.rotate and seen > 1
        return True

    def reached(self, start: int, steps: list[int], blocked: Ints, length: int) -> list[set[int]]:
        """Where a robot can be at each step."""
        found = [{start}]
        for step in range(length):
            ways = [(node, end) for node in found[-1] for end in (node, *self.ends[node])]
            found.append(
                {
                    end
                    for node, end in ways
                    if steps[end] >= 0 and not (blocked[end] and end != node) and self.may(step, node, end)
                }
            )
        return found

    def stays_from(self, goal: int, length: int) -> int:
        """The first step from which on nobody else is at a node."""
        held = [step for path in self.paths for step in range(length + 1) if path[step] == goal]
        return max(held, default=-1) + 1

    def check(self, path: list[int]) -> None:
        assert all(self.may(step, *move) for step, move in enumerate(pairwise(path)))
        assert all(end == begin or end in self.ends[begin] for begin, end in pairwise(path))


def scene(seed: int) -> tuple[Network, Ints, bool, np.random.Generator]:
    """A network and paths of a crowd on it, which robots may drive."""
    random, rotate = np.random.default_rng(seed), bool(seed % 2)
    # Some of more columns than a word has bits, whose free part is around those of its end.
    width = 67 if seed % 4 == 2 else int(random.integers(4, 9))
    free = random.random((int(random.integers(2, 6)), width)) < 0.85
    free[:, :-10] = False
    free |= np.arange(width) == width - 3
    # Others have more rows than columns.
    network = Network.of_grid(Site("random", Grid(free.T if seed % 4 == 0 else free)), 0.4)
    robots = int(0.6 * len(network))
    starts, goals = networks.random_places(random, network, robots)
    goals = np.where(Problem(network, starts, goals).unreachable(), starts, goals)
    planner = make_planner("pibt", network, allow_rotations=rotate, against=1)
    return network, checked_plan(planner, Problem(network, starts, goals, window=9, seed=seed)), rotate, random


@holds("api:make_planner", fault="warehouse/traffic/planners/refinement.py: chains of followers close no circle")
@pytest.mark.parametrize("seed", range(12))
def test_the_cheapest_path_among_others_is_found(seed: int) -> None:
    network, paths, rotate, random = scene(seed)
    length, count = paths.shape[1] - 1, len(network)
    blocked = (random.random(count) < 0.1) if seed % 3 else np.zeros(count, bool)
    words = words_of(network, blocked)
    table = empty_timetable(words, length)
    there: list[int] = []
    for turn in range(2 * len(paths)):
        # Robots come and go in any order.
        robot = int(random.integers(len(paths)))
        comes = robot not in there
        (put if comes else take)(words, table, paths, robot, rotate)
        there = [*there, robot] if comes else [one for one in there if one != robot]
        if turn < 3 or len(there) == len(paths):
            continue
        others = Others(network, paths[there].tolist(), rotate)
        start = int(random.choice([path[0] for one, path in enumerate(paths) if one not in there]))
        goal = int(random.integers(count))
        steps = np.array(dijkstra(network, goal, blocked))
        if steps[start] < 0:
            continue
        where = others.reached(start, steps.tolist(), blocked, length)
        soonest = others.stays_from(goal, length)
        arrivals = [step for step in range(soonest, length + 1) if goal in where[step]]
        expected, path = min(arrivals, default=-1), np.empty(length + 1, np.int64)
        for most in (length, expected, expected - 1):
            cost = find_way(words, table, start, goal, int(steps[start]), most, np.array([7 + turn], np.uint64), path)
            assert cost == (expected if 0 <= expected <= most else -1)
            if cost >= 0:
                way = path.tolist()
                others.check(way)
                assert way[0] == start and way[expected:] == [goal] * (length + 1 - expected)


@holds("api:make_planner", fault="warehouse/traffic/planners/refinement.py: paths of a group are not given back")
@pytest.mark.parametrize("seed", range(8))
def test_rounds_of_improvement_keep_paths_sound_and_count_what_they_save(seed: int) -> None:
    network, paths, rotate, _ = scene(seed)
    count, length = len(network), paths.shape[1] + 6
    paths = np.concatenate((paths, np.repeat(paths[:, -1:], length - paths.shape[1], axis=1)), axis=1)
    goals, nobody = paths[:, -1].copy(), np.zeros(count, bool)
    words, table = words_of(network, nobody), empty_timetable(words_of(network, nobody), length - 1)
    steps = np.array([dijkstra(network, int(goal), nobody) for goal in goals])
    before = [int(np.flatnonzero(path != path[-1]).max(initial=-1)) + 1 for path in paths]
    costs = np.array(before)
    for robot in range(len(paths)):
        put(words, table, paths, robot, rotate)
    robots = RobotPaths(steps, np.arange(len(paths)), goals, paths, costs)
    saved = improve(words, table, robots, np.ones((2, 5)), 40, rotate, np.array([seed + 99], np.uint64))
    after = [int(np.flatnonzero(path != path[-1]).max(initial=-1)) + 1 for path in paths]
    assert costs.tolist() == after and saved == sum(before) - sum(after) >= 0
    assert paths[:, -1].tolist() == goals.tolist()
    check_paths(Problem(network, paths[:, 0], goals), paths)
    for robot, path in enumerate(paths.tolist()):
        Others(network, np.delete(paths, robot, axis=0).tolist(), rotate).check(path)
    # What is held is what the paths need, no more and no less.
    fresh = empty_timetable(words, length - 1)
    for robot in range(len(paths)):
        put(words, fresh, paths, robot, rotate)
    for name in ("held", "free", "open"):
        assert getattr(table, name).tolist() == getattr(fresh, name).tolist()


@pytest.mark.parametrize("seed", range(6))
def test_guides_meet_as_few_others_as_ways_of_that_length_can(seed: int) -> None:
    network, crowd, _, random = scene(4 * seed)
    starts, goals = crowd[:5, 0], crowd[:5, -1]
    blocked = np.zeros(len(network), bool)
    steps = np.array([dijkstra(network, int(goal), blocked) for goal in goals])
    length = int(max(steps[one][start] for one, start in enumerate(starts))) + MARGIN
    traces = Traces(network, length)
    paths = np.full((len(starts), length + 1), UNGUIDED, np.int64)
    guides, order = np.full((len(starts), len(network)), UNGUIDED, np.int8), random.permutation(len(starts))
    work = (traces.here, traces.moving, traces.met, traces.came, paths, guides)
    find_guides(network.links, blocked, steps, np.arange(len(starts)), starts, goals, order[None], *work)
    for number, robot in enumerate(order.tolist()):
        before = paths[order[:number]].tolist()
        start, goal, own = int(starts[robot]), int(goals[robot]), steps[robot]
        longest, best = own[start] + MARGIN, {(0, start): 0}
        for step in range(longest):
            for node in [node for at, node in best if at == step and node != goal]:
                for end in ends_of(network)[node]:
                    met = sum(path[step + 1] == end or path[step : step + 2] == [end, node] for path in before)
                    if own[end] >= 0 and step + 1 + own[end] <= longest:
                        known = best.get((step + 1, end), 1 << 40)
                        best[step + 1, end] = min(known, best[step, node] + met)
        path = paths[robot].tolist()
        arrival = path.index(goal)
        assert path[arrival:] == [goal] * (length + 1 - arrival)
        assert best[arrival, goal] == min(met for (_, node), met in best.items() if node == goal)
        for node, end in pairwise(path[: arrival + 1]):
            assert end in ends_of(network)[node]
        for node in range(len(network)):
            leaves = [end for at, end in pairwise(path) if at == node != end]
            assert int(guides[robot, node]) == (network.links[node].tolist().index(leaves[-1]) if leaves else UNGUIDED)


def test_of_robots_with_one_goal_the_nearest_has_it_and_others_the_nearest_free_places() -> None:
    for seed in range(0, 40, 4):
        network, crowd, _, random = scene(seed)
        starts, count = crowd[:, 0], len(network)
        goals = random.choice(random.permutation(count)[:3], len(starts))
        blocked = random.random(count) < 0.1
        found = apart(Problem(network, starts, goals, blocked)).tolist()
        away = {goal: dijkstra(network, goal, blocked) for goal in range(count)}
        expected, taken = goals.tolist(), set(goals.tolist())
        for goal in dict.fromkeys(goals.tolist()):
            robots = sorted(np.flatnonzero(goals == goal).tolist(), key=lambda one: away[goal][starts[one]])
            near = sorted((away[goal][node], node) for node in range(count) if away[goal][node] >= 0)
            for robot in robots[1:]:
                places = [
                    node
                    for _, node in near
                    if node not in taken and not blocked[node] and away[node][starts[robot]] >= 0
                ]
                expected[robot] = places[0] if places else int(starts[robot])
                taken.add(expected[robot])
        assert found == expected
