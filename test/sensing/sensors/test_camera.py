"""Cameras as sensors: mounted, due, spread over steps, with noise, and with the stamp of what they show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.sensing.sensors.sensor import CameraSensorParams

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
SMALL = {"width": 64, "height": 48}
TARGET = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5), rgba_color=(0.9, 0.1, 0.1, 1.0))


def target(sim: Sim, x: float, y: float, z: float = 0.5) -> fs.SimObject:
    obj: fs.SimObject = sim.spawn(fs.SimObjectSpawnParams(TARGET, TARGET, fs.Pose.from_xyz(x, y, z)))
    return obj


def test_readings_have_the_intrinsics_of_their_picture(sim: Sim) -> None:
    """A point cloud made of the depth lies on what is there."""
    target(sim, 3.0, 0.0)
    camera = sim.add_sensor("camera", pose=[0.0, 0.0, 0.5], width=160, height=120, far=10.0)
    reading = camera.read()
    assert reading.intrinsics.matrix[0, 0] == pytest.approx(80.0 / math.tan(math.pi / 6))
    points = reading.points()
    front = points[(points[..., 2] < 2.6) & (np.abs(points[..., 1]) < 0.45)]
    assert np.abs(front[:, 0]).max() == pytest.approx(0.5, abs=0.02), "half as wide as the cube"
    assert np.isnan(points[0, 0]).all(), "nothing but sky"
    given = sim.add_sensor("camera", name="given", intrinsics=[100.0, 110.0, 31.0, 23.5], **SMALL)
    assert given.read().intrinsics.matrix.tolist() == [[100.0, 0.0, 31.0], [0.0, 110.0, 23.5], [0.0, 0.0, 1.0]]


@pytest.mark.usefixtures("pictures")
def test_stamps_are_those_of_the_state_shown(sim: Sim, robot: fs.Agent) -> None:
    target(sim, 5.0, 0.0)
    camera = sim.add_sensor("camera", robot, pose=[0.0, 0.0, 0.5], rate=5.0, **SMALL)
    robot.set_velocity(1.0)
    seen: list[tuple[int, float, float]] = []
    camera.on_reading(
        lambda sensor, reading: seen.append((reading.tick, float(reading.depth[24, 32]), robot.get_pose().position[0]))
    )
    for _ in range(10):
        sim.step_once()
    assert [tick for tick, _, _ in seen] == [2, 4, 6, 8, 10]
    for _, depth, x in seen:
        assert depth == pytest.approx(4.5 - x, rel=1e-3)


@pytest.mark.usefixtures("pictures")
def test_nothing_is_rendered_without_a_consumer(make_sim: MakeSim, caplog: pytest.LogCaptureFixture) -> None:
    """Choosing what draws, which the log tells, waits for the first picture somebody wants."""
    sim = make_sim(log_level="info")
    camera = sim.add_sensor("camera", **SMALL)
    for _ in range(3):
        sim.step_once()
    assert camera.latest is None and "drawn by" not in caplog.text
    camera.subscribe()
    sim.step_once()
    assert camera.latest.tick == 4 and caplog.text.count("drawn by") == 1


@pytest.mark.usefixtures("pictures")
def test_cameras_of_one_rate_are_spread_over_the_steps_of_its_period(make_sim: MakeSim) -> None:
    sim = make_sim(timestep=0.02)
    per_step: Counter[int] = Counter()
    for number in range(10):
        camera = sim.add_sensor("camera", name=f"camera{number}", width=8, height=6, rate=10.0)
        camera.on_reading(lambda sensor, reading: per_step.update([reading.tick]))
    for _ in range(20):
        sim.step_once()
    assert sum(per_step.values()) == 40, "ten cameras, four periods"
    assert max(per_step.values()) == 2


def test_readings_do_not_change(sim: Sim) -> None:
    camera = sim.add_sensor("camera", channels=["rgb", "depth", "ids", "links"], **SMALL)
    reading = camera.read()
    for array in (reading.rgb, reading.depth, reading.ids, reading.links, reading.position):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    before = reading.depth.copy()
    target(sim, 3.0, 0.0)
    camera.read()
    np.testing.assert_array_equal(reading.depth, before)


def test_a_scenario_gives_robots_cameras(make_sim: MakeSim) -> None:
    params = fs.AgentSpawnParams(
        TARGET, TARGET, name="seer", sensors=[{"type": "camera", "name": "front", "width": 32, "height": 24}]
    )
    sim = make_sim()
    sim.spawn(params)
    assert sim.get_sensor("seer/front").read().rgb.shape == (24, 32, 3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"width": 0}, "width"),
        ({"width": 10_000}, "at most 8192"),
        ({"horizontal_fov": 3.2}, "horizontal_fov"),
        ({"near": 5.0, "far": 2.0}, "far: must be beyond near"),
        ({"channels": ["rbg"]}, "channels"),
        ({"channels": []}, "got none"),
        ({"renderer": "opngl"}, "renderer"),
        ({"intrinsics": [0.0, 1.0, 2.0, 3.0]}, "fx"),
        ({"fov": 1.0}, "fov"),
    ],
)
def test_impossible_cameras_are_refused(sim: Sim, settings: dict[str, Any], words: str) -> None:
    with pytest.raises((fs.ConfigError, fs.InvalidValueError), match=words):
        sim.add_sensor("camera", **settings)


def test_points_need_depth(sim: Sim) -> None:
    reading = sim.add_sensor("camera", channels=["rgb"], **SMALL).read()
    with pytest.raises(fs.InvalidValueError, match="channel 'depth'"):
        reading.points()


def test_params_in_code_are_the_same_as_by_name(sim: Sim) -> None:
    camera = sim.add_sensor(CameraSensorParams(name="top", width=16, height=12))
    assert camera.type == "camera" and camera.read().rgb.shape == (12, 16, 3)
