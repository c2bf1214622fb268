"""Where cameras look from, and colors of bodies while they collide."""

from __future__ import annotations

import numpy as np
import pytest
from bullet_scene import Scene

import fleet_sim as fs
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.window import CameraView, setup_camera, view_from_config
from fleet_sim.world.shapes import BodyShape, Geometry


def _cube(rgba: tuple[float, float, float, float]) -> BodyShape:
    geometry = Geometry(ShapeKind.BOX, half_extents=(0.5, 0.5, 0.5), rgba=rgba)
    return BodyShape(geometry, geometry)


RED = _cube((1.0, 0.0, 0.0, 1.0))


def test_auto_fits_the_scene(scene: Scene) -> None:
    scene.spawn([[x, y, 0.0] for x in (-8.0, 8.0) for y in (12.0, 20.0)], RED)
    bounds = (np.array([-8.5, 11.5, -0.5]), np.array([8.5, 20.5, 0.5]))
    for config in ({}, {"camera_mode": "top_down"}, {"camera_view_type": "top_down"}, {"camera_yaw": 120}):
        view = setup_camera(scene.mirror, config, bounds)
        assert view.target == (0.0, 16.0, 0.0)
        # A ball around the scene fills 0.8 of the picture.
        assert view.distance == pytest.approx(0.5 * np.linalg.norm([17.0, 9.0, 1.0]) / 0.8 / np.tan(np.pi / 6))
    assert scene.client.gui is False


def test_manual_takes_what_is_given() -> None:
    config = {"camera_mode": "manual", "camera_distance": 3, "camera_yaw": 10.0, "camera_pitch": -20.0,
              "camera_target": [1, 2, 3]}  # fmt: skip
    assert view_from_config(config, None) == CameraView(3.0, 10.0, -20.0, (1.0, 2.0, 3.0))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"camera_mod": "auto"}, "camera_mode"),
        ({"camera_mode": "orbit"}, "auto, manual, top_down"),
        ({"camera_mode": "manual", "camera_distance": -1}, "camera_distance"),
        ({"camera_mode": "manual", "camera_target": [1, 2]}, "camera_target"),
        ({"camera_fov": float("nan")}, "camera_fov"),
    ],
)
def test_a_wrong_camera_section_is_named(config: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        view_from_config(config, None)


# ---- Bodies are colored while they collide, and have their own color again afterwards --------------------------------


GREEN = (0.0, 1.0, 0.0, 1.0)


def color(sim: fs.MultiRobotSimulationCore, obj: fs.SimObject) -> tuple[float, ...]:
    return tuple(sim.bullet.getVisualShapeData(obj.body_id)[0][7])


def test_colliding_bodies_are_colored() -> None:
    params = fs.SimulationParams(gui=False, timestep=0.1, enable_collision_color_change=True)
    with fs.MultiRobotSimulationCore(params, collision_color=[0.0, 0.0, 1.0, 1.0]) as sim:
        box = fs.ShapeParams("box", rgba_color=GREEN)
        a, b, c = (
            sim.spawn(
                fs.SimObjectSpawnParams(visual_shape=box, collision_shape=box, initial_pose=fs.Pose((x, 0.0, 0.5)))
            )
            for x in (0.0, 0.9, 5.0)
        )
        assert [color(sim, obj) for obj in (a, b, c)] == [GREEN] * 3
        sim.step_once()
        assert [color(sim, obj) for obj in (a, b, c)] == [(0.0, 0.0, 1.0, 1.0)] * 2 + [GREEN]
        a.set_pose(fs.Pose((-3.0, 0.0, 0.5)))
        sim.step_once()
        assert [color(sim, obj) for obj in (a, b, c)] == [GREEN] * 3


def test_a_wrong_color_is_refused() -> None:
    with pytest.raises(fs.InvalidValueError, match="collision_color"):
        fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False), collision_color=[2.0, 0.0, 0.0, 1.0])
