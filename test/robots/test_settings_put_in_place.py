"""What is put into a list or mapping of finished spawn params counts, or is refused when they are used."""

from __future__ import annotations

import pytest

import fleet_sim as fs


@pytest.fixture
def sim() -> fs.MultiRobotSimulationCore:
    return fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False, physics=True))


def arm() -> fs.AgentSpawnParams:
    return fs.AgentSpawnParams(urdf_path="arm6", mass=None, use_fixed_base=True)


def test_motors_of_single_joints(sim: fs.MultiRobotSimulationCore) -> None:
    params = arm()
    params.joint_motors["joint_1"] = {"max_force": 3.0}  # type: ignore[assignment]
    assert sim.spawn(params).get_motor("joint_1").max_force == 3.0
    params.joint_motors["joint_1"] = {"max_forc": 3.0}  # type: ignore[assignment]
    with pytest.raises(
        fs.ConfigError, match=r"joint_motors\.joint_1\.max_forc: unknown key\. Did you mean 'max_force'"
    ):
        sim.spawn(params)


def test_features_and_shapes(sim: fs.MultiRobotSimulationCore) -> None:
    params = fs.AgentSpawnParams()
    params.features["batery"] = {}
    with pytest.raises(fs.ConfigError, match="unknown feature 'batery'"):
        sim.spawn(params)
    thing = fs.SimObjectSpawnParams(visual_shape=[fs.ShapeParams("box")])
    assert isinstance(thing.visual_shape, list)
    thing.visual_shape.append("ball")  # type: ignore[arg-type]
    with pytest.raises(fs.ConfigError, match=r"visual_shape\[1\]"):
        sim.spawn(thing)


def test_motors_need_something_to_set(sim: fs.MultiRobotSimulationCore) -> None:
    robot = sim.spawn(arm())
    with pytest.raises(fs.InvalidValueError, match="set_motors: nothing to set; give position_gain"):
        robot.set_motors()
    with pytest.raises(fs.InvalidValueError, match="nothing to set"):
        robot.set_motors("joint_1")


def test_joints_of_inverse_kinematics_are_checked_when_they_are_given(sim: fs.MultiRobotSimulationCore) -> None:
    params = arm()
    params.ik_params = fs.IKParams(rest_posture={"joint_11": 0.1})
    with pytest.raises(fs.UnknownNameError, match="Did you mean 'joint_1'"):
        sim.spawn(params)
    robot = sim.spawn(arm())
    for wrong, message in (
        (fs.IKParams(rest_posture={"joint_11": 0.1}), "joint_11"),
        (fs.IKParams(rest_posture={"joint_1": 99.0}), "beyond its limits"),
        (fs.IKParams(ik_joint_names=("joint_1", "elbow")), "elbow"),
        (fs.IKParams(ik_joint_names=("arm_mount_joint",)), "does not move"),
    ):
        with pytest.raises(fs.FleetSimError, match=message):
            robot.ik_params = wrong
    assert robot.ik_params == fs.IKParams()


@pytest.mark.parametrize("name", ["joint_positions", "joint_tolerance", "ik_params", "motors"])
def test_settings_of_joints_without_joints_are_refused(sim: fs.MultiRobotSimulationCore, name: str) -> None:
    value = {"joint_positions": [0.1], "joint_tolerance": 0.1, "ik_params": {}, "motors": {"max_force": 1.0}}[name]
    box = fs.ShapeParams("box")
    with pytest.raises(fs.InvalidValueError, match=rf"{name}: need a robot description"):
        sim.spawn(fs.AgentSpawnParams(box, box, **{name: value}))  # type: ignore[arg-type]
