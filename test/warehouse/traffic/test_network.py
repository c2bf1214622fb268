"""Networks: where robots may stand and move, and how far it is."""

from __future__ import annotations

import networks
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.warehouse.sites import Grid, Roadmap, Site, Zone, ZoneKind
from fleet_sim.warehouse.traffic import Network, Problem
from fleet_sim.warehouse.traffic.network import DistanceTables


def moves(network: Network) -> set[tuple[int, int]]:
    return {(node, end) for node, ends in enumerate(network.neighbours.tolist()) for end in ends if end >= 0}


def test_free_cells_are_nodes_and_next_to_those_beside_them() -> None:
    network = networks.grid_network("..#\n...")
    assert network.cells.tolist() == [0, 1, 3, 4, 5]
    assert moves(network) == {(0, 1), (1, 0), (0, 2), (2, 0), (1, 3), (3, 1), (2, 3), (3, 2), (3, 4), (4, 3)}
    assert network.positions.tolist() == [[0.5, 1.5], [1.5, 1.5], [0.5, 0.5], [1.5, 0.5], [2.5, 0.5]]


def test_zones_are_kept() -> None:
    square = [(1.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0)]
    grid = Grid(np.ones((1, 4), bool))
    one_way = Network.of_grid(Site("s", grid, zones=(Zone("east", ZoneKind.ONE_WAY, square, direction=0.0),)), 0.4)
    assert moves(one_way) == {(0, 1), (1, 2), (2, 3), (3, 2)}
    no_go = Network.of_grid(Site("s", grid, zones=(Zone("pit", ZoneKind.NO_GO, square),)), 0.4)
    assert no_go.cells.tolist() == [0, 2, 3] and moves(no_go) == {(1, 2), (2, 1)}


def test_robots_larger_than_cells_are_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"cells of at least 1\.2 m"):
        Network.of_grid(networks.site_of("...."), 0.6)
    with pytest.raises(InvalidValueError, match="no cell with room"):
        Network.of_grid(Site("s", Grid(np.zeros((2, 2), bool))), 0.4)


def test_points_find_their_cell_or_a_node_near_them() -> None:
    network = networks.grid_network("..#\n...")
    assert network.node_at(np.array([[0.1, 1.9], [2.5, 1.5], [2.9, 0.2], [9.0, 9.0]])).tolist() == [0, -1, 4, -1]
    lanes = networks.roadmap_network([(5, 5), (10, 5)], [(0, 1)])
    assert lanes.node_at(np.array([[5.2, 5.2], [7.0, 5.0], [10.0, 4.6]])).tolist() == [0, -1, 1]


def test_distances_are_those_of_the_shortest_ways() -> None:
    rng = np.random.default_rng(3)
    network = networks.random_network(rng, 12, 15, 0.7)
    goal = len(network) // 2
    expected = np.full(len(network), -1)
    expected[goal], front, steps = 0, [goal], 0
    arriving = {node: [a for a, b in moves(network) if b == node] for node in range(len(network))}
    while front:
        steps += 1
        front = sorted({source for node in front for source in arriving[node] if expected[source] < 0})
        expected[front] = steps
    assert network.distances(goal).tolist() == expected.tolist()


def test_distances_keep_to_directions_and_need_more_than_small_numbers() -> None:
    ring = Network(np.zeros((40_000, 2)), np.roll(np.arange(40_000), -1)[:, None])
    assert ring.distances(0)[[0, 1, 39_999]].tolist() == [0, 39_999, 1]
    assert ring.distances(7)[[7, 8, 6]].tolist() == [0, 39_999, 1]


def test_tables_are_dropped_when_memory_ends_and_made_again() -> None:
    network = networks.grid_network()
    fresh = [network.distances(goal).tolist() for goal in range(len(network))]
    tables = DistanceTables(network.sources(), most_memory=3 * 2 * len(network))
    assert len(tables.steps) == 3
    assert [tables.to(goal).tolist() for goal in range(len(network))] == fresh
    with pytest.raises(InvalidValueError, match="distances to 4 goals"):
        tables.rows_of(np.array([0, 1, 2, 3]))


def test_blocked_nodes_are_walked_out_of_and_never_through() -> None:
    network = networks.grid_network("....")
    blocked = np.array([False, True, False, False])
    network.tables.block(blocked)
    assert network.distances(3).tolist() == [-1, 2, 1, 0]
    network.tables.block(np.zeros(4, bool))
    assert network.distances(3).tolist() == [3, 2, 1, 0]


def test_lanes_claim_the_nodes_and_lanes_that_are_too_near() -> None:
    # A lane that passes a parking place, and one that crosses it.
    points = [(5.0, 5.0), (15.0, 5.0), (10.0, 5.5), (12.0, 2.0), (12.0, 8.0), (12.0, 20.0)]
    network = networks.roadmap_network(points, [(0, 1), (3, 4), (4, 5)])
    width = network.neighbours.shape[1]
    along, across, onward = network.claims.of(0), network.claims.of(3 * width), network.claims.of(4 * width)
    assert along[0] == 2 and along[1] == across[0] >= len(network)
    assert len(onward) == 0


def test_lanes_that_are_too_narrow_are_left_out() -> None:
    free = np.ones((20, 20), bool)
    free[9, 5:15] = False
    roadmap = Roadmap(np.array([(10.0, 5.0), (10.0, 15.0), (2.0, 15.0)]), np.array([(0, 1), (1, 2), (1, 2)]))
    network = Network.of_roadmap(Site("s", Grid(free), roadmap=roadmap), 0.4)
    assert moves(network) == {(1, 2)}
    with pytest.raises(InvalidValueError, match="no roadmap"):
        Network.of_roadmap(Site("s", Grid(free)), 0.4)


@pytest.mark.parametrize("neighbours", [[[1], [5]], [[1]], [[0], [1]], [[-2], [0]]])
def test_neighbours_that_are_none_are_refused(neighbours: list[list[int]]) -> None:
    with pytest.raises(InvalidValueError, match="neighbours"):
        Network(np.zeros((2, 2)), np.array(neighbours))


@pytest.mark.parametrize("against", [1, 3])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_tables_are_mended_where_nodes_are_blocked_and_free_again(against: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = one_way_network(rng)
    tables = network.guided_tables(against)
    goals = rng.permutation(len(network))[:8]
    blocked = np.zeros(len(network), bool)
    for _ in range(6):
        tables.rows_of(goals)
        blocked = blocked ^ (rng.random(len(network)) < 0.03)
        tables.block(blocked)
        fresh = Network(network.positions, network.neighbours, network.cells, grid=network.grid).guided_tables(against)
        fresh.block(blocked)
        for goal in goals.tolist():
            assert tables.to(goal).tolist() == fresh.to(goal).tolist()


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_robots_without_a_way_are_those_whose_tables_say_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = one_way_network(rng)
    starts, goals = rng.permutation(len(network))[:9], rng.integers(0, len(network), min(len(network), 9))
    blocked = rng.random(len(network)) < 0.2
    problem = Problem(network, starts, goals, blocked)
    unreachable = problem.unreachable().tolist()
    assert unreachable == [network.distances(goal)[start] < 0 for start, goal in zip(starts, goals, strict=True)]


def one_way_network(rng: np.random.Generator) -> Network:
    """Return a random grid from which some moves are left out."""
    network = networks.random_network(rng, 9, 9)
    neighbours = np.where(rng.random(network.neighbours.shape) < 0.2, -1, network.neighbours)
    return Network(network.positions, neighbours, network.cells, grid=network.grid)


def test_tables_are_right_when_blocked_cells_change_and_goals_too() -> None:
    network, random = networks.random_network(np.random.default_rng(4), 10, 9, 0.8), np.random.default_rng(1)
    for call in range(200):
        blocked = np.zeros(len(network), bool)
        # One cell at a time, as where a robot stands for long: so few changes are mended.
        blocked[random.integers(0, len(network))] = call % 3 > 0
        goal = int(random.integers(0, len(network)))
        network.tables.block(blocked)
        anew = networks.random_network(np.random.default_rng(4), 10, 9, 0.8)
        anew.tables.block(blocked)
        assert network.distances(goal).tolist() == anew.distances(goal).tolist()
        starts, goals = random.permutation(len(network))[:4], random.permutation(len(network))[:4]
        lost = Problem(network, starts, goals, blocked).unreachable()
        assert lost.tolist() == Problem(anew, starts, goals, blocked).unreachable().tolist()
