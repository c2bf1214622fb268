"""What allocators are asked, against where robots are and what orders want."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depot import WatchedAllocator, depot, orders_of
from oracle_rows import holds

from fleet_sim.warehouse.orders import Request


@holds("api:Allocator.allocate", fault="warehouse/orders/allocation.py: orders on a robot's plan cost no way")
def test_allocators_are_asked_about_ways_loads_and_room(tmp_path: Path) -> None:
    weight, places = 0.37, [[5.5, 3.5], [0.5, 0.5], [13.5, 4.5]]
    allocation = {"type": "depot.WatchedAllocator", "queue": 3, "waiting_weight": weight, "consider": 4}
    stations = [("shelf_a", "dock"), ("shelf_b", "gate"), ("shelf_c", "dock"), ("shelf_a", "gate"), ("shelf_b", "dock")]
    listed = [
        {
            "id": f"o{index}",
            "stops": [pick, "desk", drop] if index % 3 == 1 else [pick, drop],
            "release": 0.5 * (index % 2) + 20.0 * (index // 10),
            "priority": index % 2,
        }
        | {"load": 7.0 * (index % 4), "due": 300.0 + index}
        for index, (pick, drop) in enumerate(stations * 6)
    ]
    robot = {"orders": {"max_load": 30.0}, "max_linear_vel": 1.3}
    section = {"list": listed, "allocation": allocation, "service": {"pick_time": 1.0, "drop_time": 1.5}}
    with depot(tmp_path, section, places, timestep=0.1, **robot) as sim:
        orders, asked = orders_of(sim), []
        by_name = {entry["id"]: entry for entry in listed}
        plans: dict[str, list[str]] = {agent.name: [] for agent in sim.agents}

        def changed(order: str, before: Any, state: Any, robot: str) -> None:
            for plan in plans.values():
                if order in plan:
                    plan.remove(order)
            if state.value == "assigned":
                plans[robot].append(order)

        sim.events.on("order_changed", changed)
        # Only the first one is strong.
        strongest = {agent.row: 30.0 if agent is sim.agents[0] else 15.0 for agent in sim.agents}
        for row, most in strongest.items():
            sim.features.table("orders").max_load[row] = most

        def number(name: str) -> int:
            return orders.places.number(name)

        def way(begin: str | np.ndarray, end: str) -> float:
            if isinstance(begin, str):
                return float(orders.places.between(np.array([number(begin)]), np.array([number(end)]))[0])
            return float(orders.places.lengths_from(begin[None], [number(end)])[0, 0])

        def along(stops: list[str]) -> float:
            return sum(way(begin, end) for begin, end in pairwise(stops))

        def look(request: Request) -> None:
            status = {name: orders.status(name) for name in orders.names}
            waits = [one for one in status.values() if one.state.value == "waiting" and one.released <= sim.sim_time]
            waits.sort(key=lambda one: (-by_name[one.id]["priority"], one.released, orders.book.number(one.id)))
            names = [orders.names[order] for order in request.orders]
            assert names == [one.id for one in waits][:4]
            assert request.priority.tolist() == [by_name[name]["priority"] for name in names]
            assert request.due.tolist() == [by_name[name]["due"] for name in names]
            assert request.release.tolist() == [by_name[name]["release"] for name in names]
            stops = {name: by_name[name]["stops"] for name in orders.names}
            assert [orders.places.names[place] for place in request.begins] == [stops[name][0] for name in names]
            assert [orders.places.names[place] for place in request.ends] == [stops[name][-1] for name in names]
            assert request.lengths == pytest.approx([along(stops[name]) for name in names])
            for index, row in enumerate(request.rows.tolist()):
                agent = sim.world.handles[row]
                works = ("driving", "picking", "carrying", "dropping")
                has = [one for one in status.values() if one.robot == agent.name and one.state.value in works]
                at: Any = agent.position
                left = 0.0
                if has:
                    rest = stops[has[0].id]
                    if has[0].state.value in works[2:]:
                        # Which of its stops are behind it is not told; those with two have only the last one ahead.
                        if len(rest) > 2 and has[0].state.value == "carrying":
                            continue
                        rest = rest[-1:]
                    left = way(at, rest[0]) + along(rest)
                    at = rest[-1]
                assert request.left[index] == pytest.approx(left, abs=2e-9)
                own = plans[agent.name]
                assert request.plans[index] == [(number(stops[name][0]), number(stops[name][-1])) for name in own]
                assert request.free[index] == 3 - len(own) - len(has)
                goals = np.array([number("dock"), number("shelf_c")])
                assert request.reach(index, goals) == pytest.approx([way(at, "dock"), way(at, "shelf_c")])
                for name in own:
                    left += way(at, stops[name][0]) + along(stops[name])
                    at = stops[name][-1]
                for place, name in enumerate(names):
                    cost = left + way(at, stops[name][0]) - weight * (sim.sim_time - by_name[name]["release"])
                    cost = np.inf if by_name[name]["load"] > strongest[row] else cost
                    assert request.costs[index, place] == pytest.approx(cost, abs=1e-6)
            asked.append((len(names), int(np.isinf(request.costs).any()), max(map(len, plans.values()))))

        WatchedAllocator.look = look
        while sim.sim_time < 150.0:
            sim.step_once()
        kinds = np.array(asked)
        assert len(kinds) > 4 and kinds[:, 0].max() == 4 and kinds[:, 1].any() and kinds[:, 2].max() == 2
        assert sim.world.guard.counts == {}
