"""Scans and pictures on the page of the live view: they are shown from where they were taken, also in a pause."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimObjectSpawnParams

pytest.importorskip("viser")
from fleet_sim.apps.viewer.source import Wanted, Watching

Sim = MultiRobotSimulationCore
BOX = ShapeParams("box", half_extents=(0.2, 0.2, 0.1), rgba_color=(0.2, 0.5, 0.9, 1.0))
WALL = ShapeParams("box", half_extents=(0.1, 5.0, 0.5))
SENSORS = [
    {"type": "lidar", "name": "scan", "rays": 36, "range_max": 5.0, "rate": 1.0},
    {"type": "camera", "name": "eye", "width": 32, "height": 24, "rate": 1.0},
]
SCANS = Wanted(scans=True)


@pytest.fixture
def scanning(make_sim: Callable[..., Sim]) -> Sim:
    """A robot that turns and scans once a second, beside a wall."""
    sim = make_sim(timestep=0.1)
    robot = AgentSpawnParams(BOX, BOX, Pose.from_xyz(0.0, 0.0, 0.2), name="robot", sensors=SENSORS)
    sim.spawn(robot).set_velocity(wz=1.0)
    sim.spawn(SimObjectSpawnParams(WALL, WALL, Pose.from_xyz(2.0, 0.0, 0.2), name="wall"))
    return sim


def test_points_stay_where_the_scan_met_something(scanning: Sim) -> None:
    watching = Watching(scanning)
    watching.look(SCANS)
    for _ in range(15):
        scanning.step_once()
    assert abs(scanning.agents[0].get_pose().yaw) > 1.0
    points, _ = watching.look(SCANS)
    assert len(points) > 5
    np.testing.assert_allclose(points[:, 0], 1.9, atol=1e-6)


def test_what_is_asked_for_in_a_pause_is_read_at_once(scanning: Sim) -> None:
    scanning.step_once()
    scanning.pause()
    hashed, watching = scanning.state_hash(), Watching(scanning)
    points, pictures = watching.look(Wanted(scans=True, cameras=frozenset({("robot", "eye")})))
    np.testing.assert_allclose(points[:, 0], 1.9, atol=1e-6)
    assert pictures["robot", "eye"].shape == (24, 32, 3)
    assert scanning.state_hash() == hashed
    watching.end()
    assert not any(sensor.has_consumer for sensor in scanning.sensors.all)


def test_after_a_reset_no_scan_of_before_is_shown(scanning: Sim) -> None:
    watching = Watching(scanning)
    scanning.step_once()
    scanning.agents[0].set_pose(Pose.from_xyz(-10.0, 0.0, 0.2))
    for _ in range(15):
        scanning.step_once()
    assert not len(watching.look(SCANS)[0])
    scanning.reset()
    assert len(watching.look(SCANS)[0])


def test_a_sensor_that_comes_back_has_no_reader_left(scanning: Sim) -> None:
    watching = Watching(scanning)
    scanning.step_once()
    watching.look(SCANS)
    scanning.remove_object(scanning.agents[0])
    watching.look(SCANS)
    scanning.reset()
    assert not any(sensor.has_consumer for sensor in scanning.sensors.all)
