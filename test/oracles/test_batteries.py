"""Batteries against the balance of their energy, in closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.world.features import FAULTS, FEATURES

IDLE, DRIVE, LOAD, CHARGE, CAPACITY, LEVEL = 17.0, 43.0, 1.9, 260.0, 1.3, 0.83
BATTERY = {
    "capacity_wh": CAPACITY,
    "level": LEVEL,
    "idle_power": IDLE,
    "drive_energy": DRIVE,
    "load_energy": LOAD,
    "charge_power": CHARGE,
    "low_level": 0.41,
}


@pytest.fixture(params=[0.05, 0.013])
def sim(request: Any) -> Any:
    """An empty world that steps by `dt`."""
    params = fs.SimulationParams(gui=False, target_rtf=0, timestep=request.param)
    with fs.MultiRobotSimulationCore(params) as made:
        yield made


def box(sim: Any, name: str, mass: float = 0.0, **robot: Any) -> Any:
    """Spawn a box, a robot where it has a battery."""
    shape = fs.ShapeParams("box", half_extents=(0.2, 0.15, 0.1))
    kind = fs.AgentSpawnParams if robot else fs.SimObjectSpawnParams
    return sim.spawn(kind(shape, shape, fs.Pose.from_yaw(1.0, -2.0, 0.1, 0.7), name=name, mass=mass, **robot))


def robot(sim: Any, **battery: Any) -> Any:
    """Spawn a robot that speeds up at 0.6 m/s2 to 1.1 m/s."""
    limits = {"motion_mode": "omnidirectional", "max_linear_vel": 1.1, "max_linear_accel": 0.6}
    return box(sim, "robot", features={"battery": {**BATTERY, **battery}}, **limits)


@holds(
    "api:Battery.energy",
    "api:Battery.battery_soc",
    "api:Battery.power",
    fault="warehouse/battery/battery.py: a load on a load costs nothing",
)
def test_driving_costs_what_it_carries_also_loads_on_loads(sim: Any) -> None:
    dt, carrier = sim.params.timestep, robot(sim)
    battery = carrier.feature("battery")
    assert battery.power == 0.0 and not battery.is_charging
    pallet, crate, parcel = (box(sim, name, mass) for name, mass in (("a", 3.5), ("b", 1.25), ("c", 0.5)))
    carrier.attach_object(pallet, relative_pose=fs.Pose((0.02, 0.03, 0.2)))
    pallet.attach_object(crate, relative_pose=fs.Pose((0.01, -0.02, 0.2)))
    crate.attach_object(parcel, relative_pose=fs.Pose((0.03, 0.01, 0.2)))
    # Who is carried pays for standing alone.
    rider = box(sim, "rider", features={"battery": {**BATTERY, "idle_power": 3.0}}, motion_mode="omnidirectional")
    carrier.attach_object(rider, relative_pose=fs.Pose((-0.1, 0.05, 0.4)))
    per_metre = DRIVE + LOAD * (3.5 + 1.25 + 0.5 + rider.mass)
    energy, begin = LEVEL * CAPACITY * 3600.0, np.array(carrier.get_pose().position)
    goal = begin + (3.1, 2.3, 0.0)
    carrier.set_goal_pose(fs.Pose(tuple(goal)))
    while sim.sim_time < 6.0:
        before, place = battery.energy, carrier.get_pose().position
        sim.step_once()
        way = math.dist(place, carrier.get_pose().position)
        # Within a step in which the acceleration changes, the mean of the speeds is not quite the mean speed.
        assert battery.power == pytest.approx(-IDLE - per_metre * way / dt, abs=0.3 * 0.6 * dt * per_metre)
        assert battery.energy - before == pytest.approx(battery.power * dt, abs=1e-6)
    assert carrier.get_pose().position == pytest.approx(goal)
    # Way and time alone: what it costs to stand for 6 s and to come there.
    steps = round(6.0 / dt + 0.49)
    expected = energy - IDLE * steps * dt - per_metre * math.dist(goal, begin)
    assert battery.energy == pytest.approx(expected, abs=0.2 * 0.6 * per_metre * dt**2)
    assert battery.battery_soc == pytest.approx(battery.energy / (CAPACITY * 3600.0))
    assert rider.feature("battery").energy == pytest.approx(energy - 3.0 * steps * dt)


@holds(
    "api:Battery.energy",
    "api:Battery.power",
    "api:Battery.is_empty",
    fault="warehouse/battery/battery.py: in the step in which it becomes full it takes as much as in the one before",
)
def test_charging_and_draining_end_at_full_and_at_empty(sim: Any) -> None:
    dt, carrier, told = sim.params.timestep, robot(sim, level=0.4093), []
    battery, whole = carrier.feature("battery"), CAPACITY * 3600.0
    for event in ("battery_low", "battery_empty", "battery_full"):
        sim.events.on(event, lambda agent, event=event: told.append((event, sim.sim_time)))
    battery.set_charging()
    energy = 0.4093 * whole
    full = (whole - energy) / (CHARGE - IDLE)
    while sim.sim_time < full + 1.0:
        before = battery.energy
        sim.step_once()
        energy = min(energy + (CHARGE - IDLE) * dt, whole)
        assert battery.energy == pytest.approx(energy, rel=1e-9)
        # What goes in is what is in it then, also in the step in which it is full.
        assert battery.power * dt == pytest.approx(battery.energy - before, abs=1e-6)
    assert [event for event, _ in told] == ["battery_full"] and abs(told[0][1] - full) <= 2.0 * dt
    battery.set_charging(False)
    begin, battery.battery_soc = sim.sim_time, 0.4101
    low, empty = (0.4101 - 0.41) * whole / IDLE, 0.0
    while sim.sim_time < begin + low + 0.5:
        sim.step_once()
    battery.battery_soc = 0.003
    begin, empty = sim.sim_time, 0.003 * whole / IDLE
    while sim.sim_time < begin + empty + 0.5:
        before = battery.energy
        sim.step_once()
        assert battery.power * dt == pytest.approx(battery.energy - before, abs=1e-6)
    assert [event for event, _ in told] == ["battery_full", "battery_low", "battery_empty"]
    assert abs(told[2][1] - begin - empty) <= 2.0 * dt and battery.is_empty and battery.energy == 0.0


def test_the_last_of_its_energy_is_enough_and_none_is_not(sim: Any) -> None:
    told: list[str] = []
    sim.events.on("battery_empty", lambda agent: told.append(agent.name))
    carrier = robot(sim, level=2e-6, idle_power=0.0, drive_energy=0.0)
    battery, feature, table = carrier.feature("battery"), FEATURES.get("battery"), sim.features.table("battery")

    def reported(name: str) -> float:
        columns = {column: values for column, _, values in table.columns()}
        return float(feature.report(columns)[name][carrier.row])

    carrier.set_velocity(0.3, 0.2, 0.4)
    for _ in range(5):
        sim.step_once()
    assert math.hypot(*carrier.velocity) > 0.01
    assert battery.energy == pytest.approx(2e-6 * CAPACITY * 3600.0) and not battery.is_empty and told == []
    assert reported("battery") == pytest.approx(2e-6) and reported("faults") == reported("charging") == 0
    assert feature.details(table, carrier.row) == [("battery", "0 %")]
    battery.battery_soc = 0.376
    battery.set_charging()
    assert feature.details(table, carrier.row) == [("battery", "38 %, charging")]
    assert reported("charging") == 1.0 and battery.is_charging
    battery.set_charging(False)
    battery.battery_soc = 0.0
    sim.step_once()
    sim.step_once()
    assert battery.is_empty and math.hypot(*carrier.velocity) == 0.0 and reported("faults") == FAULTS["battery_empty"]


def test_driving_up_is_a_way_too(sim: Any) -> None:
    carrier, dt = robot(sim, idle_power=0.0), sim.params.timestep
    begin, battery = np.array(carrier.position), carrier.feature("battery")
    carrier.set_velocity(0.3, 0.2, 0.4)
    while sim.sim_time < 2.0:
        sim.step_once()
    way = math.dist(begin, carrier.position)
    assert battery.energy == pytest.approx(LEVEL * CAPACITY * 3600.0 - DRIVE * way, abs=DRIVE * 0.6 * dt**2)
    assert battery.power == pytest.approx(-DRIVE * math.hypot(0.3, 0.2, 0.4), rel=1e-6)


def test_one_that_begins_at_its_mark_does_not_fall_to_it(sim: Any) -> None:
    told: list[str] = []
    sim.events.on("battery_low", lambda agent: told.append(agent.name))
    battery = robot(sim, level=BATTERY["low_level"]).feature("battery")
    for _ in range(3):
        sim.step_once()
    assert told == [] and battery.battery_soc < BATTERY["low_level"]
    battery.battery_soc = BATTERY["low_level"] + 1e-9
    sim.step_once()
    assert told == ["robot"]
