"""The joints of a robot through its handle: spawning, state, targets, tolerances, commands to many."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import ARM_JOINTS, FINGERS, PANDA, READY, spawn_panda
from mimic_robots import mimic_file, mimics

import fleet_sim as fs
from fleet_sim.models import load_robot_model, urdf_text
from fleet_sim.world.shapes import Mimic

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


# ---- Joints without a single position, spherical and planar ones, are held fixed, which is said ----------------------


Make = Callable[..., fs.MultiRobotSimulationCore]


def run(sim: fs.MultiRobotSimulationCore, steps: int) -> None:
    for _ in range(steps):
        sim.step_once()


def spawn(sim: fs.MultiRobotSimulationCore, file: str, **settings: Any) -> fs.Agent:
    agent: fs.Agent = fs.Agent.from_urdf(file, sim_core=sim, use_fixed_base=True, **{"mass": 0.0, **settings})
    return agent


@pytest.mark.parametrize("physics", [False, True])
def test_spherical_joints_are_held_with_a_warning(
    make_sim: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, physics: bool
) -> None:
    file = mimic_file(
        tmp_path, ("ball", "spherical", ""), ("flat", "planar", ""), ("turn", "revolute", ""), name="doll"
    )
    sim = make_sim(physics=physics)
    agent = spawn(sim, file, mass=None if physics else 0.0)
    assert caplog.text.count("held fixed: ball, flat") == 1
    spawn(sim, file, name="second", pose=fs.Pose((0, 5, 0)))
    assert caplog.text.count("held fixed") == 1, "once for all of its kind"
    assert agent.movable_joint_names == ("turn",)
    with pytest.raises(fs.InvalidValueError, match="'ball' of 'doll' is spherical or planar, which is held fixed"):
        agent.set_joint_target("ball", 0.5)
    agent.set_joint_target("turn", 0.5)
    run(sim, 10)
    assert agent.get_joint_state("turn")[0] == pytest.approx(0.5, abs=0.01)
    assert agent.get_joint_state("ball") == (0.0, 0.0)
    position = sim.bullet.getLinkState(agent.body_id, 0)[4]
    assert agent.get_link_pose("ball_link").position == pytest.approx(position, abs=1e-3)


# ---- Mimic joints follow their leaders, kinematic and with physics, and are commanded through them -------------------


@pytest.fixture
def gripper(tmp_path: Path) -> str:
    """A leader, a follower at twice its position and 0.1 more, one that follows that one backwards, and a slide."""
    return mimic_file(
        tmp_path,
        ("back", "revolute", mimics("twice", -1.0)),
        ("lead", "revolute", ""),
        ("twice", "continuous", mimics("lead", 2.0, 0.1)),
        ("slide", "prismatic", mimics("lead", 0.05)),
        ("other", "revolute", ""),
    )


def assert_led(agent: fs.Agent, tolerance: float = 0.0) -> None:
    """Check positions and velocities of all followers."""
    states = np.array(list(agent.get_joints_state_by_name(("lead", "twice", "back", "slide")).values()))
    lead = states[0]
    expected = [lead, 2.0 * lead + [0.1, 0.0], -2.0 * lead - [0.1, 0.0], 0.05 * lead]
    assert states[:, 0] == pytest.approx(np.array(expected)[:, 0], abs=tolerance)
    assert states[:, 1] == pytest.approx(np.array(expected)[:, 1], abs=max(50.0 * tolerance, 1e-12))


# ---- the description -------------------------------------------------------------------------------------------------


def test_the_model_tells_who_follows_whom(gripper: str) -> None:
    model = load_robot_model(gripper)
    assert model.mimics == (Mimic(0, 1, -2.0, -0.1), Mimic(2, 1, 2.0, 0.1), Mimic(3, 1, 0.05, 0.0))


def test_an_exported_model_has_its_mimic_joints(gripper: str, tmp_path: Path) -> None:
    model = load_robot_model(gripper)
    again = tmp_path / "again.urdf"
    again.write_text(urdf_text(model))
    assert load_robot_model(str(again)).mimics == model.mimics


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ([("a", "revolute", mimics("b"))], "there is no joint 'b'"),
        ([("a", "revolute", mimics("a"))], "'a' would follow itself"),
        ([("a", "revolute", mimics("b")), ("b", "revolute", mimics("a"))], "would follow itself"),
        ([("a", "revolute", mimics("b")), ("b", "fixed", "")], "'b' has no position to follow"),
    ],
)
def test_leaders_that_cannot_be_followed(tmp_path: Path, joints: Any, message: str) -> None:
    with pytest.raises(fs.InvalidValueError, match=message):
        load_robot_model(mimic_file(tmp_path, *joints, name=f"wrong_{len(message)}"))


# ---- kinematic robots ------------------------------------------------------------------------------------------------


def test_followers_follow_targets_velocities_and_puts(make_sim: Make, gripper: str) -> None:
    sim = make_sim(timestep=0.05)
    agent = spawn(sim, gripper, joint_positions={"lead": 0.2})
    assert_led(agent)
    agent.set_joint_target("lead", 0.6)
    assert agent.last_joint_targets == pytest.approx({0: -1.3, 1: 0.6, 2: 1.3, 3: 0.03})
    run(sim, 3)
    assert agent.get_joint_state("twice")[1] == pytest.approx(2.0)
    assert_led(agent)
    run(sim, 20)
    assert agent.are_joints_at_targets() and agent.get_joint_state("twice") == (pytest.approx(1.3), 0.0)
    agent.set_joint_velocity("lead", -0.5)
    run(sim, 3)
    assert_led(agent)
    agent.stop_joints()
    assert_led(agent)
    agent.set_joint_positions({"lead": -0.4})
    assert_led(agent)
    state = sim.bullet.getJointState(agent.body_id, 2)
    assert state[0] == pytest.approx(-0.7)
    assert agent.get_joint_state("other") == (0.0, 0.0)


def test_in_another_size_slides_go_farther(make_sim: Make, gripper: str) -> None:
    sim = make_sim()
    agent = spawn(sim, gripper, global_scaling=2.0)
    agent.set_joint_positions({"lead": 0.3})
    assert agent.get_joint_state("slide")[0] == pytest.approx(0.03)
    assert agent.get_joint_state("twice")[0] == pytest.approx(0.7)


def test_the_links_of_followers_move(make_sim: Make, gripper: str) -> None:
    sim = make_sim()
    agent = spawn(sim, gripper)
    agent.set_joint_positions({"lead": 0.3})
    assert agent.get_link_pose("twice_link").yaw == pytest.approx(0.7)
    assert agent.get_link_pose("slide_link").z == pytest.approx(0.015)


def test_actions_move_followers(make_sim: Make, gripper: str) -> None:
    sim = make_sim(timestep=0.02)
    agent = spawn(sim, gripper)
    move = fs.JointAction({"lead": 0.5})
    path = fs.JointTrajectoryAction(["lead"], times=[1.0, 2.0], positions=[[0.8], [0.1]])
    agent.add_action_sequence([move, path])
    while not path.is_complete():
        sim.step_once()
        assert_led(agent, 1e-9)
    assert (move.status, path.status) == ("completed", "completed")


def test_followers_are_joints_as_others_on_request(make_sim: Make, gripper: str) -> None:
    sim = make_sim()
    agent = spawn(sim, gripper, mimic_joints=False)
    agent.set_joint_positions({"twice": 0.5})
    assert agent.get_joint_state("lead")[0] == 0.0 and agent.get_joint_state("twice")[0] == 0.5


# ---- commands --------------------------------------------------------------------------------------------------------

REASON = r"'twice' of 'gripper' mimics 'lead' \(twice = 2 \* lead \+ 0.1\)"


@pytest.mark.parametrize(
    "command",
    [
        lambda agent: agent.set_joint_target("twice", 0.5),
        lambda agent: agent.set_joints_targets({"lead": 0.5, "twice": 0.5}),
        lambda agent: agent.set_joint_velocity("twice", 0.5),
        lambda agent: agent.set_joint_positions({"twice": 0.5}),
    ],
)
def test_commands_to_a_follower_are_refused_with_its_leader(make_sim: Make, gripper: str, command: Any) -> None:
    sim = make_sim()
    agent = spawn(sim, gripper)
    with pytest.raises(fs.InvalidValueError, match=REASON):
        command(agent)
    run(sim, 2)
    assert agent.get_joint_state("lead") == (0.0, 0.0)
    with pytest.raises(fs.InvalidValueError, match=REASON):
        spawn(sim, gripper, joint_positions={"twice": 0.5})


def test_numbers_for_all_joints_may_agree(make_sim: Make, gripper: str) -> None:
    sim = make_sim()
    agent = spawn(sim, gripper)
    agent.set_joint_positions({"lead": 0.3})
    everything = agent.joint_positions
    agent.set_joint_positions({"lead": 0.0})
    agent.set_joint_positions(everything)
    assert agent.joint_positions == pytest.approx(everything)
    with pytest.raises(fs.InvalidValueError, match="mimics 'lead'"):
        agent.set_all_joints_targets([0.0] * 5)


def test_actions_on_followers_fail_with_the_reason(make_sim: Make, gripper: str) -> None:
    sim = make_sim()
    agent = spawn(sim, gripper)
    actions = [fs.JointAction({"twice": 0.5}), fs.JointTrajectoryAction(["twice"], times=[1.0], positions=[[0.5]])]
    for action in actions:
        agent.add_action(action)
        run(sim, 3)
        assert action.status == "failed" and "mimics 'lead'" in str(action.error_message)


def test_commands_to_many_robots_name_those_that_refuse(make_sim: Make, gripper: str) -> None:
    sim = make_sim()
    agents = [spawn(sim, gripper, name=f"r{index}", mimic_joints=index < 2) for index in range(3)]
    names = tuple(str(agent.name) for agent in agents)
    wanted = np.array([[0.2, 0.5], [0.2, 0.4], [0.2, 0.4]])
    ack = sim.dispatcher.dispatch(fs.SetJoints(names=names, joint_names=("lead", "twice"), positions=wanted))
    assert list(ack.rejected) == ["r1"] and "mimics 'lead'" in ack.rejected["r1"]
    run(sim, 10)
    assert [agent.get_joint_state("twice")[0] for agent in agents] == pytest.approx([0.5, 0.1, 0.4])


def test_inverse_kinematics_refuses_links_behind_followers(make_sim: Make, gripper: str) -> None:
    sim = make_sim()
    agent = spawn(sim, gripper)
    with pytest.raises(fs.InvalidValueError, match="cannot use joint 'back'"):
        agent.move_end_effector((0.1, 0.0, 0.0), end_effector_link="back_link")


# ---- with physics ----------------------------------------------------------------------------------------------------


def test_the_engine_holds_followers_to_their_leaders(make_sim: Make, gripper: str) -> None:
    sim = make_sim(physics=True, timestep=0.05)
    agent = spawn(sim, gripper, mass=None, joint_positions={"lead": 0.2})
    assert agent.uses_motors
    agent.set_joint_target("lead", 0.6)
    for _ in range(40):
        sim.step_once()
        assert_led(agent, 2e-3)
    assert agent.get_joint_state("lead")[0] == pytest.approx(0.6, abs=0.01)
    agent.set_joint_velocity("lead", -0.5)
    run(sim, 10)
    assert_led(agent, 2e-3)
    agent.set_joint_positions({"lead": 0.1})
    run(sim, 2)
    assert_led(agent, 2e-3)
    with pytest.raises(fs.InvalidValueError, match="takes no force of its own"):
        agent.set_joints_forces({"twice": 1.0})
    agent.set_joints_forces({"lead": 3.0})
    run(sim, 1)
    assert agent.get_joint_state("twice")[1] > 0.1
    assert_led(agent, 5e-3)


def test_followers_stay_with_their_leaders_through_the_life_of_the_engine(make_sim: Make, gripper: str) -> None:
    sim = make_sim(physics=True, timestep=0.05)
    agent = spawn(sim, gripper, mass=None)
    agent.set_joint_target("lead", 0.5)
    run(sim, 5)
    sim.rebuild_engine()
    run(sim, 5)
    assert_led(agent, 2e-3)
    moment = sim.save_state()

    def hashes() -> list[str]:
        return [sim.state_hash() for _ in range(5) if sim.step_once() is None]

    first = hashes()
    sim.restore_state(moment)
    assert hashes() == first
    sim.reset()
    agent.set_joint_target("lead", -0.5)
    run(sim, 10)
    assert_led(agent, 2e-3)


def test_gears_of_mimic_joints_are_not_said_to_be_lost(
    make_sim: Make, gripper: str, caplog: pytest.LogCaptureFixture
) -> None:
    sim = make_sim(physics=True, gravity=(0.0, 0.0, 0.0))
    agent = spawn(sim, gripper, mass=None)
    agent.set_joint_target("lead", 0.3)
    run(sim, 300)
    with caplog.at_level(logging.WARNING, "fleet_sim"):
        sim.rebuild_engine()
    assert caplog.text == ""
    run(sim, 5)
    assert_led(agent, 1e-3)
