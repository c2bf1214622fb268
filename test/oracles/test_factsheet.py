"""The factsheet of VDA 5050 against the parameters of the scenario, and when states are sent, in all versions."""

from __future__ import annotations

import fnmatch
import json
from itertools import pairwise
from typing import Any

import pytest
from master_control import action, line
from oracle_rows import ROWS, holds
from standard_schemas import check_message
from vehicle_bench import VehicleBench, message_numbers, scenario

from fleet_sim.warehouse.vda5050.messages import VERSIONS
from fleet_sim.warehouse.vda5050.reports import VehicleBody, VehicleOutbox, factsheet_values

ROBOT = {
    "pose": [1.3, -0.8, 0.17, 0.7],
    # Wider than long.
    "shape": {"shape_type": "box", "half_extents": [0.3, 0.45, 0.11]},
    "controller": {"type": "omni", "max_linear_vel": 0.9, "max_linear_accel": 0.7, "max_angular_vel": 1.1},
}
# Neither is a whole number of steps of 0.05 s.
FLEET = {"visualization_rate": 7.0, "state_interval": 1.02}


@pytest.mark.parametrize("version", VERSIONS)
@holds(
    "vda5050:factsheet.*", fault="warehouse/vda5050/reports.py: the longer side is the length, also across the robot"
)
def test_the_factsheet_has_the_parameters_of_the_scenario(version: str) -> None:
    bench = VehicleBench(scenario(version, robot=ROBOT, simulation={"timestep": 0.05}, fleet=FLEET))
    shape = bench.vehicle.version.body("factsheet")
    sheet = shape.write(factsheet_values(bench.vehicle, bench.desk))
    third = version == "3.0"
    header = {"headerId": 1, "timestamp": "2026-01-01T00:00:00.00Z", "version": bench.vehicle.version.number}
    check_message(header["version"], "factsheet", header | {"manufacturer": "fleet_sim", "serialNumber": "a"} | sheet)
    physical = sheet["physicalParameters"]
    names = {"speedMax": 0.9, "accelerationMax": 0.7, "decelerationMax": 0.7, "speedMin": 0.0, "heightMax": 0.22}
    names |= {"heightMin": 0.22}
    thirds = {"speed": "Speed", "acceleration": "Acceleration", "deceleration": "Deceleration", "height": "Height"}
    expected = {"length": 0.6, "width": 0.9}
    for name, value in names.items():
        kind, end = name[:-3], name[-3:]
        expected[f"{'maximum' if end == 'Max' else 'minimum'}{thirds[kind]}" if third else name] = value
    assert physical == pytest.approx(expected | ({"maximumAngularSpeed": 1.1} if third else {}))
    kind = sheet["typeSpecification"]
    assert kind["maximumLoadMass" if third else "maxLoadMass"] >= 1e6
    limits = sheet["protocolLimits"]
    least = "minimum" if third else "min"
    expected = {f"{least}OrderInterval": 0.05, f"{least}StateInterval": 0.05}
    expected |= {"defaultStateInterval": 1.0, "visualizationInterval": 0.15}
    assert limits["timing"] == pytest.approx(expected)
    # They are sent at these times.
    outbox, topics = VehicleOutbox(bench.desk, bench.sim.world, lambda bodies: sent.append(bodies)), []
    for _ in range(61):
        sent: list[list[VehicleBody]] = []
        outbox.publish(0.05)
        topics.append({body.topic for bodies in sent for body in bodies})
        bench.sim.step_once()
    for topic, steps in (("state", 20), ("visualization", 3)):
        at = [index for index, told in enumerate(topics) if topic in told]
        assert {after - before for before, after in pairwise(at)} == {steps}
    lengths = limits["maximumArrayLengths" if third else "maxArrayLens"]
    # Each is what is taken in, and no more: tried with actions.
    most = lengths["node.actions"]
    for count, refused in ((most, False), (most + 1, True)):
        given = line(f"o{count}", [(1.3, -0.8)])
        given["nodes"][0]["actions"] = [action("wait", f"w{i}", "NONE", duration=0.1) for i in range(count)]
        assert bool(bench.order(given)) is refused
    longest = limits["maximumStringLengths" if third else "maxStringLens"]["maximumIdLength" if third else "idLen"]
    for count, refused in ((longest, False), (longest + 1, True)):
        assert bool(bench.order(line("x" * count, [(1.3, -0.8)]))) is refused


MEASURED = {
    *("agvPosition", "mobileRobotPosition", "velocity"),
    *("batteryState", "powerSupply", "distanceSinceLastNode"),
}
"""What changes in each step, and is no reason to send a state."""


@pytest.mark.parametrize("version", VERSIONS)
@holds(
    "vda5050:state",
    "vda5050:factsheet",
    fault="warehouse/vda5050/actions.py: no factsheet on request; reports.py: who turns on the spot does not drive;"
    " the end of an interval is not looked at",
)
def test_a_state_is_sent_when_it_says_something_new_and_at_the_end_of_an_interval(version: str) -> None:
    robot = {"pose": [1.3, -0.8, 0.17, 0.7], "battery": {"capacity_wh": 20.0}}
    bench = VehicleBench(scenario(version, robot=robot, simulation={"timestep": 0.05}, fleet={"state_interval": 2.3}))
    points = [(1.3, -0.8), (1.9, -0.3), (1.2, 0.9), (0.4, 0.7), (-1.0, 1.0)]
    order, update = line("o", points, base=4), line("o", points[3:], update=1, first=3)
    order["nodes"][1]["actions"] = [action("wait", "w", duration=0.7)]
    bodies: list[VehicleBody] = []
    outbox, said, sent_at, wrong = VehicleOutbox(bench.desk, bench.sim.world, bodies.extend), {}, -100, []
    sheets = []
    given: dict[int, Any] = {
        30: lambda: bench.instant("stateRequest", "s"),
        45: lambda: bench.instant("factsheetRequest", "f"),
        60: lambda: bench.order(order),
        160: lambda: bench.instant("startPause", "p"),
        210: lambda: bench.instant("stopPause", "q"),
        310: lambda: bench.order(update),
        360: lambda: bench.instant("cancelOrder", "c"),
    }
    for step in range(420):
        bodies.clear()
        outbox.publish(0.05)
        sent = [json.loads("{" + body.text) for body in bodies if body.topic == "state"]
        sheets += [step for body in bodies if body.topic == "factsheet"]
        now = {name: value for name, value in bench.state().items() if name not in MEASURED}
        if (now != said or step - sent_at >= 46) != bool(sent):
            wrong.append(step)
        if sent:
            said, sent_at = now, step
        given.get(step, bench.sim.step_once)()
    assert wrong == []
    # Only when it is asked for: who connects asks for it, too.
    assert sheets == [46]
    assert said["lastNodeId"] == "n3" and not said["nodeStates"]


def test_every_number_is_held() -> None:
    held = [name for row in ROWS if row.test.startswith(__name__) for name in row.fields]
    told = message_numbers("factsheet")
    assert [name for name in told if not any(fnmatch.fnmatch(name, known) for known in held)] == []
