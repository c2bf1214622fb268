"""Networks and routes: distances against Dijkstra's algorithm, whatever was blocked before, and with zones."""

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest
from networks import costs_by_roads, dijkstra, ends_of, random_network
from oracle_rows import holds

from fleet_sim.base.arrays import Bools
from fleet_sim.warehouse.orders.places import RouteLengths
from fleet_sim.warehouse.sites import Grid, Site, Zone, ZoneKind
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
    network = random_network(random, 6, 9, 0.85) if grid else one_way(random)
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


# ---- zones ---------------------------------------------------------------------------------------------------------


CELL = 0.7
STEPS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]


def is_inside(point: np.ndarray, corners: np.ndarray) -> bool:
    """Whether a point is on one side of all sides of a triangle."""
    sides = np.roll(corners, -1, axis=0) - corners
    offs = point - corners
    return len(set(np.sign(sides[:, 0] * offs[:, 1] - sides[:, 1] * offs[:, 0]).tolist())) == 1


@holds("api:RouteLengths.to", fault="warehouse/traffic/free_space.py: ways of zones are turned with the grid twice")
@pytest.mark.parametrize("seed", range(6))
def test_one_way_zones_are_driven_their_way_or_across(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape, yaw = random.integers(6, 10, 2), float(random.uniform(-3.0, 3.0))
    grid = Grid(random.random(shape) < 0.9, CELL, (*random.uniform(-5.0, 5.0, 2).tolist(), yaw))
    height, width = grid.free_mask.shape
    zones = []
    for number in range(3):
        corners = grid.to_world(random.uniform(-0.1, 1.1, (3, 2)) * CELL * np.array((width, height)))
        # Some lead along a row or a column of the turned grid, so that to drive across is allowed.
        direction = yaw + (0.5 * math.pi * number if number else float(random.uniform(-3.0, 3.0)))
        zones.append(Zone(f"z{number}", ZoneKind.ONE_WAY, tuple(map(tuple, corners.tolist())), direction=direction))
    site = Site("zones", grid, zones=tuple(zones))
    cells = [tuple(cell) for cell in np.argwhere(grid.free_mask).tolist()]
    middles = {cell: grid.positions(np.array([cell[0] * width + cell[1]]))[0] for cell in cells}

    def may(cell: tuple[int, int], way: np.ndarray) -> bool:
        here = [zone for zone in zones if is_inside(middles[cell], np.array(zone.corners))]
        return all(way @ (math.cos(zone.direction), math.sin(zone.direction)) >= -1e-6 for zone in here)

    ends: dict[tuple[int, int], list[tuple[tuple[int, int], float]]] = {cell: [] for cell in cells}
    for cell in cells:
        for down, right in STEPS:
            end = (cell[0] + down, cell[1] + right)
            if {end, (end[0], cell[1]), (cell[0], end[1])} <= middles.keys():
                way = middles[end] - middles[cell]
                if may(cell, way) and may(end, way):
                    ends[cell].append((end, float(np.hypot(*way))))
    network = Network.of_grid(site, 0.2)
    nodes = {int(cell): node for node, cell in enumerate(network.cells)}
    moves = {(one, end) for one, found in enumerate(ends_of(network)) for end in found}
    straight = {(cell, end) for cell in cells for end, length in ends[cell] if length < 1.2 * CELL}
    assert moves == {tuple(nodes[row * width + column] for row, column in pair) for pair in straight}
    lengths, there = RouteLengths(site, 0.2), np.array(list(middles.values()))
    numbers = lengths.cells_of(there)
    for goal in random.integers(0, len(cells), 4).tolist():
        found, waiting = {cells[goal]: 0.0}, [(0.0, cells[goal])]
        while waiting:
            away, node = heapq.heappop(waiting)
            for cell in cells:
                for end, length in ends[cell]:
                    if end == node and away + length < found.get(cell, math.inf) - 1e-9:
                        found[cell] = away + length
                        heapq.heappush(waiting, (away + length, cell))
        expected = [found.get(cell, math.inf) for cell in cells]
        assert lengths.to(int(numbers[goal]), numbers) == pytest.approx(expected, rel=1e-6)
