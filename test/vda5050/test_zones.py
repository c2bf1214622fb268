"""Zones of version 3.0: blocked ones, speed limits, and those that need a release."""

from __future__ import annotations

import math
from typing import Any

import pytest
from master_control import errors, line, status
from vehicle_bench import VehicleBench, scenario

WAY = [(0.0, 0.0), (10.0, 0.0), (10.0, 4.0)]


def box(name: str, kind: str, x1: float, x2: float, **other: Any) -> dict[str, Any]:
    """A zone across the way."""
    corners = [(x1, -1.0), (x2, -1.0), (x2, 1.0), (x1, 1.0)]
    return {"zoneId": name, "zoneType": kind, "vertices": [{"x": x, "y": y} for x, y in corners], **other}


def with_zones(*zones: dict[str, Any]) -> VehicleBench:
    bench = VehicleBench(scenario("3.0"))
    assert bench.send("zoneSet", {"zoneSet": {"mapId": "map", "zoneSetId": "z", "zones": list(zones)}}) == {}
    assert bench.state()["zoneSets"][0]["zoneSetStatus"] == "DISABLED"
    bench.instant("enableZoneSet", "on", zoneSetId="z")
    assert bench.state()["zoneSets"][0]["zoneSetStatus"] == "ENABLED"
    return bench


def answer(bench: VehicleBench, grant: str, **other: Any) -> dict[str, str]:
    (request,) = bench.state()["zoneRequests"]
    entry = {"requestId": request["requestId"], "grantType": grant, **other}
    return bench.send("responses", {"responses": [entry]})


def test_a_way_through_a_blocked_zone_is_refused_and_another_one_taken() -> None:
    bench = with_zones(box("wall", "BLOCKED", 4.0, 5.0))
    assert "a" in bench.order(line("o", WAY))
    assert errors(bench.state()) == ["NO_ROUTE_TO_TARGET"]
    assert "500 m" in bench.order(line("far", [(0.0, 0.0), (0.0, 600.0)]))["a"]
    assert bench.order(line("o", [(0.0, 0.0), (0.0, 3.0), (8.0, 3.0)])) == {}
    bench.instant("enableZoneSet", "again", zoneSetId="z")
    assert status(bench.state(), "again") == "FAILED"
    bench.arrive("n2")
    inside = with_zones(box("here", "BLOCKED", -1.0, 1.0))
    assert errors(inside.state()) == ["BLOCKED_ZONE_VIOLATION"]


def test_a_speed_limit_holds_inside_its_zone_only() -> None:
    bench = with_zones(box("slow", "SPEED_LIMIT", 4.0, 6.0, maximumSpeed=0.3))
    bench.order(line("o", WAY))
    inside, outside = 0.0, 0.0
    while bench.state()["lastNodeId"] == "n0":
        bench.sim.step_once()
        x, speed = bench.vehicle.place[0], bench.vehicle.velocity[0]
        if 3.8 < x < 6.2:
            inside = max(inside, speed)
        outside = max(outside, speed)
    assert 0.25 < inside <= 0.3 + 1e-6
    assert outside == pytest.approx(1.0)
    bench.arrive("n2")


def test_a_zone_is_entered_with_a_release_and_the_request_goes_when_it_is_left() -> None:
    bench = with_zones(box("gate", "RELEASE", 4.0, 6.0))
    bench.order(line("o", WAY))
    assert bench.state()["zoneRequests"][0]["requestStatus"] == "REQUESTED"
    answer(bench, "QUEUED")
    bench.run(lambda state: state["mobileRobotPosition"]["x"] > 3.0 and not state["driving"])
    for _ in range(20):
        bench.sim.step_once()
    # Its outline, a circle of 0.36 m, is still outside.
    assert 3.4 < bench.place[0] < 3.65
    answer(bench, "GRANTED")
    assert bench.state()["zoneRequests"][0]["requestStatus"] == "GRANTED"
    bench.run(lambda state: not state["zoneRequests"])
    assert bench.place[0] > 6.3
    bench.arrive("n2")
    assert "a" in bench.send("responses", {"responses": [{"requestId": "none", "grantType": "GRANTED"}]})


def test_a_release_in_time_lets_it_pass_and_one_that_is_lost_inside_stops_it() -> None:
    bench = with_zones(box("gate", "RELEASE", 4.0, 6.0))
    bench.order(line("o", WAY))
    answer(bench, "GRANTED")
    slowest = 1.0
    while bench.place[0] < 4.5:
        bench.sim.step_once()
        slowest = slowest if bench.place[0] < 2.0 else min(slowest, bench.vehicle.velocity[0])
    assert slowest > 0.9
    answer(bench, "REVOKED")
    state = bench.run(lambda state: not state["driving"])
    assert (errors(state), state["zoneRequests"][0]["requestStatus"]) == (["RELEASE_LOST"], "REVOKED")
    assert bench.place[0] < 6.0
    answer(bench, "GRANTED")
    assert errors(bench.state()) == []
    bench.arrive("n2")


def test_a_lease_that_ends_before_the_zone_is_asked_for_again() -> None:
    bench = with_zones(box("gate", "RELEASE", 4.0, 6.0))
    bench.order(line("o", WAY))
    first = bench.state()["zoneRequests"][0]["requestId"]
    # In the past, as messages of the bench come at the beginning of the time.
    answer(bench, "GRANTED", leaseExpiry="1970-01-01T00:00:02.00Z")
    bench.run(lambda state: state["zoneRequests"] and state["zoneRequests"][0]["requestId"] != first)
    bench.run(lambda state: state["mobileRobotPosition"]["x"] > 3.0 and not state["driving"])
    assert bench.place[0] < 3.65
    assert "a" in answer(bench, "GRANTED", leaseExpiry="tomorrow")
    answer(bench, "REJECTED")
    assert "NODE_UNREACHABLE" in errors(bench.state())
    bench.instant("cancelOrder", "c")
    assert bench.run(lambda state: status(state, "c") == "FINISHED")["zoneRequests"] == []


def test_zones_that_vehicles_cannot_keep_to_are_refused() -> None:
    bench = VehicleBench(scenario("3.0"))
    for zone in (
        box("p", "PENALTY", 1.0, 2.0),
        box("r", "RELEASE", 1.0, 2.0, releaseLossBehavior="EVACUATE"),
        box("s", "SPEED_LIMIT", 1.0, 2.0),
    ):
        zones = {"mapId": "map", "zoneSetId": "z", "zones": [zone]}
        assert "a" in bench.send("zoneSet", {"zoneSet": zones})
    good = {"zoneSet": {"mapId": "map", "zoneSetId": "z", "zones": []}}
    assert bench.send("zoneSet", good) == {}
    assert "a" in bench.send("zoneSet", good)
    assert errors(bench.state())[-1] == "DUPLICATE_ZONE_SET"
    bench.instant("deleteZoneSet", "d", zoneSetId="z")
    assert bench.state()["zoneSets"] == []


def test_zones_and_orders_of_a_size_that_would_hold_up_the_world_are_refused() -> None:
    ring = [{"x": 3.0 + 2.0 * math.cos(0.01 * i), "y": 2.0 * math.sin(0.01 * i)} for i in range(628)]
    bench = with_zones(*({"zoneId": f"z{k}", "zoneType": "RELEASE", "vertices": ring} for k in range(3)))
    there_and_back = [(0.0, 0.0), (100.0, 0.0)] * 2
    assert "comparisons" in bench.order(line("o", there_and_back))["a"]
    # Also where it comes bit by bit: what is not driven yet counts.
    assert bench.order(line("o", there_and_back[:2])) == {}
    assert "comparisons" in bench.order(line("o", there_and_back[1::-1], update=1, first=1))["a"]
    zigzag = line("z", [(0.0, 0.0), (10.0, 0.0)])
    points = [{"x": 0.0, "y": 0.0}, *({"x": (-1) ** i * 100.0, "y": 0.1 * i} for i in range(98)), {"x": 10.0, "y": 0.0}]
    zigzag["edges"][0]["trajectory"] = {"degree": 1, "controlPoints": points, "knotVector": knots(100)}
    bench.instant("cancelOrder", "c")
    bench.run(lambda state: status(state, "c") == "FINISHED")
    assert "500 m" in bench.order(zigzag)["a"]


def knots(count: int) -> list[float]:
    return [0.0, *(i / (count - 1) for i in range(count)), 1.0]
