"""Range finders and lidars with layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.sensing.sensors.lidar import Lidar3dParams, RangeParams

Sim = fs.MultiRobotSimulationCore
BOT = fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.1))


def thing(sim: Sim, kind: str, pose: fs.Pose, **shape: Any) -> None:
    sim.spawn(fs.SimObjectSpawnParams(None, fs.ShapeParams(kind, **shape), pose))  # type: ignore[arg-type]


# ---- range finders ---------------------------------------------------------------------------------------------------


def test_a_range_finder_tells_the_nearest_distance_in_its_field_of_view(sim: Sim) -> None:
    thing(sim, "cylinder", fs.Pose.from_xyz(2.0, 0.3, 0.5), radius=0.1)
    thing(sim, "box", fs.Pose.from_xyz(3.5, 0.0, 0.5))

    def seen(**settings: Any) -> float:
        sonar = sim.add_sensor("range", pose=[0, 0, 0.5], **settings)
        value = float(sonar.read().range)
        sonar.remove()
        return value

    assert seen(field_of_view=0.4, rays=81) == pytest.approx(math.hypot(2.0, 0.3) - 0.1, abs=1e-3)
    assert seen(field_of_view=0.1) == pytest.approx(3.0)
    assert seen(rays=1) == pytest.approx(3.0)
    assert seen(field_of_view=0.0) == pytest.approx(3.0)
    assert seen(field_of_view=0.1, range_max=2.9) == math.inf
    assert seen(field_of_view=0.1, range_min=3.1) == -math.inf
    assert seen(field_of_view=0.1, noise=0.1) != seen(field_of_view=0.1, noise=0.1, name="other")


@pytest.mark.parametrize("height", [2.0, 2.4, 1.6])
def test_a_cone_looks_above_and_below_its_plane(sim: Sim, height: float) -> None:
    thing(sim, "sphere", fs.Pose.from_xyz(2.0, 0.0, height), radius=0.1)
    flat = sim.add_sensor("range", pose=[0, 0, 2], field_of_view=0.6)
    cone = sim.add_sensor("range", pose=[0, 0, 2], name="cone", shape="cone", field_of_view=0.6, rays=2000)
    assert cone.read().range == pytest.approx(math.hypot(2.0, height - 2.0) - 0.1, abs=5e-3)
    assert (flat.read().range < math.inf) == (height == 2.0)


def test_the_rays_of_a_cone_fill_it() -> None:
    rays = RangeParams(shape="cone", field_of_view=1.0, rays=400).directions
    assert np.hypot(*rays[:, 1:].T).max() == pytest.approx(math.sin(0.5))
    assert np.linalg.norm(rays, axis=1) == pytest.approx(np.ones(400))
    assert rays[0].tolist() == [1.0, 0.0, 0.0]
    assert np.abs(rays[:, 1:].mean(axis=0)).max() < 0.01


# ---- layers ----------------------------------------------------------------------------------------------------------


def test_a_lidar_with_layers_sees_a_room(sim: Sim) -> None:
    thing(sim, "box", fs.Pose.from_xyz(4.0, 0.0, 1.0), half_extents=(0.5, 5.0, 1.0))
    robot = sim.spawn(fs.AgentSpawnParams(BOT, BOT, fs.Pose.from_yaw(0.0, 0.0, 0.1, math.pi / 2)))
    lidar = sim.add_sensor("lidar_3d", robot, pose=[0, 0, 0.9], layers=9, rays=8, elevation_min=-0.8, elevation_max=0.8)
    reading = lidar.read()
    assert (reading.ranges.shape, reading.points.shape) == ((9, 8), (9, 8, 3))
    assert reading.ranges[4].tolist()[2] == pytest.approx(3.5)
    # The robot faces along y: the wall is on its right, the floor a metre below.
    assert reading.points[4, 2] == pytest.approx([0.0, -3.5, 0.0], abs=1e-9)
    on_floor = reading.points[0]
    assert on_floor[:, 2] == pytest.approx(np.full(8, -1.0))
    assert np.hypot(*on_floor[:, :2].T) == pytest.approx(np.full(8, 1.0 / math.tan(0.8)))
    assert np.isinf(reading.ranges[8]).all()
    assert np.isnan(reading.points[8]).all()


def test_many_rays_are_cast_in_batches(sim: Sim) -> None:
    thing(sim, "sphere", fs.Pose.from_xyz(0.0, 0.0, 5.0), radius=4.0)
    for index in range(2):
        robot = sim.spawn(fs.AgentSpawnParams(BOT, BOT, fs.Pose.from_xyz(3.0 * index, 0.0, 10.0)))
        settings = {"layers": 100, "rays": 164, "elevation_min": -1.5, "elevation_max": -0.5}
        sim.add_sensor("lidar_3d", robot, pose=[0, 0, 0.5], **settings)
    for lidar, reading in zip(sim.sensors.all, sim.sensors.read(sim.sensors.all), strict=True):
        world = reading.points.reshape(-1, 3) + lidar.get_pose().position
        hit_mask = world[:, 2] > 1.0
        away = np.linalg.norm(world[hit_mask] - [0.0, 0.0, 5.0], axis=1)
        assert hit_mask.sum() > 1000
        assert away == pytest.approx(np.full(len(away), 4.0), abs=0.01)


def test_expensive_lidars_take_turns(sim: Sim) -> None:
    lidars = [sim.add_sensor("lidar_3d", name=f"l{index}", rate=2, layers=1, rays=4) for index in range(10)]
    for lidar in lidars:
        lidar.subscribe()
    for _ in range(5):
        sim.step_once()
        assert sum(len(readings) for readings in sim.sensors.fresh) == 2


@pytest.mark.parametrize(
    ("params", "settings", "message"),
    [
        (Lidar3dParams, {"elevation_min": 0.5, "elevation_max": 0.1}, "elevation_min: must be at most elevation_max"),
        (Lidar3dParams, {"range_min": 30.0}, "range_min: must be below range_max"),
        (Lidar3dParams, {"angle_min": 1.0, "angle_max": 0.0}, "angle_max: must be at least angle_min"),
        (RangeParams, {"range_max": 1.0, "range_min": 1.0}, "range_min: must be below range_max"),
        (RangeParams, {"field_of_view": 7.0}, "field_of_view: must be"),
        (RangeParams, {"shape": "ball"}, "shape: must be one of 'fan', 'cone'"),
    ],
)
def test_wrong_settings(params: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.ConfigError, match=message):
        params(**settings)
