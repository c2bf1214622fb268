"""Orders: taken over or refused as the standard says, driven along their nodes, extended, paused and cancelled."""

from __future__ import annotations

from typing import Any

import pytest
from master_control import action, edge, errors, line, node, status
from vehicle_bench import VehicleBench, scenario

from fleet_sim.warehouse.vda5050 import acceptance

VERSIONS = ["2.0", "2.1", "3.0"]
L = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0)]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_order_is_driven_to_the_end_of_its_base_and_on_after_an_update(version: str) -> None:
    bench = VehicleBench(scenario(version))
    assert bench.order(line("o", [*L, (4.0, 2.0)], base=2)) == {}
    assert bench.state()["lastNodeId"] == "n0"
    bench.run(lambda state: state["lastNodeId"] == "n1" and not state["driving"])
    for _ in range(20):
        bench.sim.step_once()
    assert bench.place == (2.0, 0.0)
    assert [entry["released"] for entry in bench.state()["nodeStates"]] == [False, False]
    # The horizon is replaced: another way from n1 on.
    assert bench.order(line("o", [(2.0, 0.0), (5.0, 0.0)], update=1, first=1)) == {}
    bench.arrive("n2")
    assert bench.place == (5.0, 0.0)
    assert (bench.state()["nodeStates"], bench.state()["edgeStates"]) == ([], [])
    assert bench.state()["lastNodeSequenceId"] == 4


def test_a_base_that_is_extended_in_time_is_driven_without_a_stop() -> None:
    bench = VehicleBench(scenario())
    bench.order(line("o", [(0.0, 0.0), (3.0, 0.0), (6.0, 0.0)], base=2))
    bench.run(lambda state: state["agvPosition"]["x"] > 1.0)
    assert not bench.state()["newBaseRequest"]
    bench.run(lambda state: state["newBaseRequest"])
    bench.order(line("o", [(3.0, 0.0), (6.0, 0.0)], update=1, first=1))
    slowest = 1.0
    while bench.vehicle.place[0] < 4.5:
        bench.sim.step_once()
        slowest = min(slowest, bench.vehicle.velocity[0])
    assert slowest > 0.7
    bench.arrive("n2")


def _moved(order: dict[str, Any], part: str, index: int, **changed: Any) -> dict[str, Any]:
    order[part][index] |= changed
    return order


# An order, and the types of the error in 2.x and from 3.0 on.
REFUSED = {
    "gap in the sequence": (
        lambda: _moved(line("o", L), "nodes", 1, sequenceId=4),
        "validationError",
        "VALIDATION_FAILURE",
    ),
    "edge is missing": (lambda: line("o", L) | {"edges": []}, "validationError", "VALIDATION_FAILURE"),
    "released behind the horizon": (
        lambda: _moved(line("o", L, base=1), "nodes", 2, released=True),
        "validationError",
        "VALIDATION_FAILURE",
    ),
    "no base": (lambda: _moved(line("o", L), "nodes", 0, released=False), "validationError", "VALIDATION_FAILURE"),
    "not a number": (
        lambda: _moved(line("o", L), "nodes", 1, nodePosition={"x": float("nan"), "y": 0, "mapId": "map"}),
        "validationError",
        "VALIDATION_FAILURE",
    ),
    "starts elsewhere": (lambda: line("o", [(3.0, 0.0), (4.0, 0.0)]), "noRouteError", "START_NODE_OUT_OF_RANGE"),
    "beyond the world": (lambda: line("o", [(0.0, 0.0), (1e8, 0.0)]), "noRouteError", "NO_ROUTE_TO_TARGET"),
    "unknown map": (
        lambda: {"orderId": "o", "orderUpdateId": 0, "nodes": [node(0, 0, 0, mapId="cellar")], "edges": []},
        "orderError",
        "UNKNOWN_MAP_ID",
    ),
    "unknown action": (
        lambda: _moved(line("o", L), "nodes", 1, actions=[action("fly", "f")]),
        "orderError",
        "INVALID_ORDER_ACTION",
    ),
    "action without its parameter": (
        lambda: _moved(line("o", L), "nodes", 1, actions=[action("wait", "w")]),
        "orderError",
        "INVALID_ORDER_ACTION",
    ),
    "sideways with a differential drive": (
        lambda: _moved(line("o", L), "edges", 0, orientation=1.5),
        "orderError",
        "UNSUPPORTED_PARAMETER",
    ),
    "follows a wire": (
        lambda: _moved(line("o", L), "edges", 0, direction="left"),
        "orderError",
        "UNSUPPORTED_PARAMETER",
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_driven_is_refused_with_the_error_of_the_version(what: str, version: str) -> None:
    make, second, third = REFUSED[what]
    bench = VehicleBench(scenario(version))
    assert "a" in bench.order(make())
    state = bench.state()
    assert errors(state) == [third if version == "3.0" else second]
    assert (state["orderId"], state["nodeStates"]) == ("", [])
    bench.sim.step_once()
    assert bench.place == (0.0, 0.0)
    # The error goes with the next order that is accepted.
    assert bench.order(line("good", L)) == {}
    assert errors(bench.state()) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_updates_that_do_not_fit_are_refused_and_the_order_goes_on(version: str) -> None:
    third = version == "3.0"
    bench = VehicleBench(scenario(version))
    bench.order(line("o", L, update=0, base=2))
    bench.order(line("o", [(2.0, 0.0), (2.0, 2.0)], update=3, first=1))
    for body, second_type, third_type in (
        (line("o", L, update=1), "orderUpdateError", "OUTDATED_ORDER_UPDATE"),
        (line("o", [(9.0, 9.0), (9.0, 0.0)], update=4, first=7), "orderUpdateError", "VALIDATION_FAILURE"),
        (line("p", [(0.0, 0.0), (1.0, 0.0)]), "orderError", "OTHER_ORDER_ACTIVE"),
    ):
        assert "a" in bench.order(body)
        assert errors(bench.state())[-1] == (third_type if third else second_type)
    # The same message again: no error, and nothing happens twice.
    known = len(errors(bench.state()))
    assert bench.order(line("o", [(2.0, 0.0), (2.0, 2.0)], update=3, first=1)) == {}
    assert len(errors(bench.state())) == known
    bench.arrive("n2")
    assert bench.place == (2.0, 2.0)


def test_a_cancelled_order_ends_where_the_vehicle_stands_and_takes_no_update() -> None:
    bench = VehicleBench(scenario("3.0"))
    order = line("o", [(0.0, 0.0), (20.0, 0.0), (30.0, 0.0)], base=2)
    order["nodes"][1]["actions"] = [action("wait", "w", duration=1.0)]
    bench.order(order)
    bench.run(lambda state: state["mobileRobotPosition"]["x"] > 2.0)
    bench.instant("cancelOrder", "c")
    assert status(bench.state(), "c") == "RUNNING"
    state = bench.run(lambda state: status(state, "c") == "FINISHED")
    assert (state["nodeStates"], state["edgeStates"], state["driving"]) == ([], [], False)
    assert (state["orderId"], status(state, "w")) == ("o", "FAILED")
    # It braked within its limits, and stays there.
    assert 2.4 < bench.place[0] < 3.2
    bench.instant("cancelOrder", "again")
    assert status(bench.state(), "again") == "FAILED"
    assert errors(bench.state())[-1] == "NO_ORDER_TO_CANCEL"
    assert "a" in bench.order(line("o", [(20.0, 0.0), (30.0, 0.0)], update=1, first=1))
    assert errors(bench.state())[-1] == "ORDER_UPDATE_FOLLOWING_CANCEL"
    # A new one may begin with the last node, with a deviation that reaches as far.
    again = line("p", [(0.0, 0.0), (5.0, 0.0)])
    assert "a" in bench.order(again)
    again["nodes"][0]["nodePosition"]["allowedDeviationXY"] = {"a": 4.0, "b": 0.1, "theta": 0.0}
    assert bench.order(again) == {}
    bench.arrive("n1")
    assert bench.place == (5.0, 0.0)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_pause_stops_the_vehicle_and_its_actions_and_the_order_goes_on_after_it(version: str) -> None:
    bench = VehicleBench(scenario(version))
    # The schemas of 2.x know no PAUSED.
    paused = "PAUSED" if version == "3.0" else "RUNNING"
    order = line("o", [(0.0, 0.0), (10.0, 0.0)])
    order["nodes"][0]["actions"] = [action("wait", "w", "NONE", duration=100.0)]
    bench.order(order)
    bench.run(lambda state: bench.place[0] > 1.0)
    bench.instant("startPause", "p")
    state = bench.run(lambda state: status(state, "p") == "FINISHED")
    assert (state["paused"], state["driving"], status(state, "w")) == (True, False, paused)
    at = bench.place
    for _ in range(30):
        bench.sim.step_once()
    assert bench.place == at
    bench.instant("stopPause", "q")
    assert (bench.state()["paused"], status(bench.state(), "w")) == (False, "RUNNING")
    bench.run(lambda state: state["lastNodeId"] == "n1")
    assert bench.place == (10.0, 0.0)


def test_another_command_holds_the_order_up_and_it_goes_on_afterwards() -> None:
    bench = VehicleBench(scenario())
    bench.order(line("o", [(0.0, 0.0), (6.0, 0.0)]))
    bench.run(lambda state: state["agvPosition"]["x"] > 1.0)
    bench.vehicle.agent.set_velocity(0.0, 0.0, 0.0, 0.0, 0.0, 1.0, timeout=2.0)
    bench.run(lambda state: "drivingPrevented" in errors(state))
    bench.run(lambda state: "drivingPrevented" not in errors(state))
    bench.arrive("n1")
    assert bench.place == (6.0, 0.0)


def test_nodes_without_a_position_are_refused_without_a_site() -> None:
    bench = VehicleBench(scenario())
    start = node(0, 0.0, 0.0)
    there = node(1, 0.0, 0.0)
    del there["nodePosition"]
    assert "a" in bench.order(
        {
            "orderId": "o",
            "orderUpdateId": 0,
            "nodes": [start, there],
            "edges": [edge(0, startNodeId="n0", endNodeId="n1")],
        }
    )
    assert errors(bench.state()) == ["noRouteError"]


def test_an_order_that_goes_on_and_on_is_kept_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptance, "MOST_NODES", 20)
    monkeypatch.setattr(acceptance, "MOST_STATES", 3)
    bench = VehicleBench(scenario("2.1"))
    there_and_back = [(0.0, 0.0), (3.0, 0.0)] * 4

    def update(number: int, count: int, actions: int = 0) -> dict[str, str]:
        # Each begins where the one before ends: odd ones at the far side.
        way = there_and_back[::-1] if number % 2 else there_and_back
        order = line("o", way[:count], update=number, first=7 * number)
        order["nodes"][-1]["actions"] = [action("wait", f"{number}{i}", duration=1.0) for i in range(actions)]
        return bench.order(order)

    # It stands on the first of the first eight; seven come with each of the next two, six of which are too many.
    assert update(0, 8) == update(1, 8) == {} and len(bench.state()["nodeStates"]) == 14
    assert "21 nodes would be ahead of the vehicle, at most 20 are kept" in update(2, 8)["a"]
    assert "4 actions" in update(2, 7, actions=4)["a"]
    assert update(2, 7, actions=3) == {} and len(bench.state()["nodeStates"]) == 20
    bench.run(lambda state: state["lastNodeId"] == "n1")


def test_instant_actions_that_do_not_end_are_limited_and_a_pause_can_be_ended() -> None:
    maps = [{"id": "map"}, {"id": "hall", "status": "on_server"}]
    bench = VehicleBench(scenario("2.1", fleet={"maps": maps}))
    bench.instant("startPause", "pause")
    given = {"mapId": "hall", "mapVersion": "1", "mapDownloadLink": "x"}
    for number in range(210):
        bench.instant("downloadMap", f"d{number}", **given)
    state = bench.state()
    assert len(state["actionStates"]) <= 201 and "instantActionError" in errors(state)
    bench.instant("stopPause", "go")
    assert not bench.state()["paused"]
    bench.run(lambda state: status(state, "d0") == "FINISHED")
