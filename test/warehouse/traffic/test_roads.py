"""Roads of a grid: rows and columns that lead back and forth in turns, as robots of PIBT prefer to drive them."""

from __future__ import annotations

import heapq

import networks
import numpy as np
import pytest

from fleet_sim.base.arrays import Bools
from fleet_sim.base.errors import ConfigError
from fleet_sim.warehouse.traffic import Network, Problem, checked_plan, make_planner

AGAINST = 3
SHELVES = ".........\n.###.###.\n.........\n.###.###.\n........."


def cost(network: Network, begin: int, end: int) -> int:
    """Return what the move between two neighbours counts as."""
    return int(network.guided_tables(AGAINST).to(end)[begin])


def test_rows_of_an_open_floor_lead_to_and_fro_in_turns() -> None:
    network = networks.grid_network("....\n....\n....")
    nodes = np.arange(12).reshape(3, 4)
    onward = [cost(network, row[1], row[2]) for row in nodes.tolist()]
    assert onward in ([1, 3, 1], [3, 1, 3])
    assert [cost(network, row[2], row[1]) for row in nodes.tolist()] == [4 - there for there in onward]
    columns = [cost(network, column[0], column[1]) for column in nodes.T.tolist()]
    assert columns in ([1, 3, 1, 3], [3, 1, 3, 1])


def test_roads_between_shelves_take_turns_and_not_their_rows() -> None:
    network = networks.grid_network(SHELVES)
    # Every second row is a road.
    firsts = network.node_at(network.positions[network.positions[:, 0] == network.positions[:, 0].min()])
    roads = sorted(firsts.tolist(), key=lambda node: float(network.positions[node, 1]))[::2]
    onward = [int(network.node_at(network.positions[[node]] + [1.0, 0.0])[0]) for node in roads]
    costs = [cost(network, node, end) for node, end in zip(roads, onward, strict=True)]
    assert costs in ([1, 3, 1], [3, 1, 3])


def test_distances_are_the_least_sums_of_what_moves_count_as() -> None:
    network = networks.grid_network(SHELVES)
    blocked = np.zeros(len(network), bool)
    blocked[[4, 17]] = True
    tables = network.guided_tables(AGAINST)
    moves = {
        (begin, end): cost(network, begin, end)
        for begin, ends in enumerate(network.neighbours.tolist())
        for end in ends
        if end >= 0
    }
    tables.block(blocked)
    for goal in range(len(network)):
        assert tables.to(goal).tolist() == least(len(network), moves, blocked, goal)


def least(count: int, moves: dict[tuple[int, int], int], blocked: Bools, goal: int) -> list[int]:
    """Return the least sums by Dijkstra's algorithm, -1 where there is no way."""
    found = [-1] * count
    queue = [(0, goal)]
    while queue:
        away, node = heapq.heappop(queue)
        if found[node] >= 0:
            continue
        found[node] = away
        if not blocked[node]:
            for (begin, end), more in moves.items():
                if end == node and found[begin] < 0:
                    heapq.heappush(queue, (away + more, begin))
    return found


def test_without_a_grid_or_against_1_all_moves_count_as_one() -> None:
    network = networks.grid_network(SHELVES)
    assert network.guided_tables(1) is network.tables
    lanes = Network(network.positions, network.neighbours)
    assert lanes.guided_tables(AGAINST) is lanes.tables


def test_robots_of_pibt_get_more_done_on_roads() -> None:
    network = networks.grid_network("\n".join((SHELVES, SHELVES)))
    assert done(network, 24, against=3) > done(network, 24, against=1)


def done(network: Network, robots: int, **settings: object) -> int:
    """Return how often robots arrive that get new goals, in 400 steps."""
    rng = np.random.default_rng(1)
    starts, goals = networks.random_places(rng, network, robots)
    planner, arrivals = make_planner("pibt", network, **settings), 0
    for _ in range(400):
        starts = checked_plan(planner, Problem(network, starts, goals, window=1))[:, -1]
        there_mask = starts == goals
        arrivals += int(there_mask.sum())
        goals = np.where(there_mask, rng.integers(0, len(network), robots), goals)
    return arrivals


def test_a_move_counts_as_one_step_at_least() -> None:
    with pytest.raises(ConfigError, match="against"):
        make_planner("pibt", networks.grid_network(".."), against=0)
