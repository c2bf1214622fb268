"""Orders: taken over or refused as the standard says, driven along their nodes, extended, paused and cancelled."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from master_control import action, edge, errors, line, node, status
from vehicle_bench import VehicleBench, scenario

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.arrays import Floats
from fleet_sim.facade.recording import InputRecorder, RecordedInputs
from fleet_sim.warehouse.vda5050 import VEHICLE_ACTIONS, ActionParameter, Vehicle, VehicleAction, acceptance
from fleet_sim.warehouse.vda5050.driving import FINEST, curve_points
from fleet_sim.warehouse.vda5050.order import EdgeTrajectory, VehicleMessage
from fleet_sim.warehouse.vda5050.reports import factsheet_values
from fleet_sim.warehouse.vda5050.vehicle import ActionEntry

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


# ---- What vehicles do at nodes, on edges and at once; and what they tell of it ---------------------------------------


LOAD = {
    "name": "pallet",
    "pose": [2.0, 0.5, 0.1],
    "shape": {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]},
    "mass": 7.0,
}


class Beep(VehicleAction):
    """Named in scenarios by its path."""

    scopes = ("NODE", "INSTANT")
    parameters = (ActionParameter("times", "NUMBER"),)

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Fail at first, where it may be tried again."""
        if entry.action.retriable and not entry.stage:
            entry.stage = "tried"
            self.fail(entry, "no horn")
        else:
            self.finish(entry, "beep" * int(entry.action.parameters["times"]))


def with_actions(*actions: dict[str, Any], at: int = 0) -> dict[str, Any]:
    """An order along L with actions at one of its nodes."""
    order = line("o", L)
    order["nodes"][at]["actions"] = list(actions)
    return order


def test_blocking_types_say_what_runs_together() -> None:
    bench = VehicleBench(scenario("3.0"))
    kinds = ("NONE", "SOFT", "HARD", "SINGLE", "NONE")
    bench.order(with_actions(*(action("wait", f"{i}", kind, duration=1.0) for i, kind in enumerate(kinds))))
    seen: list[tuple[str, ...]] = []
    while len(seen) == 0 or set(seen[-1]) != {"FINISHED"}:
        state = bench.state()
        now = tuple(str(status(state, f"{i}")) for i in range(5))
        if not seen or seen[-1] != now:
            seen.append(now)
        # A vehicle stands while SOFT or HARD are under way, or wait for their turn.
        assert ("FINISHED" in now[1:2] and "FINISHED" in now[2:3]) or bench.place == (0.0, 0.0)
        bench.sim.step_once()
    wait, run, done = "WAITING", "RUNNING", "FINISHED"
    assert seen == [
        (run, run, wait, wait, wait),
        (done, done, run, wait, wait),
        (done, done, done, run, wait),
        (done, done, done, done, run),
        (done, done, done, done, done),
    ]
    bench.arrive("n2")


def test_actions_of_an_edge_end_with_it_and_blocking_ones_come_before_it() -> None:
    bench = VehicleBench(scenario())
    order = line("o", L)
    order["edges"][0]["actions"] = [action("wait", "long", "NONE", duration=1000.0)]
    order["edges"][1]["actions"] = [action("wait", "first", "HARD", duration=1.0)]
    bench.order(order)
    assert status(bench.run(lambda state: state["driving"]), "long") == "RUNNING"
    state = bench.run(lambda state: status(state, "first") == "RUNNING")
    assert (state["lastNodeId"], status(state, "long"), bench.place) == ("n1", "FINISHED", (2.0, 0.0))
    bench.arrive("n2")


def test_a_load_is_picked_carried_and_dropped() -> None:
    bench = VehicleBench(scenario(objects=[LOAD]))
    order = with_actions(action("pick", "p", loadId="pallet", loadType="EPAL"), at=1)
    order["nodes"][2]["actions"] = [action("drop", "d")]
    bench.order(order)
    state = bench.run(lambda state: status(state, "p") == "FINISHED")
    (load,) = state["loads"]
    assert (load["loadId"], load["loadType"], load["weight"]) == ("pallet", "EPAL", 7.0)
    assert load["loadDimensions"] == {"length": 0.2, "width": 0.2, "height": 0.2}
    bench.arrive("n2")
    assert bench.state()["loads"] == []
    pallet = bench.sim.world.handles[bench.sim.world.index.row_named("pallet")]
    assert pallet.position[1] > 1.5
    # Nothing is there any more: it fails, and says so.
    again = line("again", [(2.0, 2.0), (2.0, 0.0)])
    again["nodes"][1]["actions"] = [action("pick", "none")]
    bench.order(again)
    assert errors(bench.run(lambda state: status(state, "none") == "FAILED")) == ["actionError"]


def test_actions_of_ones_own_are_named_by_path_and_may_be_tried_again() -> None:
    path = f"{__name__}:Beep"
    bench = VehicleBench(scenario("3.0", fleet={"actions": {"beep": path}}))
    bench.order(with_actions(action("beep", "b", times=2) | {"retriable": True}))
    assert status(bench.state(), "b") == "RETRIABLE"
    bench.instant("retry", "r", actionId="b")
    state = bench.state()
    assert (status(state, "b"), status(state, "r")) == ("FINISHED", "FINISHED")
    assert state["actionStates"][0]["actionResult"] == "beepbeep"
    sheet = bench.vehicle.version.body("factsheet").write(factsheet_values(bench.vehicle, bench.desk))
    offered = {entry["actionType"]: entry for entry in sheet["protocolFeatures"]["mobileRobotActions"]}
    assert offered["beep"]["actionParameters"][0]["key"] == "times"
    assert set(VEHICLE_ACTIONS.names()) - {"initPosition"} == set(offered) - {"beep"}


@pytest.mark.parametrize(("version", "speed"), [("2.0", "maxSpeed"), ("2.1", "maxSpeed"), ("3.0", "maximumSpeed")])
def test_the_factsheet_lists_what_orders_may_have(version: str, speed: str) -> None:
    # By the standard, what is not listed must not be sent.
    bench = VehicleBench(scenario(version))
    listed = optional_fields(bench)
    assert {"order.nodes.nodePosition", "order.nodes.nodePosition.theta", f"order.edges.{speed}"} <= listed
    assert ("order.edges.corridor" in listed) == (version != "2.0")


def optional_fields(bench: VehicleBench) -> set[str]:
    """The optional fields of orders that the first vehicle's factsheet lists."""
    sheet = bench.vehicle.version.body("factsheet").write(factsheet_values(bench.vehicle, bench.desk))
    return {entry["parameter"] for entry in sheet["protocolFeatures"]["optionalParameters"]}


def test_a_trigger_ends_waiting_for_it() -> None:
    bench = VehicleBench(scenario("3.0"))
    bench.order(with_actions(action("waitForTrigger", "w", triggerType=["LOCAL"])))
    bench.instant("trigger", "t")
    assert (status(bench.state(), "w"), status(bench.state(), "t")) == ("FINISHED", "FINISHED")
    bench.instant("trigger", "u")
    assert status(bench.state(), "u") == "FAILED"
    bench.instant("clearInstantActions", "c")
    assert [entry["actionId"] for entry in bench.state()["instantActionStates"]] == ["c"]


def test_charging_needs_a_battery() -> None:
    bench = VehicleBench(scenario(robot={"battery": {"capacity_wh": 1.0, "level": 0.5}}))
    assert bench.state()["batteryState"]["batteryCharge"] == pytest.approx(50.0, abs=1.0)
    bench.instant("startCharging", "on")
    assert (status(bench.state(), "on"), bench.state()["batteryState"]["charging"]) == ("FINISHED", True)
    bench.instant("stopCharging", "off")
    assert not bench.state()["batteryState"]["charging"]
    without = VehicleBench(scenario())
    without.instant("startCharging", "on")
    assert (status(without.state(), "on"), errors(without.state())) == ("FAILED", ["instantActionError"])


def test_maps_are_downloaded_enabled_and_deleted() -> None:
    maps = [{"id": "hall", "version": 1}, {"id": "hall", "version": 2, "status": "on_server"}]
    bench = VehicleBench(scenario(fleet={"maps": maps}))
    link = {"mapDownloadLink": "http://localhost/never-opened"}
    bench.instant("downloadMap", "d", mapId="hall", mapVersion="2", **link)
    bench.run(lambda state: status(state, "d") == "FINISHED")
    bench.instant("enableMap", "e", mapId="hall", mapVersion="2")
    assert [(entry["mapVersion"], entry["mapStatus"]) for entry in bench.state()["maps"]] == [
        ("1", "DISABLED"),
        ("2", "ENABLED"),
    ]
    bench.instant("deleteMap", "x", mapId="hall", mapVersion="1")
    assert [entry["mapVersion"] for entry in bench.state()["maps"]] == ["2"]
    for name, kind, version in (
        ("f", "downloadMap", "2"),
        ("g", "downloadMap", "9"),
        ("h", "enableMap", "9"),
        ("i", "deleteMap", "2"),
    ):
        bench.instant(kind, name, mapId="hall", mapVersion=version, **(link if kind == "downloadMap" else {}))
        bench.run(lambda state, name=name: status(state, name) == "FAILED")


def test_a_position_is_set_and_the_next_order_begins_there() -> None:
    bench = VehicleBench(scenario("2.0"))
    bench.instant("initPosition", "i", x=3.0, y=1.0, theta=1.0, mapId="map", lastNodeId="dock")
    state = bench.state()
    assert (status(state, "i"), state["lastNodeId"], bench.place) == ("FINISHED", "dock", (3.0, 1.0))
    assert bench.order(line("o", [(3.0, 1.0), (4.0, 1.0)])) == {}
    confirming = VehicleBench(scenario("2.0", fleet={"init_position": "confirm"}))
    confirming.instant("initPosition", "i", x=3.0, y=1.0, theta=1.0, mapId="map")
    assert (status(confirming.state(), "i"), confirming.place) == ("FAILED", (0.0, 0.0))


def test_instant_actions_that_are_not_understood_are_refused() -> None:
    bench = VehicleBench(scenario())
    for name, kind, given in (
        ("a", "logReport", {"reason": "why"}),
        ("b", "pick", {}),
        ("c", "stateRequest", {"x": 1}),
    ):
        bench.instant(kind, name, **given)
        assert (status(bench.state(), name), errors(bench.state())[-1]) == ("FAILED", "instantActionError")
    assert bench.send("zoneSet", {}) != {}
    third = VehicleBench(scenario("3.0"))
    assert third.send("responses", {"responses": [{"requestId": "none", "grantType": "GRANTED"}]}) != {}
    assert third.desk.figures()["refused"] == {"responses: zone_set": 1}


def test_what_came_is_recorded_and_the_run_repeated_without_a_broker(tmp_path: Path) -> None:
    bench = VehicleBench(scenario())
    with InputRecorder(bench.sim, tmp_path / "run.jsonl"):
        bench.order(line("o", L))
        bench.run(lambda state: state["agvPosition"]["x"] > 1.0)
        bench.send("order", "{garbage")
        bench.instant("cancelOrder", "c")
        bench.run(lambda state: status(state, "c") == "FINISHED")
    inputs = RecordedInputs.load(tmp_path / "run.jsonl")
    again = MultiRobotSimulationCore.from_dict(inputs.scenario)
    inputs.replay(again)
    assert again.state_hash() == bench.sim.state_hash()


def test_a_message_for_no_vehicle_is_an_error_of_the_sender() -> None:
    bench = VehicleBench(scenario())
    future = bench.sim.inbox.put(VehicleMessage(name="nobody", topic="order", text=json.dumps({})))
    bench.sim.step_once()
    assert "nobody" in str(future.exception())


def test_vehicles_in_the_traffic_are_sent_by_it(tmp_path: Path) -> None:
    (tmp_path / "hall.map").write_text(
        "type octile\nheight 5\nwidth 12\nmap\n" + "............\n" * 5, encoding="utf-8"
    )
    given = scenario(
        drive={"type": "differential"}, site={"map": str(tmp_path / "hall.map")}, traffic={"network": "grid"}
    )
    # Its nodes are numbered from 0 in this corner on.
    given["robots"][0]["pose"] = [0.5, 4.5, 0.1]
    bench = VehicleBench(given)
    x, y = bench.place
    far = (x + 3.0 if x < 5.0 else x - 3.0, y)
    assert "a" in bench.order(line("no", [(x, y), (x + 0.31, y + 500.0)]))
    assert errors(bench.state()) == ["noRouteError"]
    limited = line("slow", [(x, y), far])
    limited["edges"][0]["maxSpeed"] = 0.5
    assert "a" in bench.order(limited)
    assert "order.edges.maxSpeed" not in optional_fields(bench)
    assert bench.order(line("o", [(x, y), far, (x, y)])) == {}
    bench.run(lambda state: state["lastNodeId"] == "n1")
    assert bench.place == pytest.approx(far)
    # On its way back, where it stands until it may go on.
    bench.run(lambda state: abs(state["agvPosition"]["x"] - far[0]) > 0.8)
    bench.instant("startPause", "p")
    bench.run(lambda state: status(state, "p") == "FINISHED" and not state["driving"])
    stands = bench.place
    assert 0.8 < abs(stands[0] - far[0]) < 2.5
    for _ in range(20):
        bench.sim.step_once()
    assert bench.place == stands
    bench.instant("stopPause", "q")
    bench.arrive("n2")
    assert bench.place == pytest.approx((x, y))


# ---- curves ----------------------------------------------------------------------------------------------------------


HALF = math.sqrt(0.5)
# A whole circle of radius 1 about (0, 0): the textbook's nine points.
CIRCLE = EdgeTrajectory(
    2,
    [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4],
    [
        (1.0, 0.0, 1.0),
        (1.0, 1.0, HALF),
        (0.0, 1.0, 1.0),
        (-1.0, 1.0, HALF),
        (-1.0, 0.0, 1.0),
        (-1.0, -1.0, HALF),
        (0.0, -1.0, 1.0),
        (1.0, -1.0, HALF),
        (1.0, 0.0, 1.0),
    ],
)


def clamped(degree: int, points: list[tuple[float, float, float]]) -> EdgeTrajectory:
    """Return a curve from the first of `points` to the last, with evenly spaced knots between."""
    inner = len(points) - degree - 1
    knots = [0.0] * (degree + 1) + [float(index + 1) for index in range(inner)] + [inner + 1.0] * (degree + 1)
    return EdgeTrajectory(degree, knots, points)


def basis(index: int, degree: int, knots: list[float], at: float) -> float:
    """Return the value of a basis function, by the recursion that defines it."""
    if degree == 0:
        return float(knots[index] <= at < knots[index + 1])
    total = 0.0
    if knots[index + degree] > knots[index]:
        share = (at - knots[index]) / (knots[index + degree] - knots[index])
        total += share * basis(index, degree - 1, knots, at)
    if knots[index + degree + 1] > knots[index + 1]:
        share = (knots[index + degree + 1] - at) / (knots[index + degree + 1] - knots[index + 1])
        total += share * basis(index + 1, degree - 1, knots, at)
    return total


def defined(curve: EdgeTrajectory, at: float) -> list[float]:
    """Return the point at a parameter, by the definition of a NURBS."""
    parts = [basis(index, curve.degree, curve.knots, at) for index in range(len(curve.points))]
    weight = sum(part * point[2] for part, point in zip(parts, curve.points, strict=True))
    pairs = list(zip(parts, curve.points, strict=True))
    return [sum(part * point[2] * point[axis] for part, point in pairs) / weight for axis in (0, 1)]


def off_lines(points: Floats, finer: Floats) -> float:
    """Return how far any of `finer` is from the lines through `points`."""
    begin, along = points[:-1], np.diff(points, axis=0)
    lengths = np.maximum((along * along).sum(axis=1), 1e-300)
    offsets = finer[:, None] - begin
    share = np.clip((offsets * along).sum(axis=2) / lengths, 0.0, 1.0)
    gaps = offsets - share[..., None] * along
    return float(np.sqrt((gaps * gaps).sum(axis=2)).min(axis=1).max())


def test_a_circle_is_a_circle() -> None:
    points = curve_points(CIRCLE, 1e-3)
    assert np.hypot(*points.T) == pytest.approx(1.0, abs=1e-12)
    assert points[0].tolist() == points[-1].tolist() == [1.0, 0.0]
    turned = np.unwrap(np.arctan2(points[:, 1], points[:, 0]))
    assert (np.diff(turned) > 0.0).all()
    assert turned[-1] == pytest.approx(2.0 * math.pi)


@pytest.mark.parametrize("degree", [2, 3, 5])
def test_points_are_those_of_the_definition(degree: int) -> None:
    rng = np.random.default_rng(degree)
    points = [(float(x), float(y), float(w)) for x, y, w in rng.uniform(0.5, 4.0, (8, 3))]
    curve = clamped(degree, points)
    found = curve_points(curve, 1e9)
    places = np.linspace(curve.knots[degree], curve.knots[-degree - 1], len(found))
    for at, point in zip(places[:-1].tolist(), found[:-1].tolist(), strict=True):
        assert point == pytest.approx(defined(curve, at), abs=1e-12)
    assert found[-1].tolist() == pytest.approx(points[-1][:2])


@pytest.mark.parametrize("tolerance", [0.1, 0.01, 1e-3])
def test_lines_between_points_stay_within_the_tolerance(tolerance: float) -> None:
    for curve in (CIRCLE, clamped(3, [(0, 0, 1), (4, 0, 1), (-2, 3, 5), (5, 3, 1), (1, 6, 1), (0, 8, 1)])):
        points = curve_points(curve, tolerance)
        assert off_lines(points, curve_points(curve, 0.0)) <= tolerance


def test_there_are_no_more_points_than_a_vehicle_needs() -> None:
    straight = clamped(3, [(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 0, 1)])
    assert len(curve_points(straight, 0.01)) == 17
    assert len(curve_points(CIRCLE, 0.0)) == FINEST + 1
    assert len(curve_points(CIRCLE, 0.1)) < len(curve_points(CIRCLE, 1e-4))


def test_a_curve_of_degree_one_is_its_control_points() -> None:
    corners = EdgeTrajectory(1, [0, 0, 1, 2, 2], [(0.0, 0.0, 1.0), (2.0, 0.0, 7.0), (2.0, 1.0, 1.0)])
    assert curve_points(corners, 1e-3).tolist() == [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0]]


def test_a_heavier_point_draws_the_curve_to_it() -> None:
    ways = [curve_points(clamped(2, [(0, 0, 1), (1, 1, weight), (2, 0, 1)]), 1e-3) for weight in (0.5, 1.0, 4.0)]
    highest = [float(way[:, 1].max()) for way in ways]
    # Half-way: weight / (1 + weight) of the height of the control point.
    assert highest == pytest.approx([1.0 / 3.0, 0.5, 0.8], abs=1e-3)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"knotVector": [0, 0, 0, 1, 1]}, "knotVector"),
        ({"degree": 0}, "degree"),
        ({"controlPoints": [{"x": 0.0, "y": math.inf}] * 3}, "controlPoints"),
    ],
)
def test_a_curve_that_is_none_is_refused_and_moves_nothing(changed: dict[str, Any], said: str) -> None:
    bench = VehicleBench(scenario())
    points = [{"x": 0.0, "y": 0.0}, {"x": 2.0, "y": 0.0}, {"x": 2.0, "y": 2.0}]
    order = line("o", [(0.0, 0.0), (2.0, 2.0)])
    order["edges"][0]["trajectory"] = {"degree": 2, "knotVector": [0, 0, 0, 1, 1, 1], "controlPoints": points} | changed
    assert said in bench.order(order)["a"]
    for _ in range(5):
        bench.sim.step_once()
    assert bench.place == (0.0, 0.0)
    assert bench.state()["orderId"] == ""
    assert bench.state()["errors"]
    assert sum(bench.desk.refused.values()) == 1
