"""Networks of the traffic: distances to goals against Dijkstra's algorithm, whatever was blocked before."""

from __future__ import annotations

import numpy as np
import pytest
from networks import costs_by_roads, dijkstra, ends_of, random_network
from oracle_rows import holds

from fleet_sim.base.arrays import Bools
from fleet_sim.warehouse.traffic import Network
from fleet_sim.warehouse.traffic.network import DistanceTables


def one_way(random: np.random.Generator) -> Network:
    """A network by hand, most of whose moves lead one way only."""
    count = int(random.integers(5, 40))
    ends = np.where(random.random((count, 3)) < 0.5, random.integers(0, count, (count, 3)), -1)
    ends[ends == np.arange(count)[:, None]] = -1
    return Network(random.uniform(0.0, 9.0, (count, 2)), ends)


@holds("api:Network.distances", fault="warehouse/traffic/network.py: tables are not mended where a node is free again")
@pytest.mark.parametrize("seed", range(6))
def test_distances_are_those_of_dijkstra_whatever_was_blocked_before(seed: int) -> None:
    random = np.random.default_rng(seed)
    grid = seed % 2 == 0
    network = random_network(random, 8, 11, 0.85) if grid else one_way(random)
    count, against = len(network), 4 if grid else 1
    costs = costs_by_roads(network, against) if grid else None
    plain, guided = network.tables, network.guided_tables(against)
    small = DistanceTables(network.sources(), most_memory=8 * 2 * count)
    blocked = random.random(count) < 0.05
    for turn in range(30):
        # A node or two change, seldom many.
        many = turn % 15 == 14
        changed = random.random(count) < 0.3 if many else np.isin(np.arange(count), random.integers(0, count, 2))
        blocked = np.where(changed, ~blocked, blocked) if turn % 3 else blocked
        barred = random.random(count) < 0.1 if turn % 5 == 4 else np.zeros(count, bool)
        goals, wide = random.integers(0, count, 4), random.random(4) < 0.5
        for tables, paid in ((plain, None), (guided, costs), (small, None)):
            tables.block(blocked, barred)
            rows = tables.rows_of(goals, wide)
            for row, goal, is_wide in zip(rows.tolist(), goals.tolist(), wide.tolist(), strict=True):
                shut = (blocked | barred) if is_wide else blocked.copy()
                shut[goal] = blocked[goal]
                assert tables.steps[row].tolist() == dijkstra(network, goal, shut, paid), (turn, goal)
        hub = int(goals[0])
        leading, reached = network.joined_by(hub, blocked)
        assert leading.tolist() == [away >= 0 for away in dijkstra(network, hub, blocked)]
        assert reached.tolist() == [node in after(network, hub, blocked) for node in range(count)]
        pairs = random.integers(0, count, (2, 9))
        assert network.joined(*pairs, blocked).tolist() == (leading[pairs[0]] & reached[pairs[1]]).tolist()
        assert not network.joined(*pairs, ~blocked).any()


def after(network: Network, start: int, blocked: Bools) -> set[int]:
    """All nodes to which a way leads."""
    seen, waiting = {start}, [start]
    while waiting:
        new = [end for end in ends_of(network)[waiting.pop()] if not blocked[end] and end not in seen]
        seen.update(new)
        waiting += new
    return seen
