"""Pictures of a world: colors, true metres, rows; and where cameras look from."""

from __future__ import annotations

import numpy as np
import pytest
from bullet_scene import Scene

import fleet_sim as fs
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.window import CameraView, render, setup_camera, view_from_config
from fleet_sim.world.shapes import BodyShape, Geometry


def _cube(rgba: tuple[float, float, float, float]) -> BodyShape:
    geometry = Geometry(ShapeKind.BOX, half_extents=(0.5, 0.5, 0.5), rgba=rgba)
    return BodyShape(geometry, geometry)


RED, BLUE = _cube((1.0, 0.0, 0.0, 1.0)), _cube((0.0, 0.0, 1.0, 1.0))


def test_a_picture_shows_colors_distances_and_rows(scene: Scene) -> None:
    red = int(scene.spawn([-1.0, 0.0, 0.0], RED)[0])
    blue = int(scene.spawn([1.0, 0.0, 0.5], BLUE)[0])
    picture = render(scene.mirror, 120, 80, CameraView(distance=6.0, pitch=-89.9), near=0.1, far=100.0)
    assert picture.rgb.shape == (80, 120, 3)
    assert picture.rgb.dtype == np.uint8
    assert picture.depth.shape == picture.rows.shape == (80, 120)
    assert set(np.unique(picture.rows).tolist()) == {-2, red, blue}
    # Seen from above with yaw 0, x points to the right.
    columns = [np.flatnonzero((picture.rows == row).any(0)).mean() for row in (red, blue)]
    assert columns[0] < 60 < columns[1]
    for row, channel, distance in ((red, 0, 5.5), (blue, 2, 5.0)):
        seen_mask = picture.rows == row
        assert picture.rgb[seen_mask].mean(0).argmax() == channel
        assert np.median(picture.depth[seen_mask]) == pytest.approx(distance, abs=0.02)
    assert np.isinf(picture.depth[picture.rows == -2]).all()


def test_the_floor_is_no_entity() -> None:
    scene = Scene(floor=True)
    scene.spawn([0.0, 0.0, 0.5], RED)
    picture = render(scene.mirror, 64, 64, CameraView(distance=5.0, pitch=-60.0))
    assert set(np.unique(picture.rows).tolist()) == {-1, 0}
    scene.mirror.close()


def test_a_picture_shows_where_robots_are_now(scene: Scene) -> None:
    row = scene.spawn([0.0, 0.0, 0.0], RED)
    view = CameraView(distance=6.0, pitch=-89.9)
    before = render(scene.mirror, 64, 64, view).rows
    scene.put(row, [1.5, 0.0, 0.0])
    after = render(scene.mirror, 64, 64, view).rows
    middle = [np.flatnonzero((rows == row[0]).any(0)).mean() for rows in (before, after)]
    assert middle[1] > middle[0] + 5


def test_a_camera_at_a_pose_looks_along_its_z_axis(scene: Scene) -> None:
    """Optical frame: z forward, x right, y down. Here forward is world x, right is world -y."""
    left = int(scene.spawn([5.0, 1.5, 0.0], RED)[0])
    right = int(scene.spawn([5.0, -1.5, 0.0], BLUE)[0])
    pose = (np.zeros(3), np.array([-0.5, 0.5, -0.5, 0.5]))
    picture = render(scene.mirror, 100, 100, pose)
    columns = [np.flatnonzero((picture.rows == row).any(0)).mean() for row in (left, right)]
    assert columns[0] < 50 < columns[1]
    assert np.nanmin(picture.depth) == pytest.approx(4.5, abs=0.02)


@pytest.mark.parametrize(("width", "height", "near"), [(0, 10, 0.1), (10, 1.5, 0.1), (10, 10, -1.0)])
def test_impossible_pictures_are_refused(scene: Scene, width: int, height: int, near: float) -> None:
    with pytest.raises(InvalidValueError, match="expected"):
        render(scene.mirror, width, height, CameraView(), near=near)


def test_auto_fits_the_scene(scene: Scene) -> None:
    rows = scene.spawn([[x, y, 0.0] for x in (-8.0, 8.0) for y in (12.0, 20.0)], RED)
    bounds = (np.array([-8.5, 11.5, -0.5]), np.array([8.5, 20.5, 0.5]))
    for config in ({}, {"camera_mode": "top_down"}, {"camera_view_type": "top_down"}, {"camera_yaw": 120}):
        view = setup_camera(scene.mirror, config, bounds)
        assert view.target == (0.0, 16.0, 0.0)
        picture = render(scene.mirror, 160, 120, view)
        assert set(rows.tolist()) <= set(np.unique(picture.rows).tolist())
        border = np.concatenate([picture.rows[0], picture.rows[-1], picture.rows[:, 0], picture.rows[:, -1]])
        assert (border == -2).all()
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
