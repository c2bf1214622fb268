"""What allocators and policies of pods are asked, against where robots and pods are and what orders want."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depot import WatchedAllocator, depot, orders_of
from networks import dijkstra
from oracle_rows import holds
from pod_floor import Watched, scenario

from fleet_sim.warehouse.orders import Request
from fleet_sim.warehouse.orders.pods.pods import PodRequest, ReplenishRequest, StorageRequest


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


@holds("api:PodChoice.choose", fault="warehouse/orders/pods/pods.py: items that other pods bring are wanted as well")
@pytest.mark.parametrize("seed", [2, 5])
def test_policies_of_pods_are_asked_about_what_is_there_and_wanted(tmp_path: Path, seed: int) -> None:
    own = {"choice": {"type": "pod_floor.WatchedPod"}, "place": {"type": "pod_floor.WatchedPlace"}}
    pods = {"count": 14, "skus": 6, "kinds": 2, "items": [2, 3], "queue": 2, "open_orders": 3, "capacity": 11, **own}
    pods["replenishment"] = {"type": "pod_floor.WatchedStock", "options": {"below": 0.9}}
    demand = {"per_hour": [9000], "end": 20, "lines": [1, 3], "quantity": [1, 3]}
    with scenario(tmp_path, pods, orders={"arrivals": [demand]}, simulation={"seed": seed}) as sim:
        orders = sim.get_manager("orders")
        counter, storage, crew, stock = (orders.pods.counter, orders.pods.storage, orders.pods.crew, orders.pods.stock)
        seen = {PodRequest: 0, StorageRequest: 0, ReplenishRequest: 0}
        rounds = set[int]()
        kinds, filled = len(stock.skus), 0

        def sums(lines: Any) -> list[int]:
            return [sum(count for sku, count in lines if sku == kind) for kind in range(kinds)]

        def look(request: Any) -> None:
            seen[type(request)] += 1
            visits = list(crew.visits.values())
            brings = [claim for visit in visits for claim in [*visit.claims, *filter(None, [visit.serving])]]
            promised = {
                pod: sums([(claim.sku, claim.items) for visit in visits if visit.pod == pod and not visit.fills
                           for claim in [*visit.claims, *filter(None, [visit.serving])]])
                for pod in range(len(stock.held))
            }  # fmt: skip
            if isinstance(request, PodRequest):
                rounds.add(sim.step_count)
                # One of the workstations needs that: what no pod is to bring yet.
                benches = []
                for place, bench in counter.benches.items():
                    lines = [(line.sku, line.left) for line in bench.lines]
                    coming = [
                        (claim.sku, -claim.items)
                        for visit in visits
                        if visit.station == place and not visit.fills
                        for claim in [*visit.claims, *filter(None, [visit.serving])]
                    ]
                    if sums(lines + coming) == request.wanted.tolist():
                        benches.append(bench)
                assert benches
                stored = [pod for pod in storage.owner.tolist() if pod >= 0 and pod not in [v.pod for v in visits]]
                free = {pod: stock.held[pod] - promised[pod] for pod in stored}
                useful = [pod for pod in stored if np.minimum(free[pod], request.wanted).sum() > 0]
                assert set(request.pods.tolist()) <= set(useful)
                at = [storage.owner.tolist().index(pod) for pod in request.pods.tolist()]
                for index, pod in enumerate(request.pods.tolist()):
                    assert request.held[index].tolist() == free[pod].tolist()
                    assert request.items[index] == np.minimum(free[pod], request.wanted).sum()
                begins = np.array([counter.places[place] for place in at])
                found = [orders.places.between(begins, np.full(len(at), bench.place)) for bench in benches]
                assert any(request.lengths == pytest.approx(lengths) for lengths in found)
            elif isinstance(request, StorageRequest):
                (visit,) = (visit for visit in visits if visit.pod == request.pod)
                places = np.flatnonzero((storage.owner < 0) | (storage.owner == request.pod))
                free_points = storage.points[places].tolist()
                assert all(point in free_points for point in request.points.tolist())
                assert (
                    storage.owner[storage.points.tolist().index(request.points[request.original].tolist())] == visit.pod
                )
                # With a pod it drives around other pods, and where the last plan knew of it around its own place.
                network = sim.get_manager("traffic").network
                (start,) = network.node_at(sim.world.position[[visit.row], :2]).tolist()
                bodies = [sim.get_object(name) for name in orders.pods.shelves.names]
                stands = np.array([body.position[:2] for body in bodies if body.attached_to is None])
                shut = [np.isin(np.arange(len(network)), network.node_at(points)) for points in
                        (stands, storage.points[storage.owner >= 0])]  # fmt: skip
                for end, length in zip(network.node_at(request.points).tolist(), request.lengths.tolist(), strict=True):
                    low, high = (dijkstra(network, end, closed)[start] for closed in shut)
                    assert low <= length and (high < 0 or length <= high)
                assert request.held.tolist() == stock.held[visit.pod].tolist()
            else:
                short = [line for order in counter.short for line in counter.lines_of(orders.book.orders[order])]
                open_lines = [(line.sku, line.left) for bench in counter.benches.values() for line in bench.lines]
                taken = [(claim.sku, -claim.items) for claim in brings if claim.order >= 0]
                assert request.asked.tolist() == sums(short + open_lines + taken)
                assert request.held.tolist() == stock.held.sum(axis=0).tolist()
                pods_left = (storage.owner >= 0).sum()
                assert request.room == max(0, 11 * pods_left - int(request.held.sum() + request.coming.sum()))

        Watched.look = look
        while sim.sim_time < 200.0:
            before, rooms = set(crew.visits), 11 - stock.held.sum(axis=1)
            busy = {visit.pod for visit in crew.visits.values()}
            sim.step_once()
            for row in set(crew.visits) - before:
                visit = crew.visits[row]
                if visit.fills and len(set(crew.visits) - before) == 1:
                    # Those that come in go to a pod with most room.
                    filled += 1
                    assert rooms[visit.pod] == max(rooms[pod] for pod in range(len(rooms)) if pod not in busy)
        assert min(seen.values()) > 4 and filled > 1 and orders.delivered > 5
        # Once a second, in steps of 0.2 s.
        assert {step % 5 for step in rounds} == {min(rounds) % 5}
        assert sim.world.guard.counts == {}
        # Pods wait at the nearest places from which they get to their station past all storage places, some steps off.
        network, place_of = sim.get_manager("traffic").network, orders.places
        stored = np.isin(np.arange(len(network)), network.node_at(storage.points))
        taken = {int(node) for node in network.node_at(np.array([place_of.points[place][:2] for place in range(4)]))}
        for place, bench in counter.benches.items():
            (end,) = network.node_at(np.array([place_of.points[place][:2]])).tolist()
            steps = dijkstra(network, end, stored)
            near = [node for node in range(len(network)) if steps[node] >= 2 and not stored[node] and node not in taken]
            near.sort(key=lambda node: (steps[node], node))
            waits = network.node_at(np.array([place_of.points[wait][:2] for wait in bench.waits])).tolist()
            assert waits == near[:2]
            taken |= set(waits)
