"""The models in urdf/: complete, physically sound, and as their source makes them."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pybullet
import pytest
from robot_models import assert_equal_to_pybullet

import fleet_sim
import fleet_sim as fs
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models import profile_of
from fleet_sim.world.shapes import BASE, Geometry, RobotModel

FOLDER = Path(__file__).parents[2] / "urdf"
NAMES = sorted(file.stem for file in FOLDER.glob("*.urdf"))
TYPES = {
    "diff_base": "mobile",
    "omni_base": "mobile",
    "car": "mobile",
    "arm6": "arm",
    "rail_arm": "arm",
    "mobile_manipulator": "mobile_manipulator",
    "panda": "arm",
}
ARM = tuple(f"joint_{number}" for number in range(1, 7))


def load(name: str) -> RobotModel:
    path = FOLDER / f"{name}.urdf"
    # PyBullet's own panda has the name where it is installed, as it is here.
    assert name == "panda" or Path(fleet_sim.resolve_urdf(name)) == path
    return fleet_sim.load_robot_model(path)


def test_the_files_are_what_their_source_makes() -> None:
    command = [sys.executable, "-B", str(FOLDER / "source" / "build.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run urdf/source/build.py: {done.stdout}{done.stderr}"


def test_every_file_has_its_origin_and_licence_noted() -> None:
    sources = (FOLDER / "SOURCES.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"`{name}`" in sources


@pytest.mark.parametrize("name", NAMES)
def test_bundled_models_are_known_and_read_as_pybullet_reads_them(name: str, client: int) -> None:
    model = load(name)
    body = pybullet.loadURDF(model.path, physicsClientId=client)
    assert_equal_to_pybullet(model, client, body)
    pybullet.removeBody(body, client)
    profile = profile_of(model)
    assert profile.robot_type == TYPES.get(name, "static")
    assert model.name == name and model.base_name == ("panda_link0" if name == "panda" else "base_link")
    assert (model.max_velocities[model.movable] > 0).all() and (model.max_forces[model.movable] > 0).all()
    wheels = np.array([name in profile.wheel_joint_names for name in model.movable_names], bool)
    assert (model.limited_mask[model.movable] == ~wheels).all()


@pytest.mark.parametrize("name", ["arm6", "rail_arm", "mobile_manipulator"])
def test_arms_have_a_gripper_and_a_reach(name: str) -> None:
    model, profile = load(name), profile_of(load(name))
    assert profile.arm_joint_names == (("rail_joint", *ARM) if name == "rail_arm" else ARM)
    assert profile.ee_link_name == "gripper_link"
    assert profile.reach == pytest.approx(0.94, abs=0.01)
    assert {"tool0", "tcp_link", "left_finger", "right_finger"} <= set(model.link_names)


@pytest.mark.parametrize(
    ("name", "frames"),
    [
        ("diff_base", "base_scan imu_link camera_link camera_optical_frame"),
        ("omni_base", "base_scan base_scan_rear imu_link camera_link camera_optical_frame"),
        ("car", "base_scan imu_link camera_link camera_optical_frame"),
        ("mobile_manipulator", "base_scan imu_link camera_optical_frame wrist_camera_optical_frame"),
        ("arm6", "wrist_camera_link wrist_camera_optical_frame"),
    ],
)
def test_sensors_have_frames(name: str, frames: str) -> None:
    model = load(name)
    for frame in frames.split():
        link = model.link_index(frame)
        if frame.endswith("optical_frame"):
            # z looks where the camera's x does, and x to its right.
            turn = model.joint_orientations[[link]]
            assert quaternions.rotate(turn, np.array([[0.0, 0.0, 1.0]]))[0] == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)
            assert quaternions.rotate(turn, np.array([[1.0, 0.0, 0.0]]))[0] == pytest.approx([0.0, -1.0, 0.0], abs=1e-9)


def solid(geometry: Geometry) -> tuple[float, np.ndarray]:
    """Volume, and tensor (3, 3) of 1 kg about the centre in the link's axes."""
    if geometry.kind == ShapeKind.BOX:
        x, y, z = 2.0 * np.array(geometry.half_extents)
        volume, moments = x * y * z, np.array([y * y + z * z, x * x + z * z, x * x + y * y]) / 12.0
    elif geometry.kind == ShapeKind.CYLINDER:
        radius, height = geometry.radius, geometry.height
        across = radius**2 / 4.0 + height**2 / 12.0
        volume, moments = np.pi * radius**2 * height, np.array([across, across, radius**2 / 2.0])
    else:
        volume, moments = 4.0 / 3.0 * np.pi * geometry.radius**3, np.full(3, 0.4 * geometry.radius**2)
    turn = quaternions.to_matrices(np.array([geometry.orientation]))[0]
    return volume, turn @ np.diag(moments) @ turn.T


@pytest.mark.parametrize("name", NAMES)
def test_inertias_are_those_of_the_shapes(name: str) -> None:
    model = load(name)
    for link, inertial in enumerate(model.inertials, BASE):
        shapes = [part.geometry for part in model.collisions if part.link == link]
        if not shapes:
            assert inertial.mass == 0.0
            continue
        volumes = np.array([solid(shape)[0] for shape in shapes])
        masses = inertial.mass * volumes / volumes.sum()
        places = np.array([shape.position for shape in shapes])
        centre = (masses[:, None] * places).sum(axis=0) / inertial.mass
        tensor = np.zeros((3, 3))
        for mass, shape, place in zip(masses, shapes, places - centre, strict=True):
            tensor += mass * (solid(shape)[1] + np.dot(place, place) * np.eye(3) - np.outer(place, place))
        turn = quaternions.to_matrices(np.array([inertial.orientation]))[0]
        np.testing.assert_allclose(inertial.position, centre, atol=1e-6)
        np.testing.assert_allclose(turn @ np.diag(inertial.inertia) @ turn.T, tensor, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["diff_base", "omni_base", "mobile_manipulator"])
def test_wheels_carry_and_drive(name: str) -> None:
    model = load(name)
    wheels = profile_of(model).wheel_joint_names
    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
    pybullet.createMultiBody(
        0.0, pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client), physicsClientId=client
    )
    body = pybullet.loadURDF(model.path, physicsClientId=client)
    for joint, joint_name in enumerate(model.joint_names):
        if joint_name in wheels:
            pybullet.setJointMotorControl2(
                body, joint, pybullet.VELOCITY_CONTROL, targetVelocity=5.0, force=model.max_forces[joint],
                physicsClientId=client,
            )  # fmt: skip
    for _ in range(240):
        pybullet.stepSimulation(client)
    (x, y, z), turn = pybullet.getBasePositionAndOrientation(body, client)
    pybullet.disconnect(client)
    assert x == pytest.approx(0.45, abs=0.1) and y == pytest.approx(0.0, abs=0.05)
    assert z == pytest.approx(model.inertials[0].position[2], abs=0.01)
    assert abs(turn[3]) > 0.999


# ---- The panda of our own: its joints are those of the machine, and PyBullet's where that is installed ---------------


OWN = Path(__file__).parents[2] / "urdf" / "panda.urdf"
READY = [0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8]
# The published table of modified Denavit-Hartenberg parameters: a, d and alpha of each joint.
TABLE = [
    (0.0, 0.333, 0.0), (0.0, 0.0, -np.pi / 2), (0.0, 0.316, np.pi / 2), (0.0825, 0.0, np.pi / 2),
    (-0.0825, 0.384, -np.pi / 2), (0.0, 0.0, np.pi / 2), (0.088, 0.0, np.pi / 2), (0.0, 0.107, 0.0),
]  # fmt: skip


def flange(angles: list[float]) -> np.ndarray:
    """Return the frame (4, 4) of the flange by the table."""
    frame = np.eye(4)
    for (a, d, alpha), angle in zip(TABLE, [*angles, 0.0], strict=True):
        s, c, sa, ca = np.sin(angle), np.cos(angle), np.sin(alpha), np.cos(alpha)
        frame @= [[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]]
    return frame


def test_its_flange_is_where_the_published_kinematics_have_it() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim:
        arm = fs.Agent.from_urdf(str(OWN), sim_core=sim, use_fixed_base=True, mass=0.0)
        arm.set_joint_positions([*READY, 0.01, 0.01])
        pose = arm.get_link_pose("panda_link8")
        expected = flange(READY)
        assert pose.position == pytest.approx(expected[:3, 3], abs=1e-6)
        # The hand is 0.1034 m long between flange and finger tips, and grasps 0.105 m below the flange.
        grasp = arm.get_link_pose("panda_grasptarget")
        assert grasp.position == pytest.approx(expected[:3, 3] + 0.105 * expected[:3, 2], abs=1e-6)


def test_joints_are_those_of_pybullets_panda() -> None:
    own = fs.load_robot_model(str(OWN))
    if find_spec("pybullet_data") is None:
        # What bears the name where there is no PyBullet.
        assert Path(fs.resolve_urdf("panda")) == OWN
        listed = fs.list_all_models()["panda"]
        assert listed == {"tier": "local", "available": True, "path": str(OWN)}
        return
    theirs = fs.load_robot_model(fs.resolve_urdf("panda"))
    assert theirs.path != own.path
    for name in ("joint_names", "link_names", "mimics"):
        assert getattr(own, name) == getattr(theirs, name)
    for name in ("parents", "joint_types", "lower", "upper", "max_velocities", "max_forces", "axes", "movable",
                 "joint_positions", "joint_orientations"):  # fmt: skip
        assert getattr(own, name) == pytest.approx(getattr(theirs, name), abs=1e-9), name
    assert fs.auto_detect_profile(str(OWN)).ee_link_name == fs.auto_detect_profile("panda").ee_link_name
    assert [inertial.mass for inertial in own.inertials] == [inertial.mass for inertial in theirs.inertials]


def test_its_links_touch_only_where_joints_join_them() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim:
        arm = fs.Agent.from_urdf(str(OWN), sim_core=sim, use_fixed_base=True, mass=0.0, self_collision=True)
        for angles in (READY, [0.5, 0.8, -0.5, -1.5, 0.4, 2.5, -1.0]):
            arm.set_joint_positions([*angles, 0.04, 0.04])
            sim.step_once()
            assert sim.get_self_collisions(arm) == []
