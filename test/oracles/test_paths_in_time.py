"""Paths of robots among those of others, against a search of all places and times, step by step."""

from __future__ import annotations

from itertools import pairwise, permutations

import networks
import numpy as np
import pytest
from networks import claims_of, dijkstra, ends_of
from oracle_rows import holds

from fleet_sim.base.arrays import Ints
from fleet_sim.base.errors import PlanError
from fleet_sim.warehouse.sites import Grid, Site
from fleet_sim.warehouse.traffic import Network, Problem, check_paths, checked_plan, make_planner
from fleet_sim.warehouse.traffic.planners.guides import MARGIN, UNGUIDED, Traces, apart, find_guides
from fleet_sim.warehouse.traffic.planners.lacam import HeldSteps, RobotPaths, find_way, hold, improve
from fleet_sim.warehouse.traffic.planners.reserved import (
    NOBODY,
    Reservations,
    empty_timetable,
    find_path,
    fits_words,
    no_words,
    put,
    take,
    words_of,
)


class Others:
    """Paths (R, T + 1) of other robots, and which moves they leave to one more."""

    def __init__(self, network: Network, paths: list[list[int]], rotate: bool) -> None:
        self.paths, self.rotate = paths, rotate
        self.ends, self.claims = ends_of(network), claims_of(network)

    def may(self, step: int, begin: int, end: int) -> bool:
        """Whether a robot may go from a node to another one, or stay, in a step."""
        moves = [tuple(path[step : step + 2]) for path in self.paths]
        if any(after == end for _, after in moves):
            return False
        if begin == end:
            return not any(end in self.claims.get(move, ()) for move in moves)
        after = {end} | self.claims.get((begin, end), set())
        if any(after & ({one[1]} | self.claims.get(one, set())) for one in moves):
            return False
        if self.claims:
            # On lanes nobody follows the one before it at once, not even to what the move claims.
            return not any(one[0] in after for one in moves)
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
        """The first step from which on nobody else is at a node, or claims it."""
        held = [step for path in self.paths for step in range(length + 1) if self.needs(path, step, goal)]
        return max(held, default=-1) + 1

    def needs(self, path: list[int], step: int, node: int) -> bool:
        return path[step] == node or (step > 0 and node in self.claims.get((path[step - 1], path[step]), ()))

    def check(self, path: list[int]) -> None:
        assert all(self.may(step, *move) for step, move in enumerate(pairwise(path)))
        assert all(end == begin or end in self.ends[begin] for begin, end in pairwise(path))


def scene(seed: int) -> tuple[Network, Ints, bool, np.random.Generator]:
    """A network and paths of a crowd on it, which robots may drive."""
    random, rotate = np.random.default_rng(seed), bool(seed % 2)
    if seed % 4 == 3:
        points = [(5, 10), (15, 10), (10, 5), (10, 15), (7, 10.5), (7, 13), (20, 10), (20, 20), (10, 20), (5, 20)]
        pairs = [(0, 1), (2, 3), (4, 5), (1, 6), (6, 7), (7, 8), (3, 8), (8, 9), (0, 9), (5, 9), (0, 3), (9, 1)]
        network, rotate = networks.roadmap_network(points, [lane for a, b in pairs for lane in ((a, b), (b, a))]), False
        robots = 4
    else:
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


@holds("api:make_planner", fault="warehouse/traffic/planners/reserved.py: chains of followers close no circle")
@pytest.mark.parametrize("seed", range(12))
def test_the_cheapest_path_among_others_is_found(seed: int) -> None:
    network, paths, rotate, random = scene(seed)
    length, count = paths.shape[1] - 1, len(network)
    blocked = (random.random(count) < 0.1) if seed % 3 else np.zeros(count, bool)
    held = Reservations(network, length)
    words = words_of(network, blocked) if fits_words(network) else no_words()
    table = empty_timetable(words, length) if fits_words(network) else None
    there: list[int] = []
    for turn in range(2 * len(paths)):
        # Robots come and go in any order.
        robot = int(random.integers(len(paths)))
        comes = robot not in there
        held.reserve(paths[robot], robot if comes else NOBODY)
        if table is not None:
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
            costs = [find_path(held.arrays(blocked), steps, start, goal, True, most, rotate, path)]
            found = [path.tolist()]
            if table is not None:
                words_path = np.empty(length + 1, np.int64)
                chances = np.array([7 + turn], np.uint64)
                costs.append(find_way(words, table, start, goal, int(steps[start]), most, chances, words_path))
                found.append(words_path.tolist())
            assert costs == [expected if 0 <= expected <= most else -1] * len(costs)
            for way in found if costs[0] >= 0 else ():
                others.check(way)
                assert way[0] == start and way[expected:] == [goal] * (length + 1 - expected)
        # In a window: as near as it can be at the end, and as early there.
        cost = find_path(held.arrays(blocked), steps, start, goal, False, 99, rotate, path)
        last = min((int(steps[node]) for node in where[-1]), default=None)
        assert cost == (-1 if last is None else max(length + last, int(steps[start])))
        if cost >= 0:
            others.check(path.tolist())
            assert steps[path[-1]] == last
            if last == 0:
                assert np.flatnonzero(path != goal).max(initial=-1) + 1 == expected


@holds("api:make_planner", fault="warehouse/traffic/planners/lacam.py: paths of a group are not given back")
@pytest.mark.parametrize("seed", range(8))
def test_rounds_of_improvement_keep_paths_sound_and_count_what_they_save(seed: int) -> None:
    network, paths, rotate, _ = scene(seed)
    count, length = len(network), paths.shape[1] + 6
    paths = np.concatenate((paths, np.repeat(paths[:, -1:], length - paths.shape[1], axis=1)), axis=1)
    goals, nobody = paths[:, -1].copy(), np.zeros(count, bool)
    words = words_of(network, nobody) if fits_words(network) else no_words()
    held = Reservations(network, length - 1)
    table = empty_timetable(words_of(network, nobody) if fits_words(network) else words, length - 1)
    board = HeldSteps(held.arrays(nobody), words, table)
    steps = np.array([dijkstra(network, int(goal), nobody) for goal in goals])
    before = [int(np.flatnonzero(path != path[-1]).max(initial=-1)) + 1 for path in paths]
    costs = np.array(before)
    for robot in range(len(paths)):
        hold(board, paths, robot, rotate, robot)
    robots = RobotPaths(steps, np.arange(len(paths)), goals, paths, costs)
    saved = improve(board, robots, np.ones((2, 5)), 40, rotate, np.array([seed + 99], np.uint64))
    after = [int(np.flatnonzero(path != path[-1]).max(initial=-1)) + 1 for path in paths]
    assert costs.tolist() == after and saved == sum(before) - sum(after) >= 0
    assert paths[:, -1].tolist() == goals.tolist()
    # On lanes the first plan lets robots follow each other, which those that are found later do not.
    check_paths(Problem(network, paths[:, 0], goals), paths)
    for robot, path in enumerate(() if network.claims else paths.tolist()):
        Others(network, np.delete(paths, robot, axis=0).tolist(), rotate).check(path)
    # What is held is what the paths need, no more and no less.
    fresh = HeldSteps(Reservations(network, length - 1).arrays(nobody), words, empty_timetable(words, length - 1))
    for robot in range(len(paths)):
        hold(fresh, paths, robot, rotate, robot)
    assert board.reserved.held.tolist() == fresh.reserved.held.tolist()
    for name in ("held", "free", "open"):
        assert getattr(board.table, name).tolist() == getattr(fresh.table, name).tolist()


@holds("api:make_planner", fault="warehouse/traffic/planners/prioritized.py: who plans first is not left in peace")
@pytest.mark.parametrize("seed", range(8))
def test_each_robot_of_an_order_has_the_cheapest_path_around_those_before(seed: int) -> None:
    network, crowd, rotate, random = scene(seed)
    starts = crowd[:3, 0]
    goals = random.permutation(len(network))[: len(starts)]
    lost = Problem(network, starts, goals).unreachable()
    goals = np.where(lost, starts, goals)
    blocked = np.zeros(len(network), bool)
    planner = make_planner("prioritized", network, allow_rotations=rotate, reorders=0)
    problem = Problem(network, starts, goals, window=8, seed=seed)
    paths = planner.plan(problem)
    if planner.figures()["waited"]:
        return

    def cost(robot: int, before: list[int]) -> int:
        steps = dijkstra(network, int(goals[robot]), blocked)
        where = Others(network, paths[before].tolist(), rotate).reached(int(starts[robot]), steps, blocked, 8)
        return min(steps[node] for node in where[-1])

    left = [dijkstra(network, int(goal), blocked)[path[-1]] for goal, path in zip(goals, paths, strict=True)]
    orders = permutations(range(len(starts)))
    assert any(all(cost(one, list(order[:at])) == left[one] for at, one in enumerate(order)) for order in orders)
    try:
        whole = checked_plan(planner, Problem(network, starts, goals, seed=seed))
    except PlanError:
        return
    # It ends when the last one is there.
    assert whole[:, -1].tolist() == goals.tolist()
    assert whole.shape[1] == 2 or (whole[:, -2] != whole[:, -1]).any()


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
