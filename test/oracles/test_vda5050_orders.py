"""Where the limits of orders are, and how edges are driven: places, headings and speeds worked out from the order."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from master_control import action, errors, line, node, status
from oracle_rows import holds
from vehicle_bench import VehicleBench, scenario

X, Y, Z, YAW = 1.3, -0.8, 0.17, 0.7
BODY = {"shape_type": "box", "half_extents": [0.3, 0.45, 0.11]}
SLACK, TURN = 0.23, 0.07
"""Tolerances of places in m and of headings in rad."""


def bench_of(drive: str, version: str = "2.1") -> VehicleBench:
    """Return one vehicle that stands turned and off the origin."""
    controller = {"type": drive, "max_linear_vel": 0.9, "max_linear_accel": 3.0, "max_angular_vel": 1.1}
    fleet = {"node_tolerance": SLACK, "heading_tolerance": TURN}
    robot = {"pose": [X, Y, Z, YAW], "shape": BODY, "controller": controller}
    return VehicleBench(scenario(version, robot=robot, simulation={"timestep": 0.05}, fleet=fleet))


def at(distance: float, angle: float, origin: tuple[float, float] = (X, Y)) -> tuple[float, float]:
    """Return a place by its distance and direction."""
    return origin[0] + distance * math.cos(angle), origin[1] + distance * math.sin(angle)


def taken(bench: VehicleBench, order: dict[str, Any]) -> bool:
    """Return whether an order is accepted; a vehicle that takes one is left with no order again."""
    refused = bench.order(order)
    if not refused:
        bench.instant("cancelOrder", f"c{bench.sim.step_count}")
        bench.run(
            lambda state: not state["nodeStates"] and bench.vehicle.is_idle and not bench.vehicle.state.cancelling
        )
        bench.vehicle.agent.set_pose(bench.vehicle.agent.get_pose())
    return not refused


def edge_of(length: float, angle: float, **edge: Any) -> dict[str, Any]:
    """Return an order with one edge from the vehicle on."""
    order = line(f"o{length}{angle}{sorted(edge.items(), key=str)}", [(X, Y), at(length, angle)])
    order["edges"][0] |= edge
    return order


@holds(
    "api:vda5050.allowedDeviationXY",
    fault="warehouse/vda5050/driving.py: the ellipse is turned the other way; the larger half axis is taken for both",
)
def test_a_vehicle_is_at_a_node_within_its_ellipse_or_its_own_tolerance() -> None:
    bench = bench_of("differential")
    a, b, angle = 0.9, 0.4, 0.6
    for number, (away, direction) in enumerate(
        [(SLACK, 2.1), (a, angle), (a, angle + math.pi), (b, angle + 0.5 * math.pi), (b, angle - 0.5 * math.pi)]
    ):
        for factor, good in ((0.97, True), (1.03, False)):
            begin = at(factor * away, direction)
            order = line(f"o{number}{good}", [begin, at(1.0, 2.0, begin)])
            if number:
                ellipse = {"a": a, "b": b, "theta": angle}
                order["nodes"][0]["nodePosition"]["allowedDeviationXY"] = ellipse
            fresh = bench_of("differential", "3.0") if number else bench
            assert taken(fresh, order) is good, (away, direction, factor)
            assert good or errors(fresh.state())[-1] in ("noRouteError", "START_NODE_OUT_OF_RANGE")
            bench = bench_of("differential")


def test_a_curve_passes_the_nodes_at_its_ends() -> None:
    for number, end in enumerate((0, -1)):
        for factor, good in ((0.96, True), (1.04, False)):
            order = edge_of(2.0, 0.9)
            points = [(X, Y), at(1.0, 1.4), at(2.0, 0.9)]
            points[end] = at(factor * SLACK, 2.5, points[end])
            controls = [{"x": x, "y": y} for x, y in points]
            order["edges"][0]["trajectory"] = {"degree": 2, "knotVector": [0, 0, 0, 1, 1, 1], "controlPoints": controls}
            assert taken(bench_of("differential"), order) is good, (number, factor)


def test_what_a_vehicle_cannot_do_is_refused_from_its_limits_on() -> None:
    """Forwards and backwards within its tolerance, no faster turns than it makes, and the height that it has."""
    top = Z + 0.11
    way = 0.9
    cases: list[tuple[dict[str, Any], bool]] = []
    for middle in (0.0, math.pi):
        for off, good in ((0.9 * TURN, True), (-0.9 * TURN, True), (1.1 * TURN, False), (-1.1 * TURN, False)):
            heading = math.remainder(middle + off, 2.0 * math.pi)
            cases.append(({"orientation": heading}, good))
            there = math.remainder(way + heading, 2.0 * math.pi)
            cases.append(({"orientation": there, "orientationType": "GLOBAL"}, good))
    cases += [({"maxRotationSpeed": 1.1}, True), ({"maxRotationSpeed": 1.09}, False)]
    cases += [({"maxHeight": top + 1e-3}, True), ({"maxHeight": top - 1e-3}, False)]
    cases += [({"minHeight": 0.0}, True), ({"minHeight": 0.1}, False)]
    cases += [({"maxSpeed": 2e-3}, True), ({"maxSpeed": 0.5e-3}, False)]
    bench = bench_of("differential")
    for number, (edge, good) in enumerate(cases):
        order = edge_of(2.0, way, **edge) | {"orderId": f"o{number}"}
        # Each begins where the vehicle is: those that are taken are cancelled before it has moved far.
        order["nodes"][0]["nodePosition"] |= {"allowedDeviationXY": 0.9}
        assert taken(bench, order) is good, edge


@holds("api:vda5050.orientationType", fault="warehouse/vda5050/driving.py: TANGENTIAL headings are those on the map")
def test_headings_speeds_and_lines_of_edges_are_those_of_the_order() -> None:
    """A vehicle that drives sideways: on each edge one heading, one speed, and no other place than its line."""
    bench = bench_of("omni")
    corners = [(X, Y), (3.1, 0.4), (2.2, 2.6), (-0.7, 1.9)]
    order = line("o", corners)
    order["edges"][0] |= {"maxSpeed": 0.61, "orientation": -0.4}
    order["edges"][1] |= {"maxSpeed": 0.34, "orientation": 2.2, "orientationType": "GLOBAL"}
    order["edges"][2] |= {"orientation": 1.3, "orientationType": "TANGENTIAL"}
    order["nodes"][3]["nodePosition"]["theta"] = -2.1
    ways = [math.atan2(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(corners)]
    headings = [ways[0] - 0.4, 2.2, ways[2] + 1.3]
    assert bench.order(order) == {}
    fastest, seen = [0.0, 0.0, 0.0], set()
    while not bench.vehicle.is_idle:
        before = np.array(bench.vehicle.place)
        bench.sim.step_once()
        state, place = bench.state(), np.array(bench.vehicle.place)
        speed = float(np.linalg.norm(place - before)) / 0.05
        number = state["lastNodeSequenceId"] // 2
        if number < 3 and speed > 0.2:
            begin, along = np.array(corners[number]), np.array([math.cos(ways[number]), math.sin(ways[number])])
            off = place - begin
            assert abs(off[0] * along[1] - off[1] * along[0]) < 2e-3
            if 0.3 < off @ along < math.dist(corners[number], corners[number + 1]) - 0.3:
                assert math.remainder(bench.vehicle.heading - headings[number], 2.0 * math.pi) == pytest.approx(
                    0, abs=1e-3
                )
                seen.add(number)
            fastest[number] = max(fastest[number], speed)
    assert seen == {0, 1, 2} and fastest == pytest.approx([0.61, 0.34, 0.9], abs=2e-3)
    assert bench.place == pytest.approx(corners[3]) and bench.vehicle.heading == pytest.approx(-2.1, abs=TURN)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_vehicle_looks_along_its_edges_or_back_and_turns_at_the_end(backwards: bool) -> None:
    bench = bench_of("differential")
    corners = [(X, Y), (2.9, 0.5), (2.2, 2.6)]
    order = line("o", corners)
    for edge in order["edges"]:
        edge |= {"orientation": math.pi} if backwards else {}
    order["nodes"][2]["nodePosition"] |= {"theta": 0.4, "allowedDeviationTheta": 0.03}
    assert bench.order(order) == {}
    checked = 0
    while not bench.vehicle.is_idle:
        bench.sim.step_once()
        state, (vx, _, _) = bench.state(), bench.vehicle.velocity
        number = state["lastNodeSequenceId"] // 2
        if number < 2 and abs(vx) > 0.3:
            (ax, ay), (bx, by) = corners[number], corners[number + 1]
            way = math.atan2(by - ay, bx - ax) + backwards * math.pi
            assert math.remainder(bench.vehicle.heading - way, 2.0 * math.pi) == pytest.approx(0.0, abs=1e-6)
            assert (vx < 0.0) is backwards
            checked += 1
    assert checked > 50 and bench.place == pytest.approx(corners[2])
    assert bench.vehicle.heading == pytest.approx(0.4, abs=0.031)


def test_what_is_interrupted_goes_on_along_the_same_line() -> None:
    """A pause on a curve, and another command in between: all of the rest is driven, and nothing twice."""
    bench = bench_of("differential")
    order = edge_of(4.0, 0.9)
    controls = [{"x": x, "y": y} for x, y in ((X, Y), at(2.5, 1.9), at(4.0, 0.9))]
    order["edges"][0]["trajectory"] = {"degree": 2, "knotVector": [0, 0, 0, 1, 1, 1], "controlPoints": controls}
    assert bench.order(order) == {}
    shares = np.linspace(0.0, 1.0, 2001)[:, None]
    first, middle, last = (np.array([one["x"], one["y"]]) for one in controls)
    curve = (1 - shares) ** 2 * first + 2 * shares * (1 - shares) * middle + shares**2 * last
    whole = float(np.linalg.norm(np.diff(curve, axis=0), axis=1).sum())
    driven, paused, share = 0.0, False, 0.0
    while not bench.vehicle.is_idle:
        before = np.array(bench.vehicle.place)
        bench.sim.step_once()
        place = np.array(bench.vehicle.place)
        driven += float(np.linalg.norm(place - before))
        gaps = np.linalg.norm(curve - place, axis=1)
        # Within what its lines may be off the curve, and never back.
        assert gaps.min() < 0.06 and np.argmin(gaps) / 2000 > share - 0.01
        share = max(share, float(np.argmin(gaps)) / 2000)
        if driven > 1.3 and not paused:
            paused = True
            bench.instant("startPause", "p")
            bench.run(lambda state: status(state, "p") == "FINISHED")
            bench.instant("stopPause", "q")
    assert driven == pytest.approx(whole, abs=0.12) and bench.place == pytest.approx(at(4.0, 0.9))


def test_nodes_beyond_the_world_are_refused() -> None:
    bench = bench_of("differential")
    extent = bench.sim.world.extent
    for x, y, good in ((extent * 0.999, 3.0, True), (-3.0, -extent * 1.001, False), (extent * 1.001, 3.0, False)):
        order = {"orderId": f"o{x}{y}", "orderUpdateId": 0, "nodes": [node(0, X, Y), node(1, x, y)]}
        order["edges"] = line("o", [(X, Y), (x, y)])["edges"]
        assert taken(bench, order) is good


@pytest.mark.parametrize(("tolerance", "widest"), [(0.07, 0.1), (0.3, 0.3)])
def test_a_pose_is_confirmed_within_its_tolerances_and_set_to_the_last_digit(tolerance: float, widest: float) -> None:
    fleet = {"node_tolerance": SLACK, "heading_tolerance": tolerance}
    robot = {"pose": [X, Y, Z, YAW], "shape": BODY}
    for policy in ("confirm", "place"):
        bench = VehicleBench(scenario("2.1", robot=robot, fleet={**fleet, "init_position": policy}))
        cases = [(factor * SLACK, 0.0, factor < 1.0) for factor in (0.96, 1.04)]
        cases += [(0.0, side * factor * widest, factor < 1.0) for factor in (0.96, 1.04) for side in (-1, 1)]
        for number, (gap, turn, good) in enumerate(cases if policy == "confirm" else cases[-1:]):
            x, y = at(gap, 2.1)
            bench.instant(
                "initPosition", f"i{number}", x=x, y=y, theta=YAW + turn, mapId="map", lastNodeId=f"n{number}"
            )
            state = bench.state()
            assert (status(state, f"i{number}") == "FINISHED") is (good or policy == "place"), (gap, turn)
            assert (state["lastNodeId"] == f"n{number}") is (good or policy == "place")
    assert bench.place == pytest.approx((x, y)) and bench.vehicle.heading == pytest.approx(YAW + turn)
    for number, (x, good) in enumerate([(0.999, True), (1.001, False)]):
        far = x * bench.sim.world.extent
        bench.instant("initPosition", f"far{number}", x=1.0, y=far, theta=0.0, mapId="map")
        assert (status(bench.state(), f"far{number}") == "FINISHED") is good
    bench.instant("initPosition", "other", x=1.0, y=1.0, theta=0.0, mapId="nowhere")
    assert bench.place == pytest.approx((1.0, 0.999 * bench.sim.world.extent))


def test_loads_are_taken_that_are_in_reach_and_nobody_has() -> None:
    shape = {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}
    places = {"near": at(0.93, 1.1), "nearer": at(0.7, -2.0), "far": at(1.03, 2.7)}
    objects = [{"name": name, "pose": [*place, 0.1], "shape": shape} for name, place in places.items()]
    robot = {"pose": [X, Y, Z, YAW], "shape": BODY}
    bench = VehicleBench(
        scenario("2.1", robots=2, robot=robot, objects=objects, fleet={"reach": 1.0, "pick_time": 0.5})
    )

    def pick(**parameters: Any) -> tuple[str, list[str]]:
        name = f"p{bench.sim.step_count}"
        place = node(0, X, Y, actions=[action("pick", name, **parameters)])
        assert bench.order({"orderId": name, "orderUpdateId": 0, "nodes": [place], "edges": []}) == {}
        state = bench.run(lambda state: status(state, name) in ("FINISHED", "FAILED"))
        return status(state, name), sorted(load["loadId"] for load in state["loads"])

    assert pick(loadId="far") == ("FAILED", [])
    assert pick(loadId="none") == ("FAILED", []) and pick(loadId="a") == ("FAILED", [])
    # The other robot, which stands in the same place, has it.
    other, taken = bench.sim.get_object("b"), bench.sim.get_object("near")
    other.attach_object(taken, keep_world_pose=True)
    assert pick(loadId="near") == ("FAILED", [])
    other.detach_object(taken)
    assert pick(loadId="near", loadType="EPAL") == ("FINISHED", ["near"])
    assert pick() == ("FINISHED", ["near", "nearer"])
    (first, _) = sorted(bench.state()["loads"], key=lambda load: load["loadId"])
    assert first["loadType"] == "EPAL"
    # Where they were, beside the vehicle, as it sees them.
    for load in bench.state()["loads"]:
        x, y = places[load["loadId"]]
        away = complex(x - X, y - Y) * complex(math.cos(YAW), -math.sin(YAW))
        found = load["boundingBoxReference"]
        assert (found["x"], found["y"]) == pytest.approx((away.real, away.imag), abs=1e-5)


def gap_of(points: np.ndarray, corners: np.ndarray) -> float:
    """The least distance of points from a triangle; 0 inside."""
    gaps = np.full(len(points), np.inf)
    signs = []
    for begin, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        side, off = end - begin, points - begin
        share = np.clip(off @ side / (side @ side), 0.0, 1.0)[:, None]
        gaps = np.minimum(gaps, np.linalg.norm(off - share * side, axis=1))
        signs.append(np.sign(side[0] * off[:, 1] - side[1] * off[:, 0]))
    return float(np.where(np.abs(np.sum(signs, axis=0)) == 3, 0.0, gaps).min())


@holds("api:vda5050.zones", fault="warehouse/vda5050/acceptance.py: the first edge begins at (y, y)")
def test_orders_are_refused_whose_way_touches_a_blocked_zone() -> None:
    random, seen = np.random.default_rng(8), {True: 0, False: 0}
    robot = {"pose": [X, Y, Z, YAW], "shape": BODY, "controller": {"type": "differential", "max_linear_vel": 0.9}}
    radius, shares = math.hypot(0.3, 0.45), np.linspace(0.0, 1.0, 400)[:, None]
    for number in range(30):
        bench = VehicleBench(scenario("3.0", robot=robot, simulation={"timestep": 0.05}))
        ways = [(X, Y), *map(tuple, random.uniform(-4.0, 4.0, (2, 2)).tolist())]
        corners = random.uniform(-0.7, 0.7, (3, 2)) + random.uniform(-3.5, 3.5, 2)
        vertices = [{"x": x, "y": y} for x, y in corners.tolist()]
        zone = {"zoneId": "wall", "zoneType": "BLOCKED", "vertices": vertices}
        assert bench.send("zoneSet", {"zoneSet": {"mapId": "map", "zoneSetId": "z", "zones": [zone]}}) == {}
        bench.instant("enableZoneSet", "on", zoneSetId="z")
        places = np.concatenate([np.array(a) + shares * np.subtract(b, a) for a, b in pairwise(ways)])
        gap = gap_of(places, corners)
        # Places of a way are looked at that are a tenth of a metre apart.
        if status(bench.state(), "on") != "FINISHED" or radius - 0.01 < gap < radius + 0.01:
            continue
        good = gap > radius
        assert (bench.order(line(f"o{number}", ways)) == {}) is good, (number, gap)
        seen[good] += 1
        if not good:
            assert "NO_ROUTE_TO_TARGET" in errors(bench.state())
    assert min(seen.values()) > 7
