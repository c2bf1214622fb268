"""What PyBullet is given says the same as the model."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pybullet_data
import pytest
from robot_models import assert_equal_to_pybullet

import fleet_sim as fs
from fleet_sim import RobotModel, add_search_path, load_robot_model, resolve_urdf
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import cache_folder
from fleet_sim.models import bullet_file, published_text, urdf_text
from fleet_sim.models.generated import keep
from fleet_sim.models.loading import scaled_model

DATA = Path(pybullet_data.getDataPath())


def loaded_as_read(path: Path | str, client: int) -> RobotModel:
    model = load_robot_model(path)
    body = pybullet.loadURDF(bullet_file(path), physicsClientId=client)
    assert_equal_to_pybullet(model, client, body)
    pybullet.removeBody(body, client)
    return model


@pytest.mark.parametrize("name", ["panda", "arm6", "mobile_manipulator", "racecar", "shelf"])
def test_what_pybullet_can_load_is_left_alone(name: str) -> None:
    path = resolve_urdf(name)
    assert bullet_file(path) == path


@pytest.mark.parametrize(
    "name",
    ["kuka_iiwa/model.sdf", "gripper/wsg50_one_motor_gripper_new.sdf", "mjcf/ant.xml", "mjcf/humanoid.xml",
     "kuka_iiwa/kuka_with_gripper.sdf", "kiva_shelf/model.sdf", "husky/husky.urdf", "mjcf/half_cheetah.xml"],
)  # fmt: skip
def test_other_files_get_a_urdf(name: str, client: int) -> None:
    loaded_as_read(DATA / name, client)


@pytest.mark.parametrize("name", ["panda", "rail_arm", "r2d2", "racecar", "wsg50_gripper", "kiva_shelf"])
def test_a_model_survives_being_written_and_read(name: str, tmp_path: Path) -> None:
    model = load_robot_model(resolve_urdf(name))
    file = tmp_path / "copy.urdf"
    file.write_text(urdf_text(model))
    copy = load_robot_model(file)
    for field in ("name", "base_name", "link_names", "joint_names"):
        assert getattr(copy, field) == getattr(model, field)
    for field in ("joint_types", "parents", "lower", "upper", "max_velocities", "max_forces", "damping", "friction"):
        np.testing.assert_array_equal(getattr(copy, field), getattr(model, field), err_msg=field)
    for field in ("joint_positions", "axes"):
        np.testing.assert_allclose(getattr(copy, field), getattr(model, field), atol=1e-12, err_msg=field)
    turns = np.abs((copy.joint_orientations * model.joint_orientations).sum(axis=1))
    np.testing.assert_allclose(turns, 1.0, atol=1e-12)
    assert [part.link for part in copy.visuals] == [part.link for part in model.visuals]
    assert [part.geometry.mesh_path for part in copy.collisions] == [
        part.geometry.mesh_path for part in model.collisions
    ]
    assert [part.geometry.rgba for part in copy.visuals] == [part.geometry.rgba for part in model.visuals]


def masses(path: str, client: int) -> list[float]:
    body = pybullet.loadURDF(path, physicsClientId=client)
    found = [pybullet.getDynamicsInfo(body, link, client)[0] for link in range(-1, pybullet.getNumJoints(body, client))]
    pybullet.removeBody(body, client)
    return found


def test_frames_weigh_nothing(tmp_path: Path, client: int) -> None:
    text = Path(resolve_urdf("diff_base")).read_text()
    text = re.sub(
        r'(<link name="(?:base_scan|imu_link|camera_optical_frame)">)\s*<inertial>.*?</inertial>',
        r"\1",
        text,
        flags=re.S,
    )
    start = """<link name='base_footprint'/><joint name="foot" type="fixed"><parent link="base_footprint"/>
<child link="base_link"/></joint><link name="base_link">"""
    file = tmp_path / "standing.urdf"
    file.write_text(text.replace('<link name="base_link">', start))
    model = load_robot_model(file)
    weights = dict(zip((model.base_name, *model.link_names), masses(bullet_file(file), client), strict=True))
    assert weights["base_link"] == 30.0
    assert weights["base_scan"] == weights["imu_link"] == weights["camera_optical_frame"] == 0.0
    # Nothing at all would fix the robot in the world.
    assert weights["base_footprint"] == pytest.approx(1e-3)
    assert sum(weights.values()) == pytest.approx(sum(inertial.mass for inertial in model.inertials), abs=2e-3)
    loaded_as_read(file, client)
    husky = load_robot_model(resolve_urdf("husky"))
    whole = sum(inertial.mass for inertial in husky.inertials)
    assert sum(masses(bullet_file(husky.path), client)) == pytest.approx(whole, abs=2e-3)
    assert sum(masses(husky.path, client)) > whole + 4.0


PACKAGED = """<robot name="r"><link name="base">
<visual><geometry><mesh filename="package://my_robot/meshes/link 0.stl"/></geometry></visual>
<collision><geometry><mesh filename='{}'/></geometry></collision></link></robot>"""


def test_meshes_in_packages_are_found_for_pybullet(
    tmp_path: Path, client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh = DATA / "kuka_iiwa" / "meshes" / "link_0.stl"
    installed = tmp_path / "install" / "share" / "my_robot" / "meshes"
    installed.mkdir(parents=True)
    shutil.copy(mesh, installed / "link 0.stl")
    elsewhere = tmp_path / "mine"
    elsewhere.mkdir()
    shutil.copy(mesh, elsewhere / "hull.stl")
    file = tmp_path / "robot.urdf"
    file.write_text(PACKAGED.format("hull.stl"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    add_search_path(elsewhere)
    model = loaded_as_read(file, client)
    assert model.visuals[0].geometry.mesh_path == str(installed / "link 0.stl")
    assert model.collisions[0].geometry.mesh_path == str(elsewhere / "hull.stl")
    assert bullet_file(file) == bullet_file(file) != str(file)
    # Others find installed packages by themselves.
    published = published_text(file)
    assert 'filename="package://my_robot/meshes/link 0.stl"' in published
    assert f'filename="{(elsewhere / "hull.stl").as_uri()}"' in published


@pytest.mark.parametrize("name", ["panda", "kiva_shelf", "husky", "r2d2"])
def test_what_is_published_is_urdf_with_uris(name: str, tmp_path: Path) -> None:
    text = published_text(resolve_urdf(name))
    names = re.findall(r'filename="([^"]*)"', text)
    assert names and all("://" in name for name in names)
    file = tmp_path / "published.urdf"
    file.write_text(text)
    model, expected = load_robot_model(file), load_robot_model(resolve_urdf(name))
    assert model.link_names == expected.link_names
    assert [part.geometry.mesh_path for part in model.visuals] == [part.geometry.mesh_path for part in expected.visuals]


def test_a_full_disk_is_one_error_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: Path, content: bytes) -> int:
        file.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(InvalidValueError, match=r"model-\w+\.urdf: cannot be written: No space left"):
            keep(b"<robot/>", "model.urdf")
    assert list(cache_folder("models").iterdir()) == []
    kept = keep(b"<robot/>", "model.urdf")
    assert kept == keep(b"<robot/>", "model.urdf") and kept.read_bytes() == b"<robot/>"
    assert list(cache_folder("models").iterdir()) == [kept], "written once"


# ---- global_scaling: models in another size, as PyBullet's globalScaling makes them ----------------------------------


MakeSim = Callable[..., fs.MultiRobotSimulationCore]


@pytest.mark.parametrize("name", ["panda", "husky", "rail_arm", "table"])
def test_a_scaled_model_is_that_of_pybullet(name: str, client: int) -> None:
    path = fs.resolve_urdf(name)
    model = scaled_model(fs.load_robot_model(path), 1.7)
    body = pybullet.loadURDF(bullet_file(path), globalScaling=1.7, useFixedBase=True, physicsClientId=client)
    assert_equal_to_pybullet(model, client, body)
    pybullet.removeBody(body, client)


@pytest.mark.parametrize("name", ["panda", "rail_arm", "table"])
def test_everything_sees_the_scaled_size(make_sim: MakeSim, name: str) -> None:
    sim = make_sim()
    kind: Any = fs.SimObjectSpawnParams if name == "table" else fs.AgentSpawnParams
    plain, large = (
        sim.spawn(kind(urdf_path=name, initial_pose=fs.Pose.from_xyz(9.0 * scale, 0, 0), global_scaling=scale))
        for scale in (1.0, 2.0)
    )
    row, other = plain.row, large.row
    np.testing.assert_allclose(sim.world.half_extents[other], 2.0 * sim.world.half_extents[row], rtol=1e-9)
    boxes = []
    for body in (plain.body_id, large.body_id):
        links = [sim.bullet.getAABB(body, link) for link in range(-1, sim.bullet.getNumJoints(body))]
        boxes.append(np.max([box[1] for box in links], axis=0) - np.min([box[0] for box in links], axis=0))
    np.testing.assert_allclose(boxes[1], 2.0 * boxes[0], rtol=0.02, atol=0.01)


def test_limits_of_sliding_joints_grow_and_those_of_turning_ones_do_not(make_sim: MakeSim) -> None:
    sim = make_sim()
    plain, large = (
        sim.spawn(fs.AgentSpawnParams(urdf_path="rail_arm", use_fixed_base=True, global_scaling=scale))
        for scale in (1.0, 2.0)
    )
    model, scaled = (sim.world.model_of(agent.row) for agent in (plain, large))
    assert model is not None and scaled is not None
    sliding = int(model.movable[np.flatnonzero(model.joint_types[model.movable] == pybullet.JOINT_PRISMATIC)[0]])
    turning = int(model.movable[np.flatnonzero(model.joint_types[model.movable] == pybullet.JOINT_REVOLUTE)[0]])
    assert scaled.upper[sliding] == 2.0 * model.upper[sliding]
    assert scaled.upper[turning] == model.upper[turning]
    assert plain.mass == large.mass
    beyond = 1.5 * float(model.upper[sliding])
    large.set_joint_target(sliding, beyond)
    sim.run_simulation(10.0)
    assert large.get_joint_state(sliding)[0] == pytest.approx(beyond)


def test_the_published_description_is_scaled() -> None:
    path = fs.resolve_urdf("arm6")
    model = fs.load_robot_model(path)
    assert 'name="arm6"' in published_text(path, scale=2.0)
    assert published_text(path, scale=2.0) != published_text(path)
    assert scaled_model(model, 2.0) is scaled_model(model, 2.0)


def test_a_scenario_scales_and_shapes_are_not_scaled() -> None:
    entry = {"name": "arm", "urdf_path": "arm6", "global_scaling": 0.5}
    with fs.MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, "robots": [entry]}) as sim:
        assert sim.world.shapes[int(sim.world.shape_id[sim.get_object("arm").row])].scale == 0.5
        box = fs.ShapeParams("box")
        with pytest.raises(fs.InvalidValueError, match="global_scaling: for robot descriptions"):
            sim.spawn(fs.SimObjectSpawnParams(box, box, global_scaling=2.0))
    with pytest.raises(fs.FleetSimError, match="global_scaling"):
        fs.AgentSpawnParams(urdf_path="arm6", global_scaling=0.0)
