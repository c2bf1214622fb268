"""Doors, lifts, conveyors, lights and work cells against what their settings say, in closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.warehouse.equipment import (
    DoorSettings,
    LiftSettings,
    RunConveyors,
    ServeRobot,
    SwitchLights,
    build_door,
    build_lift,
)

Sim = fs.MultiRobotSimulationCore


@pytest.fixture(params=[0.05, 0.013])
def sim(request: Any) -> Any:
    """An empty world that steps by `dt`."""
    with Sim(fs.SimulationParams(gui=False, target_rtf=0, timestep=request.param)) as made:
        yield made


def body(sim: Sim, name: str, place: tuple[float, float, float], half: tuple[float, float, float], **more: Any) -> Any:
    """Spawn a box, a robot where `more` has a mode of motion."""
    kind = fs.AgentSpawnParams if "motion_mode" in more else fs.SimObjectSpawnParams
    shape = fs.ShapeParams("box", half_extents=half)
    yaw = more.pop("yaw", 0.0)
    return sim.spawn(kind(shape, shape, fs.Pose.from_yaw(*place, yaw), name=name, **more))


def trapezoid(times: np.ndarray, way: float, speed: float, accel: float) -> np.ndarray:
    """Return how far a thing is after `times` that speeds up, goes at `speed`, and brakes to rest after `way` m."""
    ramp = speed / accel
    end = way / speed + ramp
    times = np.clip(times, 0.0, end)
    left = np.minimum(np.minimum(times, end - times), ramp)
    rest = np.where(times < 0.5 * end, 0.5 * accel * left**2, way - 0.5 * accel * left**2)
    return np.where((times > ramp) & (times < end - ramp), speed * (times - 0.5 * ramp), rest)


@holds(
    "api:LiftHandle.height", fault="warehouse/equipment/fittings.py: a step covers 0.51 of the sum of its two speeds"
)
def test_a_cabin_travels_as_its_speed_and_acceleration_say(sim: Sim) -> None:
    dt, way, speed, accel = sim.params.timestep, 6.1, 1.7, 0.6
    lift = build_lift(
        sim,
        LiftSettings(
            name="lift",
            position=(4.0, -1.0),
            yaw=0.7,
            floors=[{"name": "low", "height": 0.3}, {"name": "high", "height": 0.3 + way}],
            doors=[{"name": "front", "x": -1.0, "width": 1.2}],
            door_time=0.7,
            speed=speed,
            accel=accel,
        ),
    )
    rider = body(sim, "rider", (4.2, -0.9, 0.5), (0.2, 0.1, 0.2), motion_mode="omnidirectional")
    lift.call("high")
    heights = [0.3]
    while lift.is_busy or lift.height == 0.3:
        sim.step_once()
        heights.append(lift.height)
        assert rider.get_pose().z - lift.height == pytest.approx(0.2)
        assert sim.sim_time < 20.0
    moving = np.array(heights)
    begin = int(np.flatnonzero(moving > 0.3)[0]) - 1
    moving = moving[begin:] - 0.3
    steps = np.diff(moving)
    # No step is faster than the speed or changes it by more than the acceleration; only the last one may fall short.
    assert steps.max() == pytest.approx(speed * dt, rel=1e-9)
    assert np.abs(np.diff(steps)).max() <= accel * dt * dt * (1.0 + 1e-6)
    expected = trapezoid(np.arange(len(moving)) * dt, way, speed, accel)
    # It ends in whole steps: at most one later.
    assert np.abs(moving - expected).max() <= speed * dt
    assert moving[-1] == pytest.approx(way, abs=1e-12)


@holds(
    "api:DoorHandle.opening",
    fault="warehouse/equipment/door.py: an automatic door closes `hold` s before nobody is near, instead of after",
)
def test_an_automatic_door_closes_when_it_has_been_held(sim: Sim) -> None:
    dt, hold, time, reach = sim.params.timestep, 1.37, 0.83, 1.6
    begin, end = (1.0, -2.0), (1.9, -0.7)
    door = build_door(sim, DoorSettings(name="door", begin=begin, end=end, time=time, hold=hold, automatic=reach))
    leaf = sim.get_object("door")
    closed = leaf.get_pose().position[:2]
    middle = np.array((1.45, -1.35))
    robot = body(sim, "robot", (9.0, 9.0, 0.2), (0.2, 0.1, 0.2), motion_mode="omnidirectional")
    sim.step_once()
    assert door.opening == 0.0
    # Within reach of the middle of the leaf, on a slope.
    robot.set_pose(fs.Pose((*(middle + (1.1, -1.1)), 0.2)))
    openings = []
    while door.opening < 1.0:
        sim.step_once()
        openings.append(door.opening)
    # A quarter of the time each to speed up and to brake.
    accel = 1.0 / (0.75 * time) / (0.25 * time)
    expected = trapezoid((1 + np.arange(len(openings))) * dt, 1.0, 1.0 / (0.75 * time), accel)
    assert np.abs(np.array(openings) - expected).max() <= dt / (0.75 * time)
    width = math.dist(begin, end)
    # It slides into the wall by its width, away from its end.
    slid = closed + (np.array(begin) - end) / width * width
    assert leaf.get_pose().position[:2] == pytest.approx(slid)
    for _ in range(round(0.5 / dt)):
        sim.step_once()
    assert door.opening == 1.0
    robot.set_pose(fs.Pose((*(middle + (1.2, -1.2)), 0.2)))
    left = sim.sim_time
    while door.opening == 1.0:
        sim.step_once()
        assert sim.sim_time - left < 2.0 * hold
    assert hold - dt <= sim.sim_time - left <= hold + 2.0 * dt


@holds(
    "api:conveyor.speed",
    fault="warehouse/equipment/conveyor.py: across the belt has the other sign, so it carries what is beside",
)
def test_a_belt_carries_what_lies_on_it(sim: Sim) -> None:
    dt, yaw, speed = sim.params.timestep, 0.7, 0.43
    along, across = np.array((math.cos(yaw), math.sin(yaw))), np.array((-math.sin(yaw), math.cos(yaw)))
    middle = np.array((2.0, -1.0))
    body(sim, "belt", (*middle, 0.25), (1.1, 0.3, 0.25), yaw=yaw, features={"conveyor": {"speed": speed}})
    offsets = {"on": (-0.7, 0.27), "edge": (0.2, -0.28), "left": (-0.7, 0.33), "right": (0.1, -0.34), "end": (1.2, 0.1)}
    things = {
        name: body(sim, name, (*(middle + x * along + y * across), 0.6), (0.07, 0.09, 0.1), yaw=0.2)
        for name, (x, y) in offsets.items()
    }
    begin = {name: np.array(thing.get_pose().position[:2]) for name, thing in things.items()}
    for count in range(1, 21):
        sim.step_once()
        for name, thing in things.items():
            way = count * dt * speed * along if name in ("on", "edge") else 0.0
            assert thing.get_pose().position[:2] == pytest.approx(begin[name] + way, abs=1e-9), name
    sim.inbox.put(RunConveyors(names=("belt",), speed=-0.9))
    for _ in range(10):
        sim.step_once()
    expected = begin["on"] + (20 * speed - 10 * 0.9) * dt * along
    assert things["on"].get_pose().position[:2] == pytest.approx(expected, abs=1e-9)


@holds("api:light.blink", fault="warehouse/equipment/light.py: a light blinks at half of its frequency")
def test_a_light_is_lit_in_the_first_half_of_each_period(sim: Sim) -> None:
    dt, blink = sim.params.timestep, 1.7
    lamp = body(sim, "lamp", (1.0, 2.0, 0.5), (0.1, 0.1, 0.5), features={"light": {"color": (0.2, 1.0, 0.4)}})
    sim.step_once()
    sim.inbox.put(SwitchLights(names=("lamp",), blink=blink))
    began, lit = sim.sim_time, []
    for _ in range(round(3.0 / dt)):
        sim.step_once()
        lit.append(lamp.get_color()[1] == 1.0)
        phase = ((sim.sim_time - began) * blink) % 1.0
        if min(phase, abs(phase - 0.5), 1.0 - phase) > 1e-6:
            assert lit[-1] is (phase < 0.5), sim.sim_time
    assert True in lit and False in lit


@holds("api:workcell.keep", fault="warehouse/equipment/workcell.py: what was ingested is sent back at once")
def test_what_is_ingested_comes_back_after_its_time(sim: Sim) -> None:
    keep, dt = 0.91, sim.params.timestep
    static = {"collision_mode": "static"}
    body(sim, "source", (1.0, 2.0, 0.3), (0.2, 0.1, 0.3), features={"workcell": {"kind": "dispenser"}}, **static)
    cell = {"kind": "ingestor", "keep": keep}
    body(sim, "sink", (5.0, -2.0, 0.4), (0.2, 0.1, 0.4), features={"workcell": cell}, **static)
    item = body(sim, "item", (1.3, 2.4, 0.3), (0.1, 0.1, 0.07), pickable=True)
    robot = body(sim, "robot", (1.5, 1.0, 0.2), (0.2, 0.1, 0.2), motion_mode="omnidirectional", yaw=0.7)
    sim.step_once()
    sim.inbox.put(ServeRobot(cell="source", request="a", robots=("robot",)))
    sim.step_once()
    # On top of the robot, by the boxes around both.
    assert item.get_pose().position == pytest.approx((1.5, 1.0, 0.2 + 0.2 + 0.07))
    robot.set_pose(fs.Pose((4.4, -1.8, 0.2)))
    sim.inbox.put(ServeRobot(cell="sink", request="b", robots=("robot",)))
    sim.step_once()
    taken = sim.sim_time
    assert item.get_pose().position == pytest.approx((5.0, -2.0, 0.4))
    while item.get_pose().x > 4.0:
        sim.step_once()
        assert sim.sim_time - taken < 2.0
    assert item.get_pose().position == pytest.approx((1.3, 2.4, 0.3))
    assert keep - dt <= sim.sim_time - taken <= keep + dt


@holds("api:workcell.reach", fault="warehouse/equipment/workcell.py: the robot named first is served, however far")
def test_cells_give_and_take_what_is_nearest_and_answer_each_request_once(sim: Sim) -> None:
    told: list[tuple[str, str, bool, str]] = []
    sim.events.on(
        "robot_served", lambda cell, request, success, reason: told.append((cell.name, request, success, reason))
    )
    cells = {"out": (3.1, -0.7, 0.4), "in": (-4.2, 2.3, 0.4), "other": (9.0, 9.0, 0.4)}
    for name, place in cells.items():
        kind = {"kind": "ingestor" if name == "in" else "dispenser", "reach": 0.9, "keep": 2.6}
        body(sim, name, place, (0.3, 0.3, 0.4), features={"workcell": kind}, mass=0.0)
    # The nearest one is fixed, another one is as far away as cells reach, and one just beyond that.
    body(sim, "post", (3.3, -0.5, 0.4), (0.05, 0.05, 0.1), pickable=False)
    item = body(sim, "item", (3.1 + 0.5, -0.7 - 0.6, 0.4 + 0.4), (0.1, 0.07, 0.09), mass=1.0)
    body(sim, "far", (3.1 + 0.66, -0.7 - 0.54, 0.4 + 0.3), (0.1, 0.07, 0.09), mass=1.0)
    near = body(sim, "near", (2.2, -1.6, 0.2), (0.2, 0.1, 0.17), motion_mode="omnidirectional", yaw=0.7)
    body(sim, "away", (2.2, 1.6, 0.2), (0.2, 0.1, 0.17), motion_mode="omnidirectional")
    sim.step_once()

    def serve(cell: str, request: str, *robots: str) -> str:
        future = sim.inbox.put(ServeRobot(cell=cell, robots=robots, request=request, source="me", command_id=request))
        sim.step_once()
        answer = future.result()
        assert (answer.source, answer.command_id) == ("me", request)
        assert answer.accepted_names == ((cell,) if not answer.rejected else ())
        return dict(answer.rejected).get(cell, "")

    assert "no robot" in serve("out", "none", "nobody")
    assert serve("out", "first", "away", "near", "nobody") == ""
    assert item.attached_to is near and told[-1] == ("out", "first", True, "")
    x, y, z = near.get_pose().position
    assert item.get_pose().position == pytest.approx((x, y, z + 0.17 + 0.09))
    # Once more it is the same request, and another one gets nothing, as the cell keeps to its own object.
    assert serve("out", "first", "away") == "" and told[-1][:3] == ("out", "first", True)
    assert "nothing" in serve("out", "second", "away") and told[-1][:3] == ("out", "second", False)
    assert "nothing" in serve("other", "third", "near") and "no work cell" in serve("near", "fourth", "near")
    assert "brings nothing" in serve("in", "empty", "away")
    begin = sim.sim_time
    assert serve("in", "taken", "away", "near") != "" and item.attached_to is near
    near.set_pose(fs.Pose.from_yaw(-4.0, 1.2, 0.2, 0.7))
    assert serve("in", "taken again", "away", "near") == ""
    since = sim.sim_time
    assert item.attached_to is None and item.get_pose().position == pytest.approx(cells["in"])
    assert "full" in serve("in", "more", "near") and "nothing" in serve("out", "fifth", "near")
    while item.get_pose().position == pytest.approx(cells["in"]):
        sim.step_once()
    assert sim.sim_time - since == pytest.approx(2.6, abs=1.5 * sim.params.timestep) and begin < since
    assert item.get_pose().position == pytest.approx((3.6, -1.3, 0.8))
    sim.step_once()
    assert serve("out", "sixth", "near") == "" and item.attached_to is near
    # Put down beside the robot it is taken as well; by hand to elsewhere it does not come back.
    near.detach_object(item)
    item.set_pose(fs.Pose((-4.0 + 0.4, 1.2 + 0.3, 0.2)))
    assert serve("in", "beside", "near") == "" and item.get_pose().position == pytest.approx(cells["in"])
    near.attach_object(item, keep_world_pose=True)
    end = sim.sim_time + 3.0
    while sim.sim_time < end:
        sim.step_once()
    assert item.attached_to is near and told[-1][:3] == ("in", "beside", True)
