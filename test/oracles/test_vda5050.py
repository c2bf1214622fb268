"""Numbers that vehicles publish by VDA 5050, computed from the world's poses and the scenario, in all versions."""

from __future__ import annotations

import fnmatch
import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from master_control import edge, line, node
from oracle_rows import ROWS, holds
from vehicle_bench import VehicleBench, message_numbers, scenario

import fleet_sim as fs
from fleet_sim.warehouse.vda5050.messages import VERSIONS
from fleet_sim.warehouse.vda5050.reports import VehicleBody, VehicleOutbox

YAW, VOLTS, CAPACITY = 0.7, 48.0, 20.0
IDLE, DRIVE, LOAD, CHARGE = 13.0, 41.0, 0.7, 310.0
BODY = {"shape_type": "box", "half_extents": [0.3, 0.45, 0.11]}
ROBOT = {
    "pose": [1.3, -0.8, 0.17, YAW],
    "shape": BODY,
    "controller": {
        "type": "omni",
        "max_linear_vel": 0.9,
        "max_linear_accel": 0.7,
        "max_angular_vel": 1.1,
        "max_angular_accel": 1.9,
    },
    "battery": {
        "capacity_wh": CAPACITY,
        "level": 0.61,
        "idle_power": IDLE,
        "drive_energy": DRIVE,
        "load_energy": LOAD,
        "charge_power": CHARGE,
        "voltage": VOLTS,
    },
}
ALL = pytest.mark.parametrize("version", VERSIONS)


def bench_of(version: str, **robot: Any) -> VehicleBench:
    """Return a bench with one vehicle, that stands turned and off the origin."""
    fleet = {"visualization_rate": 20.0, "state_interval": 7.0}
    return VehicleBench(
        scenario(version, robot={**ROBOT, **robot}, simulation={"timestep": 0.05}, fleet=fleet, drive=None)
    )


def messages(bench: VehicleBench) -> dict[str, dict[str, Any]]:
    """Return the messages that the vehicle sends now, by topic, as they leave the simulation."""
    bodies: list[VehicleBody] = []
    VehicleOutbox(bench.desk, bench.sim.world, bodies.extend).publish(0.05)
    return {body.topic: json.loads("{" + body.text) for body in bodies}


def renamed(state: dict[str, Any], old: str, new: str) -> Any:
    """Return a part of a state, which version 3.0 calls otherwise."""
    return state[old] if old in state else state[new]


@ALL
@holds(
    "vda5050:state.agvPosition.*",
    "vda5050:state.mobileRobotPosition.*",
    "vda5050:state.velocity.*",
    "vda5050:visualization.agvPosition.*",
    "vda5050:visualization.mobileRobotPosition.*",
    "vda5050:visualization.velocity.*",
    "vda5050:state.distanceSinceLastNode",
    fault="warehouse/vda5050/vehicle.py: vy has the other sign; the distance since the last node is along x only",
)
def test_motion_is_that_of_the_poses(version: str) -> None:
    bench = bench_of(version)
    robot = bench.sim.get_object("a")
    order = line("o", [(1.3, -0.8), (1.7, 1.6), (-0.4, 2.9)])
    for way in order["edges"]:
        way |= {"orientation": YAW, "orientationType": "GLOBAL"}
    assert bench.order(order) == {}
    driven, before, seen = 0.0, robot.get_pose(), set()
    for step in range(190):
        bench.sim.step_once()
        pose, sent = robot.get_pose(), messages(bench)
        # The mean over the step: right where it drives at one speed.
        vx, vy = ((np.array(pose.position) - before.position) / 0.05)[:2]
        omega = math.remainder(pose.yaw - before.yaw, 2 * math.pi) / 0.05
        state = bench.state()
        last, expected = state["lastNodeId"], (pose.x, pose.y, pose.yaw)
        driven = math.dist(pose.position[:2], before.position[:2]) + driven if last in seen else 0.0
        seen.add(last)
        for message, digits in ((state, 1e-6), (sent["visualization"], 1e-4)):
            place = renamed(message, "agvPosition", "mobileRobotPosition")
            assert [place[name] for name in ("x", "y", "theta")] == pytest.approx(expected, abs=digits)
            told = message["velocity"]
            if last in ("n0", "n1") and 28 < step < 36:
                # From the axes of the world to those of the vehicle: turned back by its heading.
                turn = np.array([[math.cos(YAW), math.sin(YAW)], [-math.sin(YAW), math.cos(YAW)]])
                assert [told["vx"], told["vy"]] == pytest.approx(turn @ (vx, vy), abs=2e-3)
                assert abs(told["vx"]) > 0.1 and abs(told["vy"]) > 0.1
                assert told["omega"] == pytest.approx(omega, abs=1e-4)
        if last == "n0":
            assert state["distanceSinceLastNode"] == pytest.approx(math.dist(pose.position[:2], (1.3, -0.8)), abs=1e-4)
        elif last == "n1" and state["nodeStates"]:
            # Past the node, on a corner that it takes exactly.
            assert state["distanceSinceLastNode"] == pytest.approx(math.dist(pose.position[:2], (1.7, 1.6)), abs=1e-4)
        before = pose
    assert {"n0", "n1", "n2"} <= seen


@ALL
@holds(
    "vda5050:state.distanceSinceLastNode",
    "vda5050:state.velocity.omega",
    fault="warehouse/vda5050/reports.py: the distance since the last node is the straight one, not the one driven",
)
def test_on_a_curve_the_distance_is_the_one_that_it_has_driven(version: str) -> None:
    bench = bench_of(version, controller={"type": "omni", "max_linear_vel": 0.5})
    radius, (x, y) = 2.0, (1.3, -0.8)
    # A quarter of a circle about (x, y + radius), exactly, as a rational curve.
    points = [(x, y, 1.0), (x + radius, y, math.sqrt(0.5)), (x + radius, y + radius, 1.0)]
    curve = {
        "degree": 2,
        "knotVector": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
        "controlPoints": [{"x": px, "y": py, "weight": weight} for px, py, weight in points],
    }
    order = line("o", [(x, y), (x + radius, y + radius)])
    order["edges"][0]["trajectory"] = curve
    assert bench.order(order) == {}
    worst = 0.0
    while (state := bench.state())["nodeStates"]:
        bench.sim.step_once()
        px, py = bench.vehicle.place
        arc = radius * math.atan2(px - x, y + radius - py)
        if state["lastNodeId"] == "n0" and bench.state()["nodeStates"]:
            told = bench.state()["distanceSinceLastNode"]
            assert told == pytest.approx(arc, abs=0.02)
            worst = max(worst, told - math.dist((px, py), (x, y)))
    assert worst > 0.2


@ALL
@holds(
    "vda5050:state.loads.*",
    fault=(
        "warehouse/vda5050/reports.py: the box stands on its upper side (z + height / 2); loads on loads are left out"
    ),
)
def test_loads_are_told_in_the_frame_of_the_vehicle(version: str) -> None:
    bench = bench_of(version)
    robot = bench.sim.get_object("a")
    beside = fs.Pose((0.02, 0.03, 0.01))
    pallet, crate = (
        bench.sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose((5.0, 5.0, 1.0)), name=name, mass=mass))
        for name, mass, shape in (
            ("pallet", 7.5, fs.ShapeParams("box", half_extents=(0.25, 0.15, 0.06))),
            # A shape beside the origin of its body.
            ("crate", 2.25, fs.ShapeParams("box", half_extents=(0.1, 0.05, 0.08), frame_pose=beside)),
        )
    )
    robot.attach_object(pallet, relative_pose=fs.Pose.from_yaw(0.12, -0.07, 0.17, 0.4))
    pallet.attach_object(crate, relative_pose=fs.Pose.from_yaw(0.05, 0.04, 0.14, 0.5))
    bench.sim.step_once()
    first, second = bench.state()["loads"]
    assert (first["loadId"], first["weight"], second["loadId"], second["weight"]) == ("pallet", 7.5, "crate", 2.25)
    assert first["loadDimensions"] == pytest.approx({"length": 0.5, "width": 0.3, "height": 0.12})
    assert second["loadDimensions"] == pytest.approx({"length": 0.2, "width": 0.1, "height": 0.16})
    below = {"x": 0.12, "y": -0.07, "z": 0.17 - 0.06, "theta": 0.4}
    assert first["boundingBoxReference"] == pytest.approx(below, abs=1e-6)
    on = np.array((0.12, -0.07)) + rotated(0.4, (0.05, 0.04)) + rotated(0.9, (0.02, 0.03))
    above = {"x": on[0], "y": on[1], "z": 0.17 + 0.14 + 0.01 - 0.08, "theta": 0.9}
    assert second["boundingBoxReference"] == pytest.approx(above, abs=1e-6)


def rotated(angle: float, point: tuple[float, float]) -> np.ndarray:
    """Return a point turned about the origin."""
    turned = complex(*point) * complex(math.cos(angle), math.sin(angle))
    return np.array((turned.real, turned.imag))


@ALL
@holds(
    "vda5050:state.batteryState.*",
    "vda5050:state.powerSupply.*",
    fault="warehouse/vda5050/reports.py: the current is power times voltage",
)
def test_the_battery_gives_what_is_drawn(version: str) -> None:
    bench = bench_of(version)
    energy = 0.61 * CAPACITY * 3600.0
    robot, speed, place = bench.sim.get_object("a"), 0.0, bench.sim.get_object("a").position
    for step in range(-1, 120):
        if step == -1:
            bench.order(line("o", [(1.3, -0.8), (1.7, 7.6)]))
        elif step == 60:
            bench.instant("startCharging", "c")
        else:
            bench.sim.step_once()
        charging, before, speed = step >= 60, speed, math.hypot(*robot.velocity[:2])
        way, place = math.dist(place, robot.position), robot.position
        energy += 0.05 * (CHARGE * charging - IDLE) - DRIVE * way
        state = bench.state()
        told = renamed(state, "batteryState", "powerSupply")
        # Where an acceleration ends within a step, the mean of its speeds is not quite the mean speed.
        assert renamed(told, "batteryCharge", "stateOfCharge") == pytest.approx(energy / (36.0 * CAPACITY), abs=5e-5)
        assert told["batteryVoltage"] == VOLTS and told["charging"] is charging
        if version == "3.0":
            # Into the battery is positive, as in sensor_msgs/BatteryState.
            power = CHARGE * charging - IDLE - DRIVE * 0.5 * (before + speed)
            assert told["batteryCurrent"] == pytest.approx(power / VOLTS, abs=1e-5)


@ALL
@holds(
    "vda5050:state.newBaseRequest",
    fault="warehouse/vda5050/reports.py: the way along y does not count; the second for the answer is left out",
)
def test_more_base_is_asked_for_a_second_before_it_brakes_for_the_end_of_what_it_has(version: str) -> None:
    points = [(1.3, -0.8), (1.7, 1.6), (-0.4, 2.9), (-0.9, 4.4)]
    told = []
    bench = bench_of(version)
    assert bench.order(line("o", points, base=3)) == {}
    while (state := bench.state())["lastNodeId"] != "n2":
        place, speed = bench.vehicle.place, math.hypot(*bench.sim.get_object("a").velocity[:2])
        ahead = [place, *points[{"n0": 1, "n1": 2}[state["lastNodeId"]] : 3]]
        left = sum(math.dist(one, other) for one, other in pairwise(ahead))
        told.append((state["newBaseRequest"], speed * speed / (2.0 * 0.7) + speed - left))
        bench.sim.step_once()
    # Within a millimetre it may be one or the other.
    assert all(asked == (more > 0.0) for asked, more in told if abs(more) > 1e-3)
    assert {asked for asked, _ in told} == {False, True} and state["newBaseRequest"]
    # Of an order without a horizon nothing more is wanted.
    last = bench_of(version)
    assert last.order(line("o", points[:3])) == {}
    assert not any(last.state()["newBaseRequest"] for _ in range(110) if last.sim.step_once() is None)


@ALL
@holds(
    "vda5050:state.nodeStates.*",
    "vda5050:state.edgeStates.*",
    "vda5050:state.orderUpdateId",
    "vda5050:state.lastNodeSequenceId",
    fault="warehouse/vda5050/reports.py: a node without a theta is told with one of 0",
)
def test_what_is_ahead_is_what_the_order_said(version: str) -> None:
    bench = bench_of(version)
    # Orders of 3.0 begin with update 0.
    update = 0 if version == "3.0" else 4
    order = line("o", [(1.3, -0.8), (1.7, 1.6), (-0.4, 2.9)], first=3, update=update, base=2)
    order["nodes"][2]["nodePosition"]["theta"] = -1.3
    curve = {
        "degree": 2,
        "knotVector": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
        "controlPoints": [{"x": 1.7, "y": 1.6}, {"x": 0.9, "y": 2.6, "weight": 1.7}, {"x": -0.4, "y": 2.9}],
    }
    order["edges"][1]["trajectory"] = curve
    assert bench.order(order) == {}
    state = bench.state()
    assert (state["orderUpdateId"], state["lastNodeSequenceId"]) == (update, 6)
    for told, given in zip(state["nodeStates"], order["nodes"][1:], strict=True):
        assert told["sequenceId"] == given["sequenceId"]
        # Version 2.0 demands a heading, also where the order has none.
        expected = {"theta": 0.0} if version == "2.0" else {}
        assert told["nodePosition"] == expected | given["nodePosition"]
    assert [told["sequenceId"] for told in state["edgeStates"]] == [7, 9]
    told = state["edgeStates"][1]["trajectory"]
    assert (told["degree"], told["knotVector"]) == (2, curve["knotVector"])
    assert [(p["x"], p["y"], p.get("weight", 1.0)) for p in told["controlPoints"]] == [
        (1.7, 1.6, 1.0),
        (0.9, 2.6, 1.7),
        (-0.4, 2.9, 1.0),
    ]


@holds(
    "api:vda5050.allowedDeviationTheta",
    fault=(
        "warehouse/vda5050/driving.py: a deviation below 0, which 2.0 allows, makes the vehicle turn (abs is missing)"
    ),
)
def test_a_deviation_below_zero_is_as_wide_as_one_above() -> None:
    for deviation, turns in ((-0.5, False), (0.5, False), (-0.05, True)):
        bench = bench_of("2.0", controller={"type": "differential", "max_linear_vel": 1.0, "max_angular_vel": 2.0})
        way = math.atan2(2.4, 0.4)
        nodes = [node(0, 1.3, -0.8), node(1, 1.7, 1.6, theta=way + 0.3, allowedDeviationTheta=deviation)]
        ends = {"startNodeId": "n0", "endNodeId": "n1"}
        assert bench.order({"orderId": "o", "orderUpdateId": 0, "nodes": nodes, "edges": [edge(0, **ends)]}) == {}
        bench.arrive("n1")
        expected = way + 0.3 if turns else way
        assert bench.vehicle.heading == pytest.approx(expected, abs=0.03)


CONSTANTS = {"vda5050:connection.headerId": "counted by the connection: test_vda5050_broker.py"}


def test_every_number_is_held() -> None:
    held = [name for row in ROWS if row.test.startswith(__name__) for name in row.fields]
    told = message_numbers("state", "visualization", "connection")
    missing = [name for name in told if not any(fnmatch.fnmatch(name, known) for known in (*held, *CONSTANTS))]
    assert missing == []
