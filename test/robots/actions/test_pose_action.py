"""PoseAction: the end effector gets there, or the action says why not; it never hangs."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pytest
from arms import ARM_JOINTS, PANDA, READY, spawn_panda
from small_world import Finish

from fleet_sim import (
    Action,
    ActionStatus,
    Agent,
    AgentSpawnParams,
    InvalidValueError,
    MultiRobotSimulationCore,
    PoseAction,
    parse_action_goal,
)

TARGET = (0.45, 0.2, 0.35)
FAR = (2.0, 0.0, 0.4)


@pytest.fixture
def arm(sim: MultiRobotSimulationCore) -> Agent:
    return spawn_panda(sim, use_fixed_base=True)


def away(agent: Agent, target: tuple[float, float, float]) -> float:
    return float(np.linalg.norm(np.subtract(agent.get_end_effector_pose().position, target)))


def test_it_completes_when_joints_and_end_effector_are_there(arm: Agent, finish: Finish) -> None:
    action = PoseAction(TARGET)
    arm.add_action(action)
    assert finish(action).status is ActionStatus.COMPLETED
    assert action.error_message is None
    assert away(arm, TARGET) <= 0.02
    assert 0.1 < action.get_duration() < 3.0


def test_it_costs_nothing_while_the_joints_move(sim: MultiRobotSimulationCore, arm: Agent, finish: Finish) -> None:
    updates: list[float] = []

    class Watched(PoseAction):
        def update(self, agent: Agent, dt: float):
            updates.append(sim.sim_time)
            return super().update(agent, dt)

    action = Watched((-0.45, 0.2, 0.35))
    arm.add_action(action)
    finish(action)
    assert action.get_duration() > 0.5
    assert len(updates) <= 2


def test_it_turns_the_end_effector_too(arm: Agent, finish: Finish) -> None:
    down = (1.0, 0.0, 0.0, 0.0)
    action = PoseAction(TARGET, down, "panda_hand", tolerance=0.001)
    arm.add_action(action)
    assert finish(action).status is ActionStatus.COMPLETED
    assert arm.are_ee_at_target(TARGET, down, "panda_hand", 0.001)


def test_an_end_effector_that_is_there_completes_at_once(
    sim: MultiRobotSimulationCore, arm: Agent, finish: Finish
) -> None:
    before = arm.joint_positions
    action = PoseAction(arm.get_end_effector_pose().as_position())
    arm.add_action(action)
    sim.step_once()
    assert action.status is ActionStatus.COMPLETED
    assert np.array_equal(arm.joint_positions, before)


def test_what_is_out_of_reach_is_approached_and_fails_when_settled(
    arm: Agent, finish: Finish, caplog: pytest.LogCaptureFixture
) -> None:
    before = away(arm, FAR)
    action = PoseAction(FAR)
    arm.add_action(action)
    with caplog.at_level(logging.WARNING, "fleet_sim"):
        finish(action)
    assert (action.status, action.error_message) == (ActionStatus.FAILED, "IK target was not reachable")
    assert "not reachable" in caplog.text
    assert "arm" in caplog.text
    assert away(arm, FAR) < before - 0.2
    assert action.get_duration() > 0.2
    assert not arm.joint_velocities.any()


def test_misuse_fails_at_once_with_the_cause(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    box = sim.spawn(AgentSpawnParams(name="box"))
    for agent, action, cause in (
        (box, PoseAction(TARGET), "no joints"),
        (arm, PoseAction(TARGET, end_effector_link="panda_hnad"), "Did you mean 'panda_hand'"),
        (arm, PoseAction(TARGET, end_effector_link=40), "40"),
    ):
        agent.add_action(action)
        sim.step_once()
        assert action.status is ActionStatus.FAILED
        assert cause in str(action.error_message)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PoseAction((1.0, 2.0)),
        lambda: PoseAction((1.0, 2.0, float("nan"))),
        lambda: PoseAction(TARGET, (0.0, 0.0, 0.0, 0.0)),
        lambda: PoseAction(TARGET, tolerance=-1.0),
        lambda: PoseAction(TARGET, max_force=float("inf")),
    ],
)
def test_bad_parameters_are_refused_at_construction(make: Callable[[], Action]) -> None:
    with pytest.raises(InvalidValueError):
        make()


def test_it_times_out_and_stops_the_arm(sim: MultiRobotSimulationCore, arm: Agent, finish: Finish) -> None:
    action = PoseAction((-0.45, 0.2, 0.35), timeout=0.3)
    arm.add_action(action)
    finish(action)
    assert (action.status, action.error_message) == (ActionStatus.FAILED, "timed out after 0.3 s")
    stopped = arm.joint_positions
    sim.step_once()
    assert np.array_equal(arm.joint_positions, stopped)


def test_cancelling_stops_the_arm_and_driving_does_not(sim: MultiRobotSimulationCore, finish: Finish) -> None:
    rover = Agent.from_urdf(PANDA, motion_mode="omnidirectional", sim_core=sim, joint_positions=READY)
    action = PoseAction((-0.45, 0.2, 0.35))
    rover.add_action(action)
    sim.step_once()
    rover.set_velocity(0.5)
    sim.step_once()
    assert action.status is ActionStatus.IN_PROGRESS
    assert "did the base move?" in str(finish(action).error_message)
    other = PoseAction((-0.45, 0.2, 0.35))
    rover.add_action(other)
    sim.step_once()
    rover.set_joint_target(ARM_JOINTS[6], 0.0)
    assert other.status is ActionStatus.CANCELLED


def test_it_can_be_used_again_and_by_name(arm: Agent, finish: Finish) -> None:
    action = parse_action_goal("pose", {"target_position": list(TARGET), "end_effector_link": "panda_hand"})
    assert isinstance(action, PoseAction)
    arm.add_action(action)
    finish(action)
    arm.set_joint_positions(READY)
    action.reset()
    arm.add_action(action)
    assert finish(action).status is ActionStatus.COMPLETED
    assert away(arm, TARGET) <= 0.02


def test_progress_tells_how_far_it_is(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    action = PoseAction((-0.45, 0.2, 0.35))
    arm.add_action(action)
    sim.step_once()
    first = action.progress(arm)["distance_left"]
    sim.step_once()
    sim.step_once()
    assert action.progress(arm)["distance_left"] < first
    assert action.progress(arm)["phase"] == "moving"


def test_motors_bring_the_end_effector_there(make_sim) -> None:
    sim = make_sim(physics=True, timestep=1 / 240, collision_check_frequency=0)
    arm = Agent.from_urdf(PANDA, mass=None, use_fixed_base=True, sim_core=sim, joint_positions=READY)
    assert arm.uses_motors
    action = PoseAction(TARGET)
    arm.add_action(action)
    for _ in range(1200):
        if action.is_complete():
            break
        sim.step_once()
    assert action.status is ActionStatus.COMPLETED, action.error_message
    assert away(arm, TARGET) <= 0.02
