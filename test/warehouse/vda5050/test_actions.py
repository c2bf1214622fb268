"""What vehicles do at nodes, on edges and at once; and what they tell of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from master_control import action, errors, line, status
from vehicle_bench import VehicleBench, scenario

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.facade.recording import InputRecorder, RecordedInputs
from fleet_sim.warehouse.vda5050 import VEHICLE_ACTIONS, ActionParameter, Vehicle, VehicleAction
from fleet_sim.warehouse.vda5050.order import VehicleMessage
from fleet_sim.warehouse.vda5050.reports import factsheet_values
from fleet_sim.warehouse.vda5050.vehicle import ActionEntry

L = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0)]
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
    assert bench.order(line("o", [(x, y), far, (x, y)])) == {}
    bench.run(lambda state: state["lastNodeId"] == "n1")
    assert bench.place == pytest.approx(far)
    bench.instant("startPause", "p")
    bench.run(lambda state: status(state, "p") == "FINISHED")
    bench.instant("stopPause", "q")
    bench.arrive("n2")
    assert bench.place == pytest.approx((x, y))
