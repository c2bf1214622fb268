"""Profiles say what a robot is, from its file or from a body that PyBullet has loaded."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pybullet
import pytest
from robot_models import link_poses

import fleet_sim
from fleet_sim import InvalidValueError, RobotProfile, UnknownNameError, auto_detect_profile, detect_robot_type
from fleet_sim.models import OBJECT
from fleet_sim.models.profile import model_of_body

TYPES = {
    "panda": "arm",
    "kuka_iiwa": "arm",
    "xarm6": "arm",
    "husky": "mobile",
    "racecar": "mobile",
    "r2d2": "mobile",
    "a1": "mobile",
    "minitaur": "mobile",
    "table": "static",
    "table_square": "static",
}
END_EFFECTORS = {"panda": "panda_hand", "kuka_iiwa": "lbr_iiwa_link_7", "xarm6": "xarm_gripper_base_link"}


def test_panda() -> None:
    profile = auto_detect_profile("panda")
    assert (profile.robot_type, profile.ee_link_name, profile.ee_link_index) == ("arm", "panda_hand", 8)
    assert (profile.num_joints, len(profile.movable_joint_names)) == (12, 9)
    assert profile.movable_joint_indices == (0, 1, 2, 3, 4, 5, 6, 9, 10)
    assert profile.arm_joint_names == tuple(f"panda_joint{number}" for number in range(1, 8))
    assert profile.joint_lower_limits[:2] == (-2.9671, -1.8326)
    assert profile.joint_max_velocities[0] == 2.175
    # The data sheet's 0.855 m are to the flange, from the same axis.
    assert profile.reach == profile.arm_reach == pytest.approx(0.86, abs=0.02)
    with pytest.raises(dataclasses.FrozenInstanceError):
        profile.num_joints = 3  # type: ignore[misc]


@pytest.mark.parametrize("name", TYPES)
def test_types_and_end_effectors(name: str) -> None:
    profile = auto_detect_profile(name)
    assert profile.robot_type == TYPES[name]
    assert (profile.robot_type == OBJECT) == (not profile.movable_joint_names)
    assert profile.ee_link_name == END_EFFECTORS.get(name)
    assert bool(profile.wheel_joint_names) == (name in ("husky", "racecar", "r2d2"))


@pytest.mark.parametrize("name", ["panda", "kuka_iiwa", "xarm6", "r2d2", "racecar", "a1", "table"])
def test_a_loaded_body_has_the_profile_of_its_file(name: str, client: int) -> None:
    path = fleet_sim.resolve_urdf(name)
    body = pybullet.loadURDF(path, physicsClientId=client)
    from_body, from_file = auto_detect_profile(body, client), auto_detect_profile(path)
    # These write limits at continuous joints, which do not hold; a body no longer tells which joints are continuous.
    unlike = {"urdf_path", "reach"} | (
        {"joint_lower_limits", "joint_upper_limits"} if name in ("r2d2", "racecar") else set()
    )
    for field in dataclasses.fields(RobotProfile):
        if field.name not in unlike:
            assert getattr(from_body, field.name) == getattr(from_file, field.name)
    assert detect_robot_type(body, client) == from_file.robot_type
    model, same = model_of_body(body, client), fleet_sim.load_robot_model(path)
    values = np.random.default_rng(0).uniform(-1.0, 1.0, model.num_joints).tolist()
    (positions, orientations), expected = link_poses(model, values), link_poses(same, values)
    np.testing.assert_allclose(positions, expected[0], atol=1e-9)
    np.testing.assert_allclose(np.abs((orientations * expected[1]).sum(axis=1)), 1.0)
    pybullet.removeBody(body, client)


def test_the_handle_of_a_simulation_will_do() -> None:
    with fleet_sim.MultiRobotSimulationCore(fleet_sim.SimulationParams(gui=False, monitor=False)) as sim:
        body = sim.bullet.loadURDF(fleet_sim.resolve_urdf("panda"))
        assert detect_robot_type(body, sim.bullet) == detect_robot_type(body, sim.client) == "arm"
        assert auto_detect_profile(body, sim.bullet).ee_link_name == "panda_hand"


def test_what_the_caller_knows_better_wins() -> None:
    profile = auto_detect_profile("panda", ee_link_name="panda_grasptarget", ee_link_index=11)
    assert (profile.ee_link_name, profile.ee_link_index) == ("panda_grasptarget", 11)
    with pytest.raises(UnknownNameError, match=r"field of RobotProfile 'ee_link'.*Did you mean"):
        auto_detect_profile("panda", ee_link="x")


def test_bad_bodies_and_clients_are_refused(client: int) -> None:
    with pytest.raises(InvalidValueError, match="joints of body 4711"):
        auto_detect_profile(4711, client)
    with pytest.raises(InvalidValueError, match=r"expected sim.bullet or a PyBullet client id"):
        detect_robot_type(0, None)


def chain(*joints: tuple[str, str]) -> str:
    links = "".join(f"<link name='link{number}'/>" for number in range(len(joints) + 1))
    body = "".join(
        f"<joint name='{name}' type='{kind}'><parent link='link{number}'/><child link='link{number + 1}'/>"
        "<origin xyz='0 0 0.1'/><axis xyz='0 1 0'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint>"
        for number, (name, kind) in enumerate(joints)
    )
    return f"<robot name='r'>{links}{body}</robot>"


@pytest.mark.parametrize(
    ("joints", "kind"),
    [
        ([("a", "continuous"), ("b", "revolute"), ("c", "continuous")], "arm"),
        ([("lift", "prismatic")], "arm"),
        ([("mount", "fixed"), ("drive", "continuous"), ("cap", "fixed")], "arm"),
        ([("steer", "revolute"), ("wheel", "continuous")], "mobile"),
        ([("a", "fixed"), ("b", "floating")], "static"),
    ],
)
def test_structure_decides(joints: list[tuple[str, str]], kind: str, tmp_path: Path) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(chain(*joints))
    assert auto_detect_profile(file).robot_type == kind
