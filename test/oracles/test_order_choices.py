"""Who serves what, who charges, which pod comes, and what is ordered: each choice against one made by trying all."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from depot import MAP, depot, orders_of
from oracle_rows import holds

from fleet_sim.warehouse.orders import Request
from fleet_sim.warehouse.orders.allocation import make_allocator
from fleet_sim.warehouse.orders.charging import ChargingRequest, make_policy
from fleet_sim.warehouse.orders.pods.pods import POD_CHOICES, REPLENISHMENTS, PodRequest, ReplenishRequest
from fleet_sim.warehouse.orders.settings import ItemDraws


@holds("api:Auction.allocate", fault="warehouse/orders/allocation.py: the way on from the order is not counted")
@pytest.mark.parametrize("seed", range(20))
def test_the_auction_sells_each_order_where_it_lengthens_the_way_to_it_least(seed: int) -> None:
    random = np.random.default_rng(seed)
    places, robots, orders = random.uniform(0.0, 50.0, (12, 2)), 3, 4
    # From each place to each other one, not the same both ways; the last one cannot be reached at the moment.
    ways = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)) * random.uniform(1.0, 1.3, (12, 12))
    ways[11, :11] = ways[:11, 11] = math.inf
    plans = [
        [tuple(random.integers(0, 12, 2).tolist()) for _ in range(count)] for count in random.integers(0, 3, robots)
    ]
    at, left = (
        random.integers(0, 11, robots),
        np.where(random.random(robots) < 0.5, 0.0, random.uniform(1.0, 30.0, robots)),
    )
    begins, ends = random.integers(0, 11, (2, orders))
    costs = random.uniform(1.0, 60.0, (robots, orders))
    costs[random.random(costs.shape) < 0.1] = math.inf
    free = random.integers(0, 4, robots)
    asked = Request(
        rows=np.arange(robots),
        orders=np.arange(orders),
        costs=costs,
        free=free.copy(),
        plans=plans,
        begins=begins,
        ends=ends,
        lengths=ways[begins, ends],
        left=left,
        reach=lambda robot, goals: ways[at[robot], goals],
        between=lambda starts, goals: ways[starts, goals],
        priority=np.zeros(orders, np.int64),
        release=np.zeros(orders),
        due=np.full(orders, math.inf),
        now=0.0,
    )
    found = make_allocator("auction", {}).allocate(asked)
    own, expected = [list(plan) for plan in plans], []
    for order in range(orders):
        begin, end = int(begins[order]), int(ends[order])
        bids = []
        idle = []
        for robot in range(robots):
            if not free[robot] or math.isinf(costs[robot, order]):
                continue
            if left[robot] <= 0.0 and not own[robot]:
                idle.append((costs[robot, order], robot))
                continue
            for place in range(len(own[robot]) + 1):
                # What is driven until the order is fetched, and how much farther it then is to the next one. Ways
                # within orders are the same for all places, and not counted.
                stops, way = [(at[robot], at[robot]), *own[robot]], float(left[robot])
                for (_, here), (there, _) in pairwise(stops[: place + 1]):
                    way += ways[here, there]
                here = stops[place][1]
                way += ways[here, begin]
                if place < len(own[robot]):
                    there = own[robot][place][0]
                    # Where no way leads on, that is no place for it.
                    cut = ways[here, there]
                    way = way + ways[end, there] - cut if math.isfinite(cut) else math.inf
                bids.append((way, 1, robot, place))
        if idle:
            # Of those with nothing to do the one with the least costs bids.
            robot = min(idle)[1]
            bids.append((float(ways[at[robot], begin]), 0, robot, 0))
        if bids and math.isfinite(min(bids)[0]):
            _, _, robot, place = min(bids)
            own[robot].insert(place, (begin, end))
            free[robot] -= 1
            expected.append((robot, order, place))
    assert [tuple(sale) for sale in found] == expected


@holds(
    "api:ChargingPolicy.go", "api:ChargingPolicy.leave", fault="warehouse/orders/charging.py: the fullest top up first"
)
@pytest.mark.parametrize("seed", range(30))
def test_robots_charge_that_must_and_the_emptiest_of_those_that_may(seed: int) -> None:
    random = np.random.default_rng(seed)
    levels = random.permutation(np.linspace(0.02, 1.0, 12)).round(3)
    idle, waiting, chargers = random.random(12) < 0.6, int(random.integers(0, 2)), int(random.integers(0, 7))
    request = ChargingRequest(np.arange(12), levels, idle, ~idle, waiting, chargers)
    low, full, top_up, enough = 0.27, 0.93, 0.71, 0.44
    plain = make_policy("threshold", {"low": low, "full": full})
    assert plain.go(request).tolist() == [level < low for level in levels]
    assert plain.leave(request).tolist() == [level >= full for level in levels]
    keen = make_policy("opportunity", {"low": low, "full": full, "top_up": top_up, "enough": enough})
    go = {robot for robot in range(12) if levels[robot] < low}
    may = sorted(
        (robot for robot in range(12) if idle[robot] and low <= levels[robot] < top_up), key=lambda r: levels[r]
    )
    go |= set(may[: max(chargers - len(go), 0)]) if not waiting else set()
    assert set(np.flatnonzero(keen.go(request)).tolist()) == go
    assert keen.leave(request).tolist() == [level >= full or (waiting > 0 and level >= enough) for level in levels]


@holds(
    "api:ReplenishPolicy.order",
    "api:PodChoice.choose",
    fault="warehouse/orders/pods/pods.py: what comes is not counted",
)
@pytest.mark.parametrize("seed", range(30))
def test_what_is_low_is_filled_up_and_the_pod_with_most_lines_comes(seed: int) -> None:
    random = np.random.default_rng(seed)
    held, coming, target, asked = random.integers(0, 20, (4, 7))
    room, below = int(random.integers(0, 50)), 0.63
    request = ReplenishRequest(held, coming, target, asked, room, 0.0)
    expected, left = [], room
    for has, comes, first, wanted in zip(*(values.tolist() for values in (held, coming, target, asked)), strict=True):
        stock = has + comes
        short = max(first, wanted) - stock if stock < below * first or stock < wanted else 0
        expected.append(min(max(short, 0), left))
        left -= expected[-1]
    assert REPLENISHMENTS.make("threshold", {"below": below}).order(request).tolist() == expected
    assert not REPLENISHMENTS.make("never", {}).order(request).any()
    lines, items = random.integers(0, 3, (2, 9))
    lengths = random.permutation(9).astype(float)
    none = np.zeros((9, 1), np.int64)
    pods = PodRequest(np.arange(9), lengths, lines, items, none, none[0], 0.0)
    best = max(range(9), key=lambda pod: (lines[pod], items[pod], -lengths[pod]))
    assert POD_CHOICES.make("most_lines", {}).choose(pods) == best
    assert POD_CHOICES.make("nearest", {}).choose(pods) == int(lengths.argmin())


# ---- where and when ------------------------------------------------------------------------------------------------


def dijkstra(free: np.ndarray, goal: tuple[int, int]) -> dict[tuple[int, int], float]:
    """Lengths of ways over middles of free cells of 1 m to one of them, straight and diagonal, not past corners."""
    best, queue = {goal: 0.0}, [(0.0, goal)]
    rows, columns = free.shape

    def is_free(row: int, column: int) -> bool:
        return 0 <= row < rows and 0 <= column < columns and bool(free[row, column])

    while queue:
        cost, (row, column) = heapq.heappop(queue)
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                other = (row + down, column + right)
                beside = is_free(row + down, column) and is_free(row, column + right)
                new = cost + math.hypot(down, right)
                if is_free(*other) and beside and new < best.get(other, math.inf) - 1e-12:
                    best[other] = new
                    heapq.heappush(queue, (new, other))
    return best


@holds("api:OrderPlaces.lengths_from", fault="warehouse/orders/places.py: rows and columns of a place are exchanged")
def test_lengths_between_stations_and_robots_are_those_of_the_shortest_ways(tmp_path: Path) -> None:
    lines = MAP.split("rows: |\n")[1].split("stations")[0].split()
    free = np.array([[letter == "." for letter in line] for line in lines])
    cells = [tuple(cell) for cell in np.argwhere(free).tolist()]
    spots = np.array([(column + 0.5, len(lines) - row - 0.5, 0.15) for row, column in cells])
    with depot(tmp_path) as sim:
        places = orders_of(sim).places
        numbers = list(range(len(places.stations)))
        found = places.lengths_from(spots, numbers)
        at = {
            number: (len(lines) - 1 - int(places.points[number][1]), int(places.points[number][0]))
            for number in numbers
        }
        reached = 0
        for number in numbers:
            expected = dijkstra(free, at[number])
            assert found[:, number] == pytest.approx([expected.get(cell, math.inf) for cell in cells], rel=1e-6)
            reached += len(expected) > 1
        # One of the stations is walled in.
        assert reached == len(numbers) - 1
        begins, ends = np.array([0, 1, 3]), np.array([4, 2, 0])
        between = [dijkstra(free, at[int(end)])[at[int(begin)]] for begin, end in zip(begins, ends, strict=True)]
        assert places.between(begins, ends) == pytest.approx(between, rel=1e-6)
        assert places.length_of([0, 4, 1, 2]) == pytest.approx(
            sum(dijkstra(free, at[end])[at[begin]] for begin, end in ((0, 4), (4, 1), (1, 2))), rel=1e-6
        )


def mean_of(values: Sequence[float]) -> float:
    return sum(values) / len(values)


@holds("api:OrderStatus.released", fault="warehouse/orders/settings.py: gaps are the squares of those of the process")
def test_orders_come_as_a_process_without_memory_in_the_hours_of_the_profile(tmp_path: Path) -> None:
    profile = [0.0] * 24
    profile[23], profile[0], profile[1] = 900.0, 300.0, 600.0
    stream = {
        "per_hour": profile,
        "start_hour": 23.5,
        "begin": 600.0,
        "end": 7200.0,
        "load": [10.0, 40.0],
        "due_after": 250.0,
        "priority": 3,
        "pick": {"shelf_a": 2.0, "pick": 1.0, "shelf_c": 0.0},
    }
    with depot(tmp_path, {"arrivals": [stream]}, at=[], timestep=10.0) as sim:
        sim.run_simulation(duration=9000.0)
        orders = orders_of(sim)
        known = [(orders.status(name), orders.book.orders[orders.book.number(name)]) for name in orders.names]
    times = np.array([order.release for _, order in known])
    counts = np.histogram(times, [0.0, 600.0, 1800.0, 5400.0, 7200.0, 9e9])[0]
    # Half an hour from half past eleven on, less ten minutes; the hour from midnight; half of the next one.
    for count, mean in zip(counts, (0.0, 900.0 / 3.0, 300.0, 600.0 / 2.0, 0.0), strict=True):
        assert abs(count - mean) <= 4.0 * math.sqrt(mean)
    gaps = np.diff(times[(times > 1800.0) & (times < 5400.0)])
    # Of exponential gaps the mean is 12 s, as is the deviation; of evenly spread ones it would be smaller.
    assert mean_of(gaps.tolist()) == pytest.approx(12.0, rel=0.25) and gaps.std() == pytest.approx(12.0, rel=0.3)
    loads = np.array([order.load for _, order in known])
    assert loads.min() >= 10.0 and loads.max() <= 40.0
    assert loads.mean() == pytest.approx(25.0, abs=1.2) and loads.std() == pytest.approx(30.0 / math.sqrt(12), abs=0.8)
    assert {order.priority for _, order in known} == {3}
    assert [order.due - order.release for _, order in known] == pytest.approx([250.0] * len(known))
    # What is named twice has its last weight.
    picks = [status.stops[0] for status, _ in known]
    assert set(picks) == {"shelf_a", "shelf_b"} and len(times) == len(orders.names)


@holds("api:Order.lines", fault="warehouse/orders/settings.py: a sku may come twice; quantities are one too small")
def test_lines_at_random_have_different_items_as_often_as_their_weights_say() -> None:
    weights = {"tea": 5.0, "nuts": 0.0, "jam": 2.0, "salt": 1.0, "oil": 2.0}
    draws = [ItemDraws(list(weights), weights, (1, 3), (2, 5), 77).draw(number) for number in range(1, 3001)]
    sizes = np.bincount([len(lines) for lines in draws], minlength=4)
    assert sizes[0] == 0 and sizes[1:] == pytest.approx(1000.0, abs=110.0) and len(sizes) == 4
    counts = np.bincount([items for lines in draws for _, items in lines])
    assert counts[:2].sum() == 0 and len(counts) == 6 and counts[2:] == pytest.approx(1500.0, abs=160.0)
    assert all(len({sku for sku, _ in lines}) == len(lines) for lines in draws)
    firsts = [lines[0][0] for lines in draws]
    for sku, weight in weights.items():
        assert firsts.count(sku) == pytest.approx(300.0 * weight, abs=4.0 * math.sqrt(300.0 * weight))
    # Of what is left, again by its weights.
    seconds = [lines[1][0] for lines in draws if len(lines) > 1 and lines[0][0] == "tea"]
    assert seconds.count("salt") == pytest.approx(0.2 * len(seconds), abs=4.0 * math.sqrt(0.16 * len(seconds)))
