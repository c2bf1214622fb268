"""A conveyor carries what lies on it to its end, and no farther."""

from __future__ import annotations

import math

import pytest

import fleet_sim as fs
from fleet_sim.warehouse.equipment import RunConveyors


def box(
    name: str, x: float, y: float, z: float, half: tuple[float, float, float], **more: object
) -> fs.SimObjectSpawnParams:
    shape = fs.ShapeParams("box", half_extents=half)
    return fs.SimObjectSpawnParams(shape, shape, fs.Pose((x, y, z)), name=name, **more)


def test_what_lies_on_a_belt_goes_to_its_end(sim: fs.MultiRobotSimulationCore) -> None:
    belt = box("belt", 0.0, 0.0, 0.25, (1.0, 0.3, 0.25), features={"conveyor": {"speed": 0.5}})
    belt.initial_pose = fs.Pose.from_euler(0.0, 0.0, 0.25, 0.0, 0.0, math.pi / 2)
    sim.spawn(belt)
    on, beside, above = (
        sim.spawn(box(name, x, -0.5, z, (0.1, 0.1, 0.1)))
        for name, x, z in (("on", 0.0, 0.6), ("beside", 2.0, 0.6), ("above", 0.0, 1.0))
    )
    for _ in range(10):
        sim.step_once()
    assert on.get_pose().position == pytest.approx((0.0, 0.0, 0.6), abs=1e-9)
    for command in (RunConveyors(names=("belt", "on"), running=False), RunConveyors(names=("belt",), speed=math.nan)):
        answer = sim.inbox.put(command)
        sim.step_once()
        assert answer.exception() is not None or answer.result().rejected == {"on": "it is not a conveyor"}
    assert on.get_pose().position[1] == pytest.approx(0.0, abs=1e-9)
    sim.inbox.put(RunConveyors(names=("belt",), speed=1.0))
    for _ in range(40):
        sim.step_once()
    # It leaves the belt with its middle, and stays there.
    assert 1.0 < on.get_pose().position[1] <= 1.1 + 1e-9
    assert beside.get_pose().position == (2.0, -0.5, 0.6) and above.get_pose().position == (0.0, -0.5, 1.0)
