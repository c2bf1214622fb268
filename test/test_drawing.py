"""Pictures for people: they show the scene in the middle, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.arrays import Bools, Bytes

RED = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5), rgba_color=(1.0, 0.0, 0.0, 1.0))


@pytest.fixture
def sim() -> Iterator[fs.MultiRobotSimulationCore]:
    params = fs.SimulationParams(gui=False, enable_floor=False)
    with fs.MultiRobotSimulationCore(params) as sim:
        for x, y in ((0.0, 0.0), (9.0, 0.0), (9.0, 4.0)):
            sim.spawn(fs.SimObjectSpawnParams(visual_shape=RED, collision_shape=RED, initial_pose=fs.Pose((x, y, 0.5))))
        yield sim


def red_mask(rgb: Bytes) -> Bools:
    return (rgb[..., 0] > 1.5 * rgb[..., 1]) & (rgb[..., 0] > 60)


@pytest.mark.parametrize("size", [(160, 120), (60, 150)])
@pytest.mark.parametrize("view", [{}, {"camera_yaw": 200, "camera_pitch": -10}, {"camera_view_type": "top_down"}])
def test_the_scene_is_in_the_middle_and_fills_the_picture(
    sim: fs.MultiRobotSimulationCore, size: tuple[int, int], view: dict[str, object]
) -> None:
    rgb = sim.draw_picture(*size, {**view, "camera_auto_scale": 0.9})
    assert rgb.shape == (size[1], size[0], 3)
    lines, columns = np.nonzero(red_mask(rgb))
    assert lines.min() + lines.max() == pytest.approx(size[1], abs=0.1 * size[1])
    assert columns.min() + columns.max() == pytest.approx(size[0], abs=0.1 * size[0])
    assert max(np.ptp(lines) / size[1], np.ptp(columns) / size[0]) == pytest.approx(0.9, abs=0.06)


def test_a_picture_changes_nothing(sim: fs.MultiRobotSimulationCore) -> None:
    before = sim.state_hash()
    sim.draw_picture(40, 30)
    assert sim.state_hash() == before


def test_what_only_the_engine_knows_is_drawn_too(sim: fs.MultiRobotSimulationCore) -> None:
    view = {"camera_mode": "manual", "camera_target": [0, 20, 0], "camera_distance": 5.0, "camera_pitch": -80}
    empty = sim.draw_picture(40, 30, view)
    shape = sim.bullet.createVisualShape(sim.bullet.GEOM_SPHERE, radius=1.0, rgbaColor=[1.0, 0.0, 0.0, 1.0])
    sim.bullet.createMultiBody(0.0, -1, shape, [0.0, 20.0, 0.0])
    assert not red_mask(empty).any()
    assert red_mask(sim.draw_picture(40, 30, view)).any()


@pytest.mark.parametrize("size", [(0, 10), (10, -1), (9000, 10), (10, 1.5)])
def test_impossible_sizes_are_refused(sim: fs.MultiRobotSimulationCore, size: tuple[int, int]) -> None:
    with pytest.raises(fs.InvalidValueError, match="expected a whole number of pixels"):
        sim.draw_picture(*size)


def test_an_empty_world_has_a_picture() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim:
        assert sim.draw_picture(40, 30).shape == (30, 40, 3)
