"""The camera above the bin: depth in metres, and where it looks."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.learning.manipulation import BinScene, Camera
from fleet_sim.learning.manipulation.camera import look_at


def test_depth_is_in_metres_and_leads_back_to_the_floor(scene: BinScene) -> None:
    camera = Camera(scene.config.camera, scene.sim)
    rgb, depth = camera.get_image(get_depth_data=True)
    assert rgb.shape == (64, 64, 3)
    assert depth.shape == (64, 64)
    reading = camera.read()
    # The lowest line of the picture shows the floor before the bin.
    ahead = reading.points()[-1, 32].astype(float)
    place = quaternions.rotate(reading.orientation[None], ahead[None])[0] + reading.position
    assert place[2] == pytest.approx(0.0, abs=2e-3)
    camera.config.scale_depth_data = True
    grey = camera.render(mode="rgb_and_depth_arrays")
    assert grey is not None
    assert 0.0 <= grey[1].min() <= grey[1].max() <= 255.0
    camera.config.scale_depth_data = False
    assert camera.render(mode="human") is None
    with pytest.raises(InvalidValueError, match="mode"):
        camera.render(mode="rgb")
    scene.sim.remove_sensor(camera.sensor)


def test_colors_alone_are_those_beside_the_depth_and_leave_the_last_reading(scene: BinScene) -> None:
    camera = Camera(scene.config.camera, scene.sim)
    first = camera.sensor.latest
    colors = camera.get_image()
    assert camera.sensor.latest is first
    both, depth = camera.get_image(get_depth_data=True)
    np.testing.assert_array_equal(colors, both)
    camera.get_image()
    np.testing.assert_array_equal(camera.sensor.latest.depth, depth)
    scene.sim.remove_sensor(camera.sensor)


@pytest.mark.parametrize("target", [(1.0, 0.0, 0.0), (0.0, -1.0, -1.0), (-1.0, 0.2, 0.5)])
def test_looking_at_a_point_puts_it_in_the_middle(target: tuple[float, float, float]) -> None:
    turn = look_at(np.zeros(3), np.array(target), np.array([0.0, 0.0, 1.0]))
    forward = quaternions.rotate(turn[None], np.array([[0.0, 0.0, 1.0]]))[0]
    down = quaternions.rotate(turn[None], np.array([[0.0, 1.0, 0.0]]))[0]
    assert forward == pytest.approx(np.array(target) / np.linalg.norm(target))
    assert down[2] < 0.0
    with pytest.raises(InvalidValueError, match="cannot look"):
        look_at(np.zeros(3), np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0]))


def test_matrices_are_those_of_the_engine_wherever_the_camera_is(scene: BinScene) -> None:
    camera = Camera(scene.config.camera, scene.sim)
    bullet = scene.sim.bullet
    settings = scene.config.camera
    view, lens = settings.view_matrix, settings.projection_matrix
    expected = bullet.computeViewMatrix(view.eye_position, view.target_position, view.up_vector)
    assert camera.view_matrix == pytest.approx(expected, abs=1e-6)
    aspect = settings.width_resolution / settings.height_resolution
    expected = bullet.computeProjectionMatrixFOV(lens.fov, aspect, lens.near_plane, lens.far_plane)
    assert camera.projection_matrix == pytest.approx(expected, abs=1e-5)
    arm = scene.arms[0]
    camera.mount_on(arm.agent, 8, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]), 40.0, 0.01, 1.0)
    eye = np.linalg.inv(np.reshape(camera.view_matrix, (4, 4)).T)[:3, 3]
    assert eye == pytest.approx(arm.agent.get_link_pose(8).position, abs=1e-6)
    camera.reset()
    assert camera.view_matrix == pytest.approx(
        bullet.computeViewMatrix(view.eye_position, view.target_position, view.up_vector), abs=1e-6
    )
    scene.sim.remove_sensor(camera.sensor)


def test_a_camera_in_its_place_stays_the_same_sensor(scene: BinScene) -> None:
    camera = Camera(scene.config.camera, scene.sim)
    before = camera.sensor
    camera.reset()
    assert camera.sensor is before
    scene.sim.remove_sensor(before)


def test_a_camera_is_made_from_a_mapping(scene: BinScene) -> None:
    view = {"eye-position": [0.5, 0.0, 0.6], "target-position": [0.5, 0.0, 0.0], "up-vector": [0, 1, 0]}
    camera = Camera({"width-resolution": 20, "height-resolution": 10, "view-matrix": view}, scene.sim.bullet)
    assert np.shape(camera.get_image("gpu-headless")) == (10, 20, 3)
    other = Camera({}, scene.sim)
    assert np.shape(other.get_image()) == (160, 160, 3)
    for made in (camera, other):
        scene.sim.remove_sensor(made.sensor)
    with pytest.raises(ConfigError, match=r"camera_config.*'width_resolution'"):
        Camera({"width-resolutoin": 20}, scene.sim)
    with pytest.raises(InvalidValueError, match="expected a simulation"):
        Camera({}, scene.sim.client)  # type: ignore[arg-type]
