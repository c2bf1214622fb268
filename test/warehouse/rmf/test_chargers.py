"""Chargers charge one robot each: the one that a fleet manager asks for, or who comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from slotcars import spawn_slotcar

import fleet_sim as fs
from fleet_sim.warehouse.rmf import (
    CancelCharge,
    Charger,
    ChargerState,
    FollowWaypoints,
    RequestCharge,
    Slotcars,
    Waypoint,
)

Sim = fs.MultiRobotSimulationCore
IDLE, ASSIGNED, CHARGING, RELEASED = ChargerState


def robot(sim: Sim, name: str, x: float, y: float = 0.0, **features: Any) -> fs.Agent:
    features = {"slotcar": {"stop_radius": 0.0}, **(features or {"battery": {"level": 0.5}})}
    return spawn_slotcar(sim, name, x, y, 0.1, features=features)


@pytest.fixture
def sim(make_sim: Callable[..., Sim]) -> Sim:
    """Return a simulation with a charger at the origin, and a robot 2 m from it."""
    made = make_sim(timestep=0.05)
    robot(made, "car", 2.0)
    chargers(made).set_positions({"dock": (0.0, 0.0, 0.0), "other": (0.0, 5.0, 0.0)})
    return made


def chargers(sim: Sim) -> Any:
    slotcars: Slotcars = sim.features.use("slotcar")
    return slotcars.chargers


def dock(sim: Sim) -> Charger:
    found: Charger = chargers(sim).get("dock")
    return found


def ask(sim: Sim, command: Any) -> dict[str, str]:
    """Return why a command is refused, by the name of the charger."""
    answer = sim.inbox.put(command)
    sim.step_once()
    return dict(answer.result().rejected)


def drive(sim: Sim, name: str, start: float, goal: float) -> None:
    answer = sim.inbox.put(
        FollowWaypoints(robot=name, task=f"to {goal}", path=(Waypoint(start, 0.0), Waypoint(goal, 0.0)))
    )
    sim.step_once()
    assert answer.result().ok


def wait(sim: Sim, seconds: float) -> None:
    for _ in range(round(seconds / 0.05)):
        sim.step_once()


def until(sim: Sim, state: ChargerState) -> None:
    for _ in range(1000):
        if dock(sim).state is state:
            return
        sim.step_once()
    raise AssertionError(f"it is {dock(sim).state!r}, not {state!r}")


@pytest.mark.slow
def test_a_request_is_assigned_charged_released_and_idle_again(sim: Sim) -> None:
    request = RequestCharge(charger="dock", robot="car", fleet="porters", request="r1")
    assert ask(sim, request) == {}
    assert (dock(sim).state, dock(sim).robot, dock(sim).fleet, dock(sim).request) == (ASSIGNED, "car", "porters", "r1")
    battery = sim.get_object("car").feature("battery")
    assert not battery.is_charging
    drive(sim, "car", 2.0, 0.0)
    until(sim, CHARGING)
    sim.step_once()
    assert battery.is_charging and dock(sim).request == "r1"
    left = chargers(sim).remaining(dock(sim))
    wait(sim, left / 2)
    assert 0.5 < battery.battery_soc < 1.0 and dock(sim).state is CHARGING
    assert chargers(sim).remaining(dock(sim)) == pytest.approx(left / 2, rel=0.01)
    assert ask(sim, request) == {}, "the same request again changes nothing"
    drive(sim, "car", 0.0, 2.0)
    until(sim, RELEASED)
    assert not battery.is_charging and dock(sim).request == "r1"
    until(sim, IDLE)
    assert (dock(sim).robot, dock(sim).request) == ("", "")


def test_who_does_not_come_in_time_loses_the_charger(sim: Sim) -> None:
    ask(sim, RequestCharge(charger="dock", robot="car", request="late", timeout=1.0))
    assert dock(sim).state is ASSIGNED
    wait(sim, 0.9)
    assert dock(sim).state is ASSIGNED
    wait(sim, 0.2)
    assert dock(sim).state is IDLE
    ask(sim, RequestCharge(charger="dock", robot="car", request="patient"))
    wait(sim, 60.0)
    assert dock(sim).state is ASSIGNED
    sim.remove_object(sim.get_object("car"))
    sim.step_once()
    assert dock(sim).state is IDLE, "a robot that is gone does not come"


def test_a_charger_that_is_kept_for_one_charges_nobody_else(sim: Sim) -> None:
    guest = robot(sim, "guest", 0.1).feature("battery")
    ask(sim, RequestCharge(charger="dock", robot="car", request="r"))
    wait(sim, 1.0)
    assert dock(sim).state is ASSIGNED and not guest.is_charging
    ask(sim, CancelCharge(charger="dock", request="r"))
    assert (dock(sim).state, dock(sim).robot) == (CHARGING, "guest") and guest.is_charging


def test_cancelling_ends_a_charge_until_the_robot_has_left(sim: Sim) -> None:
    ask(sim, RequestCharge(charger="dock", robot="car", request="one"))
    assert ask(sim, CancelCharge(charger="dock", request="one")) == {} and dock(sim).state is IDLE
    drive(sim, "car", 2.0, 0.0)
    until(sim, CHARGING)
    assert dock(sim).request == "", "who comes by itself is charged without a request"
    ask(sim, RequestCharge(charger="dock", robot="car", request="two"))
    assert dock(sim).state is CHARGING and dock(sim).request == "two"
    assert ask(sim, CancelCharge(charger="dock", request="two")) == {}
    battery = sim.get_object("car").feature("battery")
    wait(sim, 5.0)
    assert dock(sim).state is IDLE and not battery.is_charging
    assert ask(sim, RequestCharge(charger="dock", robot="car", request="three")) == {}
    wait(sim, 0.1)
    assert dock(sim).state is CHARGING and battery.is_charging


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (RequestCharge(charger="doc", robot="car"), "unknown charger 'doc'"),
        (RequestCharge(charger="dock", robot="nobody"), "there is no slotcar of that name"),
        (RequestCharge(charger="dock", robot="bare"), "'bare' has no battery"),
        (RequestCharge(charger="dock", robot="car", timeout=-1.0), "start_timeout"),
        (RequestCharge(charger="dock", robot="car", request="x" * 2000), "request_id"),
        (RequestCharge(charger="other", robot="car"), "it is busy with 'guest'"),
        (CancelCharge(charger="other", request="never sent"), "it serves no request 'never sent'"),
        (CancelCharge(charger="", request="r"), "unknown charger ''"),
    ],
)
def test_what_makes_no_sense_is_refused_and_counted(sim: Sim, command: Any, reason: str) -> None:
    robot(sim, "guest", 0.0, 5.0)
    robot(sim, "bare", 8.0, slotcar={})
    sim.step_once()
    before = sim.features.use("slotcar").refused
    (told,) = ask(sim, command).values()
    assert reason in told
    assert sim.features.use("slotcar").refused == before + 1
    assert dock(sim).state is IDLE


def test_others_may_connect_a_robot_away_from_chargers(sim: Sim) -> None:
    battery = sim.get_object("car").feature("battery")
    battery.set_charging()
    wait(sim, 1.0)
    assert battery.is_charging and battery.battery_soc > 0.5


def test_chargers_are_restored(sim: Sim) -> None:
    ask(sim, RequestCharge(charger="dock", robot="car", fleet="f", request="r", timeout=30.0))
    saved = sim.save_state()
    before = chargers(sim).save()
    drive(sim, "car", 2.0, 0.0)
    until(sim, CHARGING)
    sim.restore_state(saved)
    assert chargers(sim).save() == before and dock(sim).state is ASSIGNED
    sim.reset()
    assert dock(sim).state is IDLE and len(chargers(sim)) == 2
