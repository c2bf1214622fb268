"""Mimic joints follow their leaders, kinematic and with physics, and are commanded through them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mimic_robots import mimic_file, mimics

import fleet_sim as fs
from fleet_sim.models import load_robot_model, urdf_text
from fleet_sim.world.shapes import Mimic

Make = Callable[..., fs.MultiRobotSimulationCore]


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


def spawn(sim: fs.MultiRobotSimulationCore, file: str, **settings: Any) -> fs.Agent:
    agent: fs.Agent = fs.Agent.from_urdf(file, sim_core=sim, use_fixed_base=True, **{"mass": 0.0, **settings})
    return agent


def assert_led(agent: fs.Agent, tolerance: float = 0.0) -> None:
    """Check positions and velocities of all followers."""
    states = np.array(list(agent.get_joints_state_by_name(("lead", "twice", "back", "slide")).values()))
    lead = states[0]
    expected = [lead, 2.0 * lead + [0.1, 0.0], -2.0 * lead - [0.1, 0.0], 0.05 * lead]
    assert states[:, 0] == pytest.approx(np.array(expected)[:, 0], abs=tolerance)
    assert states[:, 1] == pytest.approx(np.array(expected)[:, 1], abs=max(50.0 * tolerance, 1e-12))


def run(sim: fs.MultiRobotSimulationCore, steps: int) -> None:
    for _ in range(steps):
        sim.step_once()


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


def test_followers_go_back_with_the_state(make_sim: Make, gripper: str) -> None:
    sim = make_sim()
    agent = spawn(sim, gripper)
    moment = sim.save_state()
    sim.remove_object(agent)
    spawn(sim, gripper, name="later")
    sim.restore_state(moment)
    agent.set_joint_target("lead", 1.0)
    run(sim, 4)
    assert agent.get_joint_state("lead")[0] > 0.3
    assert_led(agent)


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
    actions = [
        fs.JointAction({"twice": 0.5}),
        fs.JointTrajectoryAction(["twice"], times=[1.0], positions=[[0.5]]),
    ]
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
