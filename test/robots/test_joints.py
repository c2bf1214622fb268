"""The joints of a robot through its handle: spawning, state, targets, tolerances, commands to many."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arms import ARM_JOINTS, FINGERS, PANDA, READY, spawn_panda

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore


@pytest.fixture
def arm(sim: Sim) -> fs.Agent:
    return spawn_panda(sim, use_fixed_base=True)


def test_joints_are_numbered_with_the_fixed_ones(arm: fs.Agent) -> None:
    assert arm.is_urdf_robot
    assert arm.get_num_joints() == 12
    assert arm.joint_names[:7] == tuple(ARM_JOINTS)
    assert arm.link_names[11] == "panda_grasptarget"
    assert arm.movable_joint_names == (*ARM_JOINTS, *FINGERS)
    assert arm.get_joint_limits("panda_finger_joint1") == (0.0, pytest.approx(0.04))
    assert arm.get_joint_state(1) == (-0.4, 0.0)
    assert arm.get_joint_state(7) == (0.0, 0.0), "panda_joint8 is fixed"
    assert arm.get_joint_state(9) == (0.04, 0.0)
    assert len(arm.get_all_joints_state()) == 12
    assert arm.get_all_joints_state_by_name()["panda_joint4"] == (-2.0, 0.0)
    assert arm.get_joints_state_by_name(FINGERS) == dict.fromkeys(FINGERS, (0.04, 0.0))


def test_joints_start_where_they_are_told_or_as_near_to_0_as_they_may(sim: Sim) -> None:
    named = sim.spawn(fs.AgentSpawnParams(urdf_path=PANDA, joint_positions={"panda_joint4": -1.0}))
    assert named.joint_positions.tolist() == [0, 0, 0, -1.0, 0, 0, 0, 0, 0]
    for positions, says in (
        ([0.0] * 5, "9 joints that move"),
        ({"panda_joint44": 0.0}, "panda_joint4"),
        ({"panda_joint8": 0.0}, "fixed"),
        ({"panda_joint1": 9.0}, "limits"),
        ({"panda_joint1": math.nan}, "finite"),
        ("up", "list"),
    ):
        with pytest.raises((ValueError, KeyError), match=says):
            sim.spawn(fs.AgentSpawnParams(urdf_path=PANDA, joint_positions=positions))
    assert len(sim.world) == 1


def test_mass_none_is_the_robots_own(make_sim: Callable[..., Sim]) -> None:
    for physics in (False, True):
        sim = make_sim(physics=physics)
        own = fs.Agent.from_urdf(PANDA, use_fixed_base=True, sim_core=sim)
        light = fs.Agent.from_urdf(PANDA, mass=0.0, use_fixed_base=True, sim_core=sim)
        assert own.mass == pytest.approx(sum(item.mass for item in own.robot_model.inertials))
        assert (own.uses_motors, light.uses_motors) == (physics, False)


def test_a_target_is_reached_exactly_at_the_joints_own_speed(sim: Sim, arm: fs.Agent) -> None:
    arm.set_joint_target(0, 1.0)
    sim.step_once()
    limit = float(arm.robot_model.max_velocities[0])
    assert arm.get_joint_state(0) == (pytest.approx(0.1 * limit), limit)
    assert not arm.are_joints_at_targets()
    for _ in range(5):
        sim.step_once()
    assert arm.get_joint_state_by_name("panda_joint1") == (1.0, 0.0)
    assert arm.last_joint_targets == {0: 1.0}
    assert arm.are_joints_at_targets()


@pytest.mark.parametrize("length", [9, 12], ids=["joints that move", "all joints"])
def test_a_list_may_leave_out_fixed_joints(sim: Sim, arm: fs.Agent, length: int) -> None:
    values = [0.1, 0.2, 0.3, -1.0, 0.1, 1.0, 0.2, 0.02, 0.02]
    full = [*values[:7], 99.0, 99.0, *values[7:], 99.0]
    targets = values if length == 9 else full
    arm.set_all_joints_targets(targets)
    for _ in range(20):
        sim.step_once()
    assert arm.joint_positions.tolist() == values
    assert arm.are_all_joints_at_targets(targets, tolerance=0.0)
    assert arm.are_joints_at_targets(dict(zip(arm.movable_joint_names, values, strict=True)))


def test_what_is_not_named_goes_on(sim: Sim, arm: fs.Agent) -> None:
    arm.set_joint_velocity("panda_joint7", -0.5)
    arm.set_joints_targets({"panda_joint1": 0.5})
    sim.step_once()
    assert arm.get_joint_state(6) == (pytest.approx(0.75), -0.5)
    assert arm.get_joint_state(0)[1] > 0.0
    arm.stop()
    sim.step_once()
    assert not arm.joint_velocities.any()


def test_targets_beyond_the_limits_go_to_the_limits(sim: Sim, arm: fs.Agent) -> None:
    arm.set_joints_targets({"panda_joint1": 10.0, "panda_finger_joint1": -1.0})
    low, high = arm.get_joint_limits("panda_joint1")
    assert arm.last_joint_targets == {0: high, 9: 0.0, 10: 0.0}, "the second finger mimics the first"
    for _ in range(20):
        sim.step_once()
    assert low < arm.get_joint_state(0)[0] <= high


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda arm: arm.set_all_joints_targets([0.0] * 4),
            fs.InvalidValueError,
            "9 joints that move.*12 in all, got 4",
        ),
        (lambda arm: arm.set_joint_target(12, 0.0), fs.UnknownNameError, "12"),
        (lambda arm: arm.set_joint_target(-1, 0.0), fs.UnknownNameError, "-1"),
        (lambda arm: arm.set_joint_target(True, 0.0), fs.InvalidValueError, "by name or index"),
        (lambda arm: arm.set_joint_target_by_name("panda_joint0", 0.0), fs.UnknownNameError, "Did you mean"),
        (lambda arm: arm.set_joint_target("panda_joint8", 0.0), fs.InvalidValueError, "fixed"),
        (lambda arm: arm.set_joint_target(0, math.nan), fs.InvalidValueError, "finite"),
        (lambda arm: arm.set_joint_target(0, 0.0, max_force=-1.0), fs.InvalidValueError, "max_force"),
        (lambda arm: arm.set_joints_velocities([math.inf] * 9), fs.InvalidValueError, "finite"),
        (lambda arm: arm.set_joints_forces([1.0] * 9), fs.StateError, "motors"),
        (lambda arm: arm.get_joint_state(99), fs.UnknownNameError, "99"),
        (lambda arm: setattr(arm, "joint_tolerance", -0.1), fs.InvalidValueError, "tolerance"),
        (lambda arm: setattr(arm, "joint_tolerance", {"elbow": 0.1}), fs.UnknownNameError, "elbow"),
    ],
)
def test_misuse_is_refused_and_moves_nothing(
    sim: Sim, arm: fs.Agent, call: Callable[[fs.Agent], object], error: type[Exception], says: str
) -> None:
    before = sim.state_hash()
    with pytest.raises(error, match=says):
        call(arm)
    assert sim.state_hash() == before


def test_an_agent_of_shapes_has_no_joints(robot: fs.Agent) -> None:
    assert (robot.get_num_joints(), robot.joint_names, robot.get_all_joints_state()) == (0, (), [])
    assert robot.last_joint_targets == {}
    with pytest.raises(fs.StateError, match="made from shapes"):
        robot.set_joint_target(0, 1.0)
    robot.stop()


def test_tolerance_falls_back_to_the_agents_then_to_the_general_one(arm: fs.Agent) -> None:
    assert arm.joint_tolerance == 0.01
    assert not arm.is_joint_at_target(0, 0.05)
    assert arm.is_joint_at_target(0, 0.05, tolerance=0.1)
    arm.joint_tolerance = {"panda_joint1": 0.1}
    assert arm.joint_tolerance == {"panda_joint1": 0.1}
    assert arm.is_joint_at_target(0, 0.05)
    assert not arm.is_joint_at_target_by_name("panda_joint2", -0.35)
    arm.joint_tolerance = [0.2, 0.2]
    assert arm.are_joints_at_targets_by_name({"panda_joint2": -0.25})
    assert not arm.are_joints_at_targets_by_name({"panda_joint3": 0.1}), "beyond the list"
    arm.joint_tolerance = None
    assert arm.joint_tolerance == 0.01


def test_arms_that_come_and_go_keep_their_joints_apart(sim: Sim) -> None:
    arms = [
        sim.spawn(fs.AgentSpawnParams(urdf_path=PANDA, joint_positions={"panda_joint1": 0.1 * n})) for n in range(4)
    ]
    sim.remove_object(arms[1])
    again = sim.spawn(fs.AgentSpawnParams(urdf_path=PANDA, joint_tolerance=0.5))
    assert (again.get_joint_state(0)[0], again.joint_tolerance) == (0.0, 0.5)
    assert [arm.get_joint_state(0)[0] for arm in (arms[0], arms[2], arms[3])] == [0.0, 0.2, pytest.approx(0.3)]
    assert len(sim.world.models) == 1


def test_many_equal_arms_share_a_model(sim: Sim) -> None:
    manager = fs.AgentManager(sim)
    params = fs.AgentSpawnParams(urdf_path=PANDA, use_fixed_base=True, joint_positions=READY)
    poses = [fs.Pose.from_xyz(float(index), 0.0, 0.0) for index in range(50)]
    for pose in poses:
        params.initial_pose = pose
        manager.add_object(sim.spawn(params))
    manager.set_joints_targets_all(lambda agent: {"panda_joint1": 0.01 * agent.object_id})
    for _ in range(10):
        sim.step_once()
    positions = np.array([agent.get_joint_state(0)[0] for agent in manager.agents])
    assert positions == pytest.approx(0.01 * np.arange(50))
    assert len(sim.world.models) == 1


def test_scenario_files_place_joints(make_sim: Callable[..., Sim]) -> None:
    robot: dict[str, Any] = {
        "name": "arm",
        "urdf_path": PANDA,
        "use_fixed_base": True,
        "joint_positions": {"panda_joint2": 0.5},
        "joint_tolerance": {"panda_joint2": 0.02},
        "actions": [{"type": "joint", "target_joint_positions": {"panda_joint1": 0.4}}],
    }
    text = json.loads(json.dumps({"simulation": {"gui": False, "timestep": 0.1}, "robots": [robot]}))
    with Sim.from_dict(text) as sim:
        arm = sim.agents[0]
        assert arm.get_joint_state(1)[0] == 0.5
        action = arm.get_current_action()
        for _ in range(5):
            sim.step_once()
            action = action or arm.get_current_action()
        assert isinstance(action, fs.JointAction)
        assert arm.is_joint_at_target(0, 0.4)


def test_links_and_joints_are_found_by_name_and_index(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim()
    arm = sim.spawn(fs.AgentSpawnParams(urdf_path="arm6", use_fixed_base=True))
    names = arm.joint_names
    for number, name in enumerate(names):
        assert fs.resolve_joint_index(arm, name) == fs.resolve_joint_index(arm, number) == number
    assert fs.resolve_link_index(arm, arm.link_names[2]) == fs.resolve_link_index(arm, 2) == 2
    assert fs.resolve_link_index(arm, -1) == -1
    with pytest.raises(fs.UnknownNameError, match="Did you mean"):
        fs.resolve_joint_index(arm, names[0] + "x")
    box = sim.spawn(fs.SimObjectSpawnParams())
    with pytest.raises(fs.StateError, match="no joints"):
        fs.resolve_joint_index(box, 0)
