"""Ways between the places of orders, on one storey and on several, and what is known of orders, worked out plainly."""

from __future__ import annotations

import heapq
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from networks import dijkstra
from oracle_rows import holds

from fleet_sim.base.arrays import Bools
from fleet_sim.base.errors import StateError
from fleet_sim.warehouse.orders.order import TRANSITIONS, Order, OrderState
from fleet_sim.warehouse.orders.places import LaneLengths, OrderBook, RouteLengths, matrix
from fleet_sim.warehouse.orders.section import OrderBuilding, StoreyLengths, read_orders, read_task_orders
from fleet_sim.warehouse.sites import Grid, Site, Station
from fleet_sim.warehouse.traffic import Network
from fleet_sim.world.routes import NoRoute

CELL = 0.5


def clear_cells(free: Bools, radius: float) -> set[tuple[int, int]]:
    """Cells in whose middle a disc touches nothing that is blocked, nor the edge of the map."""
    height, width = free.shape
    walls = np.argwhere(np.pad(~free, 1, constant_values=True)) - 1
    found = set()
    for row in range(height):
        for column in range(width):
            off = np.maximum(np.abs(walls - (row, column)) - 0.5, 0.0) * CELL
            if np.hypot(*off.T).min() >= radius - 1e-9:
                found.add((row, column))
    return found


def ways_to(clear: set[tuple[int, int]], goal: tuple[int, int]) -> dict[tuple[int, int], float]:
    """Lengths in m over middles of clear cells; diagonally only past two clear ones."""
    found, waiting = {goal: 0.0}, [(0.0, goal)]
    while waiting:
        length, (row, column) = heapq.heappop(waiting)
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                cell = (row + down, column + right)
                if {cell, (row + down, column), (row, column + right)} <= clear:
                    further = length + CELL * math.hypot(down, right)
                    if further < found.get(cell, math.inf) - 1e-12:
                        found[cell] = further
                        heapq.heappush(waiting, (further, cell))
    return found


def rooms(random: np.random.Generator) -> Grid:
    """A grid that is no square, turned and off the origin."""
    free = random.random(random.integers(6, 12, 2)) < 0.85
    return Grid(free, CELL, (*random.uniform(-9.0, 9.0, 2).tolist(), float(random.uniform(-3.0, 3.0))))


def cell_near(grid: Grid, clear: set[tuple[int, int]], point: np.ndarray) -> tuple[int, int] | None:
    """The cell of a point, or a clear one beside it."""
    x, y = (grid.to_own(point[None])[0] / CELL).tolist()
    row, column = grid.height - 1 - math.floor(y), math.floor(x)
    steps = [(down, right) for down in (0, -1, 1) for right in (0, -1, 1)]
    near = [(row + down, column + right) for down, right in steps if (row + down, column + right) in clear]
    return near[0] if near else None


@holds("api:Orders.submit", fault="warehouse/orders/places.py: columns and rows of a cell are exchanged")
@pytest.mark.parametrize("seed", range(8))
def test_lengths_are_those_of_the_shortest_ways_over_cells(seed: int) -> None:
    random = np.random.default_rng(seed)
    grid, radius = rooms(random), float(random.uniform(0.05, 0.45))
    clear, lengths = clear_cells(grid.free_mask, radius), RouteLengths(Site("rooms", grid), radius)
    points = grid.to_world(random.uniform(0.0, 1.0, (14, 2)) * CELL * np.array(grid.free_mask.shape[::-1]))
    cells = lengths.cells_of(points)
    own = [cell_near(grid, clear, point) for point in points]
    assert [cell < 0 for cell in cells.tolist()] == [cell is None for cell in own]
    found = matrix(lengths, cells, cells)
    for goal, end in enumerate(own):
        ways = {} if end is None else ways_to(clear, end)
        expected = [ways.get(begin, math.inf) if begin is not None else math.inf for begin in own]
        assert found[:, goal] == pytest.approx(expected, rel=1e-6)
        for begin, length in enumerate(expected):
            assert lengths.joined(int(cells[begin]), int(cells[goal])) == math.isfinite(length)


@pytest.mark.parametrize("seed", range(4))
def test_lengths_in_a_traffic_are_those_along_rows_and_columns(seed: int) -> None:
    random = np.random.default_rng(seed)
    grid = rooms(random)
    network = Network.of_grid(Site("rooms", grid), 0.2)
    lengths = LaneLengths(network, CELL)
    points = grid.to_world(random.uniform(0.0, 1.0, (14, 2)) * CELL * np.array(grid.free_mask.shape[::-1]))
    cells = lengths.cells_of(points)
    for goal in cells.tolist():
        steps = dijkstra(network, goal, np.zeros(len(network), bool)) if goal >= 0 else []
        expected = [CELL * steps[cell] if min(goal, cell) >= 0 <= steps[cell] else math.inf for cell in cells.tolist()]
        assert lengths.to(goal, cells).tolist() == pytest.approx(expected)
        assert [lengths.joined(cell, goal) for cell in cells.tolist()] == [math.isfinite(length) for length in expected]


# ---- several storeys -----------------------------------------------------------------------------------------------


class Building:
    """Three storeys of different sizes and two lifts, one of which does not stop on the second."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.grids = [Grid(np.ones(shape, bool), CELL, origin) for shape, origin in SHAPES]
        for grid in self.grids:
            grid.free_mask.flags.writeable = True
            grid.free_mask[random.random(grid.free_mask.shape) < 0.1] = False
        self.heights = np.array([0.0, 3.1, 7.4])
        self.lifts = [0, 1]
        self.doors = {
            (lift, storey): self.grids[storey].positions(self.grids[storey].free_cells)[5 + 3 * lift + storey]
            for lift in self.lifts
            for storey in range(3)
        }
        self.sites = [
            Site(str(storey), grid, stations=(Station("desk", "drop", *self.doors[0, storey], 0.3),))
            for storey, grid in enumerate(self.grids)
        ]
        levels = [
            SimpleNamespace(name=f"L{storey}", site=site, elevation=height)
            for storey, (site, height) in enumerate(zip(self.sites, self.heights.tolist(), strict=True))
        ]
        self.building = SimpleNamespace(name="building", levels=levels)
        self.router: Any = SimpleNamespace(plan=self, site=lambda storey: self.sites[storey])

    def number(self, height: float) -> int:
        return int(np.abs(self.heights - height).argmin())

    def lift_at(self, point: np.ndarray) -> int | None:
        return 0 if math.dist(point[:2], self.inside) < 0.1 else None

    inside = (-50.0, 3.0)

    def crossing(self, lift: int, begin: int, end: int, radius: float) -> Any:
        if lift == 1 and 1 in (begin, end):
            return NoRoute("it does not stop", None)  # type: ignore[arg-type]
        return SimpleNamespace(door=self.doors[lift, begin], out=self.doors[lift, end])


SHAPES = (((9, 14), (1.0, -2.0, 0.4)), ((6, 5), (-7.0, 3.0, 0.0)), ((13, 4), (2.0, 2.0, -1.1)))


@pytest.mark.parametrize("seed", range(3))
def test_ways_between_storeys_lead_through_the_nearer_lift(seed: int) -> None:
    building, radius = Building(seed), 0.2
    lengths = StoreyLengths(building.router, radius)
    random = np.random.default_rng(seed)
    clear = [clear_cells(grid.free_mask, radius) for grid in building.grids]
    places = [(storey, random.choice(grid.free_cells)) for storey, grid in enumerate(building.grids) for _ in range(4)]
    points = np.array(
        [(*building.grids[storey].positions(np.array([cell]))[0], building.heights[storey]) for storey, cell in places]
    )
    cells = lengths.cells_of(points)
    found = matrix(lengths, cells, cells)

    def flat(storey: int, begin: np.ndarray, end: np.ndarray) -> float:
        one, other = (cell_near(building.grids[storey], clear[storey], point[:2]) for point in (begin, end))
        return math.inf if one is None or other is None else ways_to(clear[storey], other).get(one, math.inf)

    for goal, (last, _) in enumerate(places):
        for begin, (first, _) in enumerate(places):
            expected = flat(first, points[begin], points[goal]) if first == last else math.inf
            for lift in (0, 1) if first != last else ():
                if lift == 0 or 1 not in (first, last):
                    doors = building.doors[lift, first], building.doors[lift, last]
                    ways = flat(first, points[begin], doors[0]) + flat(last, doors[1], points[goal])
                    expected = min(expected, ways + abs(building.heights[first] - building.heights[last]))
            assert found[begin, goal] == pytest.approx(expected, rel=1e-6)
            assert lengths.joined(int(cells[begin]), int(cells[goal])) == math.isfinite(expected)
    # In a lift it is as far as from before its doors.
    in_lift = lengths.cells_of(np.array([(*building.inside, building.heights[1])]))
    assert in_lift.tolist() == lengths.cells_of(np.array([(*building.doors[0, 1], building.heights[1])])).tolist()


def test_storeys_are_side_by_side_on_one_chart() -> None:
    building = Building(1)
    places = OrderBuilding(building.router)
    assert places.stations == ["L0/desk", "L1/desk", "L2/desk"]
    assert places.chart.free_mask.shape == (13, 14 + 5 + 4 + 3 * 2) and places.chart.cell == CELL
    begins, seen = (0.0, 16.0 * CELL, 23.0 * CELL), 0
    for storey, grid in enumerate(building.grids):
        cells = np.arange(grid.free_mask.size)
        middles = np.column_stack((grid.positions(cells), np.full(len(cells), building.heights[storey] + 0.3)))
        chart = places.on_chart(middles)
        assert chart == pytest.approx(grid.to_own(middles[:, :2]) + (begins[storey], 0.0))
        free = places.chart.is_free(places.chart.cells_at(chart))
        assert free.tolist() == grid.free_mask.ravel().tolist()
        seen += int(free.sum())
        assert set(places.storeys(middles).tolist()) == {storey}
        assert places.spot(middles[3]) == pytest.approx((*middles[3, :2], building.heights[storey]))
    assert seen == places.chart.free_mask.sum()


# ---- orders --------------------------------------------------------------------------------------------------------


def test_orders_change_as_the_table_says_and_the_urgent_ones_come_first() -> None:
    random, told = np.random.default_rng(5), []
    book = OrderBook(lambda number, begin, end: told.append((number, begin, end)))
    own: list[dict[str, Any]] = []
    for number in range(40):
        order = Order(pick="a", drop="b", priority=int(random.integers(3)), release=float(random.integers(6)), due=50.0)
        name = book.free_name() if number % 2 else f"own_{number}"
        assert book.add(name, order, (number, 1), 2.0) == number == book.number(name)
        assert name in (f"order_{number}", f"own_{number}")
        own.append({"state": "waiting", "since": None, "key": (-order.priority, max(order.release, 2.0), number)})
        book.release(number)
        own[-1]["waits"] = True
    for time in range(3, 900):
        number, (name, (begins, end)) = int(random.integers(40)), list(TRANSITIONS.items())[random.integers(11)]
        one = own[number]
        before = one["state"]
        if OrderState(before) not in begins or (name in ("cancel", "fail") and random.random() < 0.7):
            if OrderState(before) not in begins:
                with pytest.raises(StateError, match=f"cannot {name}"):
                    book.change(number, name, float(time))
            continue
        book.change(number, name, float(time), robot=f"r{time}" if name == "assign" else None, reason=name[:4])
        assert told[-1] == (number, OrderState(before), end)
        one |= {"state": end.value, "waits": end is OrderState.WAITING, end.value: float(time), "reason": name[:4]}
        if name == "assign":
            one["robot"] = f"r{time}"
        if end is OrderState.WAITING:
            one["assigned"] = None
        status = book.status(number, [str(place) for place in range(40)])
        ended = next((one[state] for state in ("done", "cancelled", "failed") if state in one), None)
        assert (status.state, status.assigned, status.picked, status.ended) == (
            end,
            one.get("assigned"),
            one.get("carrying"),
            ended,
        )
        assert (status.robot, status.reason, status.due) == (one.get("robot", ""), name[:4], 50.0)
        assert (status.stops, status.released) == ((str(number), "1"), one["key"][1])
        urgent = sorted(each["key"] for each in own if each["waits"])
        assert book.by_urgency().tolist() == [key[2] for key in urgent]
        states = [each["state"] for each in own]
        assert {state.value: count for state, count in book.counts.items() if count} == {
            state: states.count(state) for state in set(states)
        }
    assert len(set(states)) > 3 and len(told) > 100


def test_orders_of_files_say_what_their_lines_say(tmp_path: Path) -> None:
    table = tmp_path / "orders.csv"
    table.write_text(
        "id,pick,drop,stops,load,priority,release,due,lines\n"
        "first, shelf ,(1.5 -2),,7.5,3,10,99.5,\n"
        "\n"
        "round,,,a| (2 3) |b,,,,,\n"
        "items,,,,,,,,tea:2| sku:1:4\n"
    )
    found = dict(read_orders(table))
    assert found == {
        "line 2": Order(id="first", pick="shelf", drop=(1.5, -2.0), load=7.5, priority=3, release=10.0, due=99.5),
        "line 4": Order(id="round", stops=("a", (2.0, 3.0), "b")),
        "line 5": Order(id="items", lines=(("tea", 2), ("sku:1", 4))),
    }
    (tmp_path / "hall.tasks").write_text("2\n1,1,9,4\n11,0\n")
    (tmp_path / "hall.map").write_text("type octile\nheight 3\nwidth 4\nmap\n....\n....\n....\n")
    (tmp_path / "hall.agents").write_text("1\n0\n")
    files = {"mapFile": "hall.map", "agentFile": "hall.agents", "taskFile": "hall.tasks", "teamSize": 1}
    tasks = tmp_path / "hall.json"
    tasks.write_text(json.dumps(files))
    grid = Grid(np.ones((3, 4), bool), CELL, (1.0, 2.0, 0.0))
    # Cells are numbered along rows from the upper left one.
    middles = {0: (1.25, 3.25), 1: (1.75, 3.25), 4: (1.25, 2.75), 9: (1.75, 2.25), 11: (2.75, 2.25)}
    first, second = (order for _, order in read_task_orders(tasks, grid))
    assert np.array(first.stops) == pytest.approx(np.array([middles[cell] for cell in (1, 9, 4)]))
    assert np.array(second.stops) == pytest.approx(np.array([middles[cell] for cell in (11, 0)]))
    assert (first.id, second.id, first.pick_time, first.stop_time, first.drop_time) == (
        "task_0",
        "task_1",
        0.0,
        0.0,
        0.0,
    )
