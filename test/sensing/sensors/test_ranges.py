"""Range finders and lidars with layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.sensing.sensors.lidar import Lidar3dParams, RangeParams

Sim = fs.MultiRobotSimulationCore
BOT = fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.1))


def thing(sim: Sim, kind: str, pose: fs.Pose, **shape: Any) -> None:
    sim.spawn(fs.SimObjectSpawnParams(None, fs.ShapeParams(kind, **shape), pose))  # type: ignore[arg-type]


# ---- layers ----------------------------------------------------------------------------------------------------------


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
