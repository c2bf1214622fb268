"""Zones of version 3.0: blocked ones, speed limits, and those that need a release."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from master_control import errors, line, status
from vehicle_bench import VehicleBench, scenario

from fleet_sim.warehouse.vda5050.order import SPACING, VehicleZone, ZoneWork, places_on, zoned

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
    for number, known in enumerate(("z", "y")):
        bench.instant("enableZoneSet", f"again{number}", zoneSetId=known)
        assert status(bench.state(), f"again{number}") == "FAILED"
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


def test_a_zone_set_is_taken_once_and_deleted() -> None:
    bench = VehicleBench(scenario("3.0"))
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


RADIUS, START = 0.37, (-1.3, 0.4)
TURNS = np.array([(2.1, 1.9), (1.2, 4.3), (-2.6, 3.1)])
ZONES = [
    VehicleZone("slow", "SPEED_LIMIT", [(0.1, 0.2), (1.4, 0.6), (0.4, 1.9)], 0.4),
    VehicleZone("slower", "SPEED_LIMIT", [(0.9, 1.0), (2.3, 0.7), (1.7, 2.2)], 0.25),
    VehicleZone("gate", "RELEASE", [(1.0, 2.9), (2.6, 3.4), (0.3, 3.6), (-1.2, 4.6), (-1.0, 3.3)]),
    VehicleZone("home", "RELEASE", [(-1.6, 0.1), (-1.1, 0.0), (-1.2, 0.9)]),
    VehicleZone("beside", "RELEASE", [(4.0, 1.0), (5.0, 1.2), (4.4, 2.0)]),
]
"""One after the other along a way with corners, none along an axis; one is not convex, and one is far away."""


def away(point: Any, corners: Any) -> float:
    """Return how far a point is from a polygon; 0 inside, where its sides turn once around it."""
    sides = list(pairwise([*corners, corners[0]]))
    ways = [np.array(corner) - point for corner in corners]
    turned = [math.atan2(a[0] * b[1] - a[1] * b[0], float(a @ b)) for a, b in pairwise([*ways, ways[0]])]
    if abs(sum(turned)) > 3.0:
        return 0.0
    shares = np.linspace(0.0, 1.0, 301)[:, None]
    return min(float(np.linalg.norm((1 - shares) * a + shares * np.array(b) - point, axis=1).min()) for a, b in sides)


def test_a_way_changes_where_the_outline_of_the_vehicle_touches_zones() -> None:
    way = zoned(START, TURNS, ZONES, RADIUS)
    # On the way through the corners, all of which are kept, and between them not on any other.
    ends = [np.array(START), *way.points]
    number = 0
    for begin, end in pairwise([np.array(START), *TURNS]):
        along = (end - begin) / np.linalg.norm(end - begin)
        while not (ends[number + 1] == end).all():
            number += 1
            off = ends[number] - begin
            assert abs(off[0] * along[1] - off[1] * along[0]) < 1e-9 and 0.0 < off @ along < np.linalg.norm(end - begin)
        number += 1
    assert number == len(way.points) < 20
    for (begin, end), limit in zip(pairwise(ends), way.limits, strict=True):
        gaps = [
            (zone.speed, min(away(begin + share * (end - begin), zone.corners) for share in np.linspace(0.0, 1.0, 41)))
            for zone in ZONES[:2]
        ]
        # As slow as any zone that it touches, and not where it is a step away from all of them.
        assert limit <= min([speed for speed, gap in gaps if gap <= RADIUS], default=math.inf)
        assert limit >= min([speed for speed, gap in gaps if gap <= RADIUS + SPACING], default=math.inf)
    assert set(way.limits.tolist()) == {0.4, 0.25, math.inf}
    # It begins in one; the other one, which has a bay, is entered twice.
    assert [names for _, names in sorted(way.gates.items())] == [["home"], ["gate"], ["gate"]] and 0 in way.gates
    for place in sorted(way.gates)[1:]:
        # The last one before the zone, which the way enters behind it.
        assert RADIUS < away(ends[place], ZONES[2].corners) <= RADIUS + SPACING
        assert away(0.5 * (ends[place] + ends[place + 1]), ZONES[2].corners) < RADIUS
    places = places_on(START, TURNS)
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    whole = sum(float(np.linalg.norm(end - begin)) for begin, end in pairwise([np.array(START), *TURNS]))
    assert steps.sum() == pytest.approx(whole) and steps.min() > 0.9 * SPACING and steps.max() <= SPACING + 1e-12
    for zone in ZONES:
        touched = zone.touches(places, RADIUS)
        assert [abs(away(place, zone.corners) - RADIUS) < 1e-3 or bool(hit) == (away(place, zone.corners) < RADIUS)
                for place, hit in zip(places, touched, strict=True)] == [True] * len(places)  # fmt: skip
    # Three sides of each of the zones that are near, and five of the one that is not convex.
    corners = np.array([START, *TURNS])
    assert ZoneWork(ZONES, RADIUS).on(7.3, corners) == pytest.approx((7.3 / SPACING + 4) * (3 + 3 + 5 + 3))


def test_a_way_without_zones_is_itself() -> None:
    way = zoned(START, TURNS, [], RADIUS)
    assert (way.points == TURNS).all() and np.isinf(way.limits).all() and way.gates == {}
