"""Bumpers: who touches a robot, where, and when no more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from shapes_of_kinds import shape_of

import fleet_sim as fs
from fleet_sim.sensing.sensors.contact import ContactParams
from fleet_sim.sensing.sensors.solids import nearest_points, solids_of

Sim = fs.MultiRobotSimulationCore
BOT = fs.ShapeParams("cylinder", radius=0.2, height=0.4)


def robot(sim: Sim, x: float, y: float, yaw: float = 0.0, **settings: Any) -> fs.Agent:
    agent: fs.Agent = sim.spawn(
        fs.AgentSpawnParams(BOT, BOT, fs.Pose.from_yaw(x, y, 0.2, yaw), motion_mode="omnidirectional", **settings)
    )
    return agent


def test_contacts_begin_and_end(sim: Sim) -> None:
    first, second = robot(sim, 0.0, 0.0), robot(sim, 1.0, 0.0)
    bumpers = [sim.add_sensor("contact", agent) for agent in (first, second)]
    felt: list[tuple[bool, bool]] = []
    for bumper in bumpers:
        bumper.subscribe()
    first.set_velocity(1.0)
    for step in range(30):
        if step == 14:
            first.set_velocity(-1.0)
        sim.step_once()
        felt.append((bumpers[0].latest.touching, bumpers[1].latest.touching))
    assert felt[0] == felt[-1] == (False, False)
    assert (True, True) in felt
    assert all(a == b for a, b in felt)


def test_many_are_read_in_one_call(sim: Sim) -> None:
    fleet = [robot(sim, 0.39 * index, 0.0, sensors=["contact"]) for index in range(12)]
    sim.step_once()
    readings = sim.sensors.read([agent.sensor("contacts") for agent in fleet])
    ids = [agent.object_id for agent in fleet]
    expected = [[ids[near] for near in (index - 1, index + 1) if 0 <= near < 12] for index in range(12)]
    assert [reading.others.tolist() for reading in readings] == expected
    assert [reading.bearings.tolist() for reading in readings][1] == pytest.approx([math.pi, 0.0])


@pytest.mark.parametrize(
    ("kind", "point", "nearest"),
    [
        ("box", (2.0, 0.1, 0.0), (0.5, 0.1, 0.0)),
        ("box", (2.0, 2.0, 2.0), (0.5, 0.5, 0.5)),
        ("sphere", (3.0, 0.0, 4.0), (0.18, 0.0, 0.24)),
        ("cylinder", (3.0, 4.0, 0.2), (0.18, 0.24, 0.2)),
        ("cylinder", (0.1, 0.0, 2.0), (0.1, 0.0, 0.5)),
        ("capsule", (3.0, 0.0, 0.5 + 4.0), (0.18, 0.0, 0.5 + 0.24)),
        ("capsule", (3.0, 4.0, -0.1), (0.18, 0.24, -0.1)),
        ("plane", (3.0, 4.0, 2.0), (3.0, 4.0, 0.0)),
        ("box", (0.1, 0.1, 0.1), (0.0, 0.0, 0.0)),
    ],
)
def test_nearest_points(sim: Sim, kind: Any, point: Any, nearest: Any) -> None:
    shape = shape_of(kind, half_extents=(0.5, 0.5, 0.5), radius=0.3, height=1.0)
    pose = fs.Pose.from_euler(1.0, 2.0, 3.0, 0.3, 0.5, 0.7)
    obj = sim.spawn(fs.SimObjectSpawnParams(None, shape, pose))

    def placed(local: Any) -> Any:
        mover = sim.add_sensor("contact", obj, name=f"{local}", pose=list(local))
        return np.array(mover.get_pose().position)

    found = nearest_points(solids_of(sim.world), np.array([obj.row]), placed(point)[None])
    assert found[0] == pytest.approx(placed(nearest))


def test_wrong_settings() -> None:
    with pytest.raises(fs.ConfigError, match="angle_max: must be at least angle_min"):
        ContactParams(angle_min=1.0, angle_max=0.5)
