"""What a master control is told of disturbances by VDA 5050: every state is checked against the official schemas."""

from __future__ import annotations

import time
from typing import Any

import pytest
from master_control import MasterControl, action, errors, line
from mqtt_broker import MOSQUITTO, TestBroker
from slotcars import spawn_slotcar
from vehicle_bench import VehicleBench, scenario

import fleet_sim as fs
from fleet_sim.warehouse.rmf.slotcars import FollowWaypoints, SlotcarMode, Slotcars, Waypoint
from fleet_sim.warehouse.vda5050.connection import connect_vehicles

VERSIONS = ("2.0", "2.1", "3.0")


def bench(*entries: dict[str, Any], version: str = "2.1", **other: Any) -> VehicleBench:
    """Return a vehicle on its way over 60 m, that is disturbed from 2 s on."""
    found = VehicleBench(scenario(version, disturbances=[{"at": 2, **entry} for entry in entries], **other))
    assert found.order(line("tour", [(0.0, 0.0), (60.0, 0.0)])) == {}
    return found


def at(found: VehicleBench, seconds: float) -> dict[str, Any]:
    """Step until so many seconds have passed; return the state, checked."""
    while found.sim.sim_time < seconds - 0.01:
        found.sim.step_once()
    return found.state()


def told(state: dict[str, Any]) -> list[tuple[str, str]]:
    """Return type and level of all errors."""
    return [(error["errorType"], error["errorLevel"]) for error in state["errors"]]


def stop_of(state: dict[str, Any]) -> tuple[str, bool]:
    """Return the emergency stop, and whether the protective field is violated."""
    safety = state["safetyState"]
    return safety.get("eStop", safety.get("activeEmergencyStop")), safety["fieldViolation"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_breakdown_is_fatal_and_the_order_goes_on_after_it(version: str) -> None:
    one = bench({"kind": "breakdown", "lasts": 5}, version=version)
    assert told(at(one, 2.0)) == [] and one.vehicle.moves
    state = at(one, 2.3)
    kind = "BREAKDOWN" if version == "3.0" else "breakdown"
    assert (kind, "FATAL") in told(state) and not state["driving"] and state["orderId"] == "tour"
    fault = next(error for error in state["errors"] if error["errorType"] == kind)
    assert {"referenceKey": "orderId", "referenceValue": "tour"} in fault["errorReferences"]
    place = one.place
    at(one, 7.0)
    assert one.place == place
    state = at(one, 9.0)
    assert told(state) == [] and state["driving"] and one.place[0] > place[0]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("release", "second"), [("manual", "MANUAL"), ("remote", "REMOTE"), ("autoack", "AUTOACK")])
def test_an_emergency_stop_is_in_the_safety_state(version: str, release: str, second: str) -> None:
    one = bench({"kind": "emergency_stop", "release": release, "field_violation": True, "lasts": 3}, version=version)
    assert stop_of(at(one, 1.9)) == ("NONE", False)
    state = at(one, 2.5)
    wanted = "NONE" if version == "3.0" and release == "autoack" else second
    assert stop_of(state) == (wanted, True) and not state["driving"]
    assert (("EMERGENCY_STOP", "URGENT") if version == "3.0" else ("emergencyStop", "WARNING")) in told(state)
    state = at(one, 7.0)
    assert stop_of(state) == ("NONE", False) and told(state) == [] and state["driving"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_vehicle_driven_by_hand_loses_its_order_and_takes_none(version: str) -> None:
    one = bench({"kind": "manual", "lasts": 5}, version=version)
    state = at(one, 4.0)
    assert state["operatingMode"] == "MANUAL" and state["nodeStates"] == [] and not state["driving"]
    refused = one.order(line("other", [one.place, (60.0, 0.0)]))
    assert "person" in refused["a"]
    state = at(one, 8.0)
    assert state["operatingMode"] == "AUTOMATIC"
    assert one.order(line("next", [one.place, (60.0, 0.0)])) == {}
    assert at(one, 10.0)["driving"]


def test_half_of_the_actions_fail_as_drawn_and_say_so() -> None:
    points = [(0.0, 0.0), *((0.5 * number, 0.0) for number in range(1, 41))]
    one = VehicleBench(scenario("2.1", disturbances=[{"kind": "action_failure", "probability": 0.5}]))
    order = line("tour", points)
    for number, node in enumerate(order["nodes"][1:]):
        node["actions"] = [action("wait", f"w{number}", "HARD", duration=0.1)]
    assert one.order(order) == {}
    one.sim.step_once()
    state = one.run(lambda state: one.vehicle.is_idle, 200.0)
    outcomes = [entry["actionStatus"] for entry in state["actionStates"]]
    assert len(outcomes) == 40 and 10 <= outcomes.count("FAILED") <= 30 and outcomes.count("FINISHED") >= 10
    assert "actionError" in [error["errorType"] for error in state["errors"]]
    counted = VehicleBench(scenario("2.1", disturbances=[{"kind": "action_failure", "next": 3}]))
    counted.order(order)
    counted.sim.step_once()
    state = counted.run(lambda state: counted.vehicle.is_idle, 200.0)
    assert [entry["actionStatus"] for entry in state["actionStates"]] == ["FAILED"] * 3 + ["FINISHED"] * 37


def test_a_battery_tells_a_wrong_charge_and_takes_none() -> None:
    battery = {"capacity_wh": 100.0, "level": 0.5, "charge_power": 3600.0, "charging": True, "idle_power": 0.0}
    wrong = bench({"kind": "battery_fault", "charge_error": 0.2, "lasts": 2}, robot={"battery": battery})
    true = at(wrong, 2.0)["batteryState"]["batteryCharge"]
    assert at(wrong, 2.2)["batteryState"]["batteryCharge"] == pytest.approx(true + 20.0, abs=0.5)
    assert at(wrong, 4.5)["batteryState"]["batteryCharge"] == pytest.approx(true, abs=3.0)
    dead = bench({"kind": "battery_fault", "charges": False, "level": 0.0}, robot={"battery": battery})
    state = at(dead, 4.0)
    assert state["batteryState"]["batteryCharge"] == 0.0 and not state["driving"]
    assert ("batteryFault", "WARNING") in told(state)


def test_a_vehicle_that_is_switched_off_and_on_has_no_order_any_more() -> None:
    one = bench({"kind": "reboot", "lasts": 3})
    at(one, 3.0)
    assert one.vehicle.silent and one.order(line("lost", [(0.0, 0.0)])) != {}
    state = at(one, 6.0)
    assert not one.vehicle.silent and state["orderId"] == "" and state["nodeStates"] == [] and not state["driving"]


def test_open_rmf_sees_modes_and_the_path_goes_on_after_a_breakdown() -> None:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, timestep=0.05, raise_on_fault=True))
    robot = spawn_slotcar(sim, "car", 0.0, 0.0, 0.2, max_linear_vel=2.0, features={"slotcar": {}})
    slotcars: Slotcars = sim.features.use("slotcar")
    part = sim.features.use("disturbances")
    path = (Waypoint(0.0, 0.0), Waypoint(8.0, 0.0))
    sim.inbox.put(FollowWaypoints(robot="car", task="go", path=path))

    def after(seconds: float) -> tuple[SlotcarMode, float]:
        """Return the mode after so many more seconds, and how far the robot drove in them."""
        begin = robot.get_pose().x
        for _ in range(round(seconds / 0.05)):
            sim.step_once()
        return SlotcarMode(slotcars.table.mode[robot.row]), robot.get_pose().x - begin

    assert after(4.0)[0] is SlotcarMode.MOVING
    for kind, mode in (("breakdown", SlotcarMode.ADAPTER_ERROR), ("emergency_stop", SlotcarMode.EMERGENCY)):
        name = part.begin(kind)
        after(0.5)
        assert after(2.0) == (mode, 0.0)
        part.end(name)
        now, driven = after(2.0)
        assert now is SlotcarMode.MOVING and driven > 0.3
    assert after(20.0)[0] is SlotcarMode.IDLE and robot.get_pose().x == pytest.approx(8.0, abs=0.05)


STATE_INTERVAL = 30.0


@pytest.mark.skipif(MOSQUITTO is None, reason="the broker of the package does not watch the keep-alive")
def test_over_a_broker_each_fault_is_told_at_once_and_silence_by_the_keep_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fleet_sim.warehouse.vda5050.connection.KEEP_ALIVE", 2)
    broker = TestBroker()
    one = VehicleBench(scenario("2.1", fleet={"state_interval": STATE_INTERVAL}))
    part = one.sim.features.use("disturbances")

    def until(what: Any) -> float:
        """Step in real time until a message has come, sooner than states are repeated; return the seconds."""
        begin = time.monotonic()
        while not any(what(topic, message) for _, topic, message in master.messages):
            assert time.monotonic() < begin + STATE_INTERVAL - 5.0, master.messages[-3:]
            one.sim.step_once()
            time.sleep(0.05)
        return time.monotonic() - begin

    def connection(wanted: str) -> Any:
        return lambda topic, message: topic == "connection" and message["connectionState"] == wanted

    try:
        with MasterControl(broker.port) as master, connect_vehicles(one.sim, f"mqtt://127.0.0.1:{broker.port}"):
            until(connection("ONLINE"))
            master.messages.clear()
            name = part.begin("breakdown")
            until(lambda topic, message: topic == "state" and "breakdown" in errors(message))
            part.end(name)
            master.messages.clear()
            until(lambda topic, message: topic == "state" and not message["errors"])
            name = part.begin("silent")
            one.sim.step_once()
            master.messages.clear()
            # One and a half times the keep-alive, by the protocol.
            assert until(connection("CONNECTIONBROKEN")) > 1.0
            assert not [topic for _, topic, _ in master.messages if topic == "state"]
            part.end(name)
            until(connection("ONLINE"))
            until(lambda topic, message: topic == "state")
            master.messages.clear()
            part.begin("reboot", lasts=1.0)
            until(connection("CONNECTIONBROKEN"))
            until(connection("ONLINE"))
            until(lambda topic, message: topic == "state")
            assert next(message["headerId"] for _, topic, message in master.messages if topic == "state") == 0
    finally:
        one.sim.close()
        broker.stop()
