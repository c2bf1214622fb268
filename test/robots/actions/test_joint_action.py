"""JointAction: when it completes, when it fails, what it costs meanwhile, and what cancels it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from arms import PANDA, READY, spawn_panda
from small_world import Finish

from fleet_sim import (
    ActionStatus,
    Agent,
    ExecuteAction,
    InvalidValueError,
    JointAction,
    JointTrajectoryAction,
    MoveTo,
    MultiRobotSimulationCore,
    Pose,
    Until,
    Wait,
    parse_action_goal,
)
from fleet_sim.robots.actions.joints import JointCurves


@pytest.fixture
def arm(sim: MultiRobotSimulationCore) -> Agent:
    return spawn_panda(sim, motion_mode="omnidirectional")


def test_it_completes_when_every_joint_is_within_tolerance(arm: Agent, finish: Finish) -> None:
    action = JointAction({"panda_joint1": 1.0, "panda_joint2": 0.0})
    arm.add_action(action)
    assert finish(action).status is ActionStatus.COMPLETED
    # 1 rad at 2.175 rad/s, within 0.01: five steps of 0.1 s
    assert action.get_duration() == pytest.approx(0.5)
    assert action.tolerance == 0.01, "the tolerance it came to is written back"
    assert arm.are_joints_at_targets({"panda_joint1": 1.0, "panda_joint2": 0.0})


def test_joints_go_on_to_their_exact_targets_after_a_rough_arrival(
    sim: MultiRobotSimulationCore, arm: Agent, finish: Finish
) -> None:
    action = JointAction({"panda_joint1": 1.0}, tolerance=0.6)
    arm.add_action(action)
    finish(action)
    assert action.get_duration() == pytest.approx(0.2)
    assert arm.get_joint_state(0)[0] == pytest.approx(0.6525), "on its way"
    for _ in range(5):
        sim.step_once()
    assert arm.get_joint_state(0) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("own", "given", "steps"),
    [
        (None, None, 5),
        (0.6, None, 2),
        (0.6, 0.0, 5),
        ({"panda_joint1": 0.8}, None, 1),
        ([0.6], None, 2),
        (None, {"panda_joint2": 0.8}, 5),
        (None, [], 5),
    ],
)
def test_tolerance_is_the_actions_then_the_agents_then_the_general_one(
    arm: Agent, finish: Finish, own: object, given: object, steps: int
) -> None:
    arm.joint_tolerance = own
    action = JointAction({"panda_joint1": 1.0}, tolerance=given)  # type: ignore[arg-type]
    arm.add_action(action)
    finish(action)
    assert action.get_duration() == pytest.approx(0.1 * steps)
    assert action.tolerance == (given if given is not None else arm.joint_tolerance)


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        ([0.0] * 4, "9 joints that move"),
        ({"elbow": 1.0}, "unknown joint"),
        ({"panda_joint8": 0.0}, "fixed"),
        ({"panda_joint1": 10.0}, r"target 10 of joint 'panda_joint1' is outside its limits \[-2.9671"),
        ({"panda_joint1": math.nan}, "finite"),
    ],
)
def test_what_cannot_be_reached_fails_at_once(
    sim: MultiRobotSimulationCore, arm: Agent, targets: object, says: str
) -> None:
    action = JointAction(targets)  # type: ignore[arg-type]
    arm.add_action(action)
    sim.step_once()
    assert action.status is ActionStatus.FAILED
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(action.error_message)
    assert arm.joint_positions.tolist() == READY


def test_an_agent_without_joints_fails(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    action = JointAction([0.0])
    robot.add_action(action)
    sim.step_once()
    assert (action.status, action.error_message) == (
        ActionStatus.FAILED,
        "the agent was made from shapes and has no joints",
    )


def test_a_timeout_ends_it_and_holds_the_joints(sim: MultiRobotSimulationCore, arm: Agent, finish: Finish) -> None:
    action = JointAction({"panda_joint1": 2.0}, timeout=0.3)
    arm.add_action(action)
    assert finish(action).status is ActionStatus.FAILED
    assert "timed out" in str(action.error_message)
    position = arm.get_joint_state(0)[0]
    assert 0.5 < position < 1.0
    sim.step_once()
    assert arm.get_joint_state(0) == (position, 0.0)


class Counted(JointAction):
    """Counts how often it is updated."""

    updates = 0

    def update(self, agent: Agent, dt: float) -> Until | None:
        self.updates += 1
        return super().update(agent, dt)


def test_it_costs_nothing_on_the_way(sim: MultiRobotSimulationCore, arm: Agent, finish: Finish) -> None:
    action = Counted({"panda_joint1": 2.8})
    arm.add_action(action)
    finish(action)
    assert action.get_duration() == pytest.approx(1.3)
    assert action.updates == 2, "once when it starts, once when it is over"


def test_commands_to_its_joints_cancel_it_and_others_do_not(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    action, later = JointAction({"panda_joint1": 2.0}), Wait(1.0)
    arm.add_action_sequence([action, later])
    sim.step_once()
    arm.set_joint_target("panda_joint7", 0.0)
    arm.set_velocity(1.0)
    assert action.status is ActionStatus.IN_PROGRESS
    assert later.status is ActionStatus.CANCELLED, "a command to drive is newer than what was queued"
    sim.step_once()
    assert arm.get_joint_state(6)[0] < 0.8
    assert arm.velocity[0] > 0.0
    arm.set_joint_target("panda_joint1", 0.0)
    assert action.status is ActionStatus.CANCELLED
    for _ in range(10):
        sim.step_once()
    assert arm.get_joint_state(0) == (0.0, 0.0)


def test_commands_to_joints_leave_a_drive_alone(sim: MultiRobotSimulationCore, arm: Agent, finish: Finish) -> None:
    action = MoveTo(Pose.from_xyz(2.0, 0.0, 0.0))
    arm.add_action(action)
    sim.step_once()
    arm.set_joint_target("panda_joint1", 0.5)
    assert finish(action).status is ActionStatus.COMPLETED
    assert arm.get_joint_state(0)[0] == 0.5


def test_cancelling_holds_the_joints_where_they_are(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    action = JointAction({"panda_joint1": 2.0})
    arm.add_action(action)
    sim.step_once()
    sim.step_once()
    action.cancel("enough")
    position = arm.get_joint_state(0)[0]
    assert position > 0.0
    sim.step_once()
    assert arm.get_joint_state(0) == (position, 0.0)


def test_a_new_action_replaces_it(sim: MultiRobotSimulationCore, arm: Agent, finish: Finish) -> None:
    first, second = JointAction({"panda_joint1": 2.0}), JointAction({"panda_joint2": 0.4})
    arm.add_action(first)
    sim.step_once()
    sim.dispatcher.dispatch(ExecuteAction(names=("arm",), actions=(second,)))
    assert finish(second).status is ActionStatus.COMPLETED
    assert first.status is ActionStatus.CANCELLED
    assert arm.get_joint_state(0)[0] < 0.5


def test_it_is_made_from_its_name(sim: MultiRobotSimulationCore, arm: Agent, finish: Finish) -> None:
    action = parse_action_goal("joint", '{"target_joint_positions": {"panda_joint1": 0.3}, "tolerance": 0.0}')
    arm.add_action(action)
    assert finish(action).status is ActionStatus.COMPLETED
    assert arm.get_joint_state(0)[0] == 0.3


def test_it_can_be_run_by_hand(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    action = JointAction({"panda_joint1": 0.5})
    ticks = 0
    while not action.execute(arm, 0.1):
        sim.step_once()
        ticks += 1
    assert (ticks, action.status) == (3, ActionStatus.COMPLETED)


# ---- JointTrajectoryAction: at the right place at the right time, or a cause -----------------------------------------


J1, J2 = "panda_joint1", "panda_joint2"


@pytest.fixture
def arm_joint_trajectory(sim: MultiRobotSimulationCore) -> Agent:
    return spawn_panda(sim, use_fixed_base=True)


def run(sim: MultiRobotSimulationCore, arm_joint_trajectory: Agent, action: JointTrajectoryAction) -> np.ndarray:
    """Return position and velocity of the first joint at the end of each step."""
    arm_joint_trajectory.add_action(action)
    track = []
    for _ in range(100):
        sim.step_once()
        track.append(arm_joint_trajectory.get_joint_state(J1))
        if action.is_complete():
            break
    return np.array(track)


def test_a_late_start_leaves_out_what_is_past_and_an_early_one_waits(
    sim: MultiRobotSimulationCore, arm_joint_trajectory: Agent, finish: Finish
) -> None:
    for _ in range(10):
        sim.step_once()
    late = JointTrajectoryAction([J1], [0.5, 1.5], [[9e-9], [0.5]], start_time_wanted=0.0)
    track = run(sim, arm_joint_trajectory, late)
    assert late.get_duration() == pytest.approx(0.5)
    assert track[:5, 0] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    begin = sim.sim_time
    early = JointTrajectoryAction([J1], [0.5], [[0.0]], start_time_wanted=begin + 1.0)
    track = run(sim, arm_joint_trajectory, early)
    assert (track[:10, 0] == 0.5).all()
    assert early.get_duration() == pytest.approx(1.5)
    old = JointTrajectoryAction([J1], [0.5], [[0.0]], start_time_wanted=0.1)
    run(sim, arm_joint_trajectory, old)
    assert (old.status, old.trajectory_cause) == (ActionStatus.FAILED, "old")
    assert old.cause == "invalid_goal"


def test_what_is_too_fast_breaks_a_path_tolerance_or_comes_late(
    sim: MultiRobotSimulationCore, arm_joint_trajectory: Agent
) -> None:
    strict = JointTrajectoryAction([J1], [0.2], [[2.0]], path_tolerance=0.3)
    run(sim, arm_joint_trajectory, strict)
    assert (strict.status, strict.trajectory_cause) == (ActionStatus.FAILED, "path_tolerance")
    assert strict.cause == "unreachable"
    assert "panda_joint1" in str(strict.error_message)
    held = arm_joint_trajectory.get_joint_state(J1)[0]
    sim.step_once()
    assert arm_joint_trajectory.get_joint_state(J1) == (held, 0.0)
    punctual = JointTrajectoryAction([J1], [0.1], [[-2.0]], goal_time_tolerance=0.2)
    run(sim, arm_joint_trajectory, punctual)
    assert (punctual.status, punctual.trajectory_cause) == (ActionStatus.FAILED, "goal_tolerance")
    patient = JointTrajectoryAction([J1], [0.1], [[2.0]])
    run(sim, arm_joint_trajectory, patient)
    assert patient.status is ActionStatus.COMPLETED
    rough = JointTrajectoryAction([J1], [0.1], [[1.5]], goal_tolerance=0.4, goal_time_tolerance=0.0)
    run(sim, arm_joint_trajectory, rough)
    assert rough.status is ActionStatus.COMPLETED


@pytest.mark.parametrize(
    ("names", "positions", "cause"),
    [
        (["elbow"], [[0.0]], "invalid_joints"),
        (["panda_joint8"], [[0.0]], "invalid_joints"),
        ([J1], [[9.0]], "invalid_goal"),
    ],
)
def test_what_the_robot_cannot_do_fails_at_once(
    sim: MultiRobotSimulationCore,
    arm_joint_trajectory: Agent,
    names: list[str],
    positions: list[list[float]],
    cause: str,
) -> None:
    action = JointTrajectoryAction(names, [1.0], positions)
    run(sim, arm_joint_trajectory, action)
    assert (action.status, action.trajectory_cause, action.get_duration()) == (ActionStatus.FAILED, cause, 0.0)
    assert arm_joint_trajectory.joint_positions.tolist() == READY


@pytest.mark.parametrize(
    "arguments",
    [
        ([], [1.0], [[]]),
        ([J1, J1], [1.0], [[0.0, 0.0]]),
        ([J1], [], []),
        ([J1], [1.0, 1.0], [[0.0], [0.0]]),
        ([J1], [-1.0], [[0.0]]),
        ([J1], [1.0], [[float("nan")]]),
        ([J1], [1.0], [[0.0, 1.0]]),
        ([J1], [1.0], [[0.0]], [[0.0], [0.0]]),
        ([J1], [1.0], [[0.0]], None, -1.0),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple) -> None:
    with pytest.raises(InvalidValueError):
        JointTrajectoryAction(*arguments)


def test_a_command_to_its_joints_ends_it(sim: MultiRobotSimulationCore, arm_joint_trajectory: Agent) -> None:
    action = JointTrajectoryAction([J1], [5.0], [[2.0]])
    arm_joint_trajectory.add_action(action)
    sim.step_once()
    arm_joint_trajectory.set_joint_target(J2, 0.0)
    sim.step_once()
    assert action.status is ActionStatus.IN_PROGRESS
    arm_joint_trajectory.set_joint_target(J1, 0.0)
    assert action.status is ActionStatus.CANCELLED


def test_motors_follow_closely(make_sim: Callable[..., MultiRobotSimulationCore]) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    arm_joint_trajectory = Agent.from_urdf(PANDA, use_fixed_base=True, sim_core=sim, joint_positions=READY)
    action = JointTrajectoryAction([J1, J2], [1.0], [[0.8, 0.2]], velocities=[[0.0, 0.0]], path_tolerance=0.02)
    arm_joint_trajectory.add_action(action)
    for _ in range(100):
        sim.step_once()
    assert action.status is ActionStatus.COMPLETED, action.error_message


class CountedJointTrajectory(JointTrajectoryAction):
    """Counts how often it is updated."""

    updates = 0

    def update(self, agent: Agent, dt: float) -> Until | None:
        self.updates += 1
        return super().update(agent, dt)


def test_it_costs_nothing_between_points(sim: MultiRobotSimulationCore, arm_joint_trajectory: Agent) -> None:
    action = CountedJointTrajectory([J1], [2.0, 4.0], [[1.0], [0.0]], velocities=[[0.0], [0.0]], path_tolerance=0.001)
    track = run(sim, arm_joint_trajectory, action)
    assert action.status is ActionStatus.COMPLETED
    assert action.updates <= 4
    share = 0.05 * np.arange(1, 21)
    assert track[:20, 0] == pytest.approx(3 * share**2 - 2 * share**3)
    assert track[9, 1] == pytest.approx(0.75, rel=0.01)


def test_points_may_lie_between_steps(sim: MultiRobotSimulationCore, arm_joint_trajectory: Agent) -> None:
    times, places = [0.0, 0.13, 0.41, 0.77, 1.25], [0.0, 0.1, 0.3, 0.0, 0.4]
    action = JointTrajectoryAction([J1], times[1:], [[place] for place in places[1:]])
    track = run(sim, arm_joint_trajectory, action)
    at = 0.1 * np.arange(1, 13)
    assert track[:12, 0] == pytest.approx(np.interp(at, times, places))
    assert arm_joint_trajectory.get_joint_state(J1) == (0.4, 0.0)
    assert action.get_duration() == pytest.approx(1.3)


# ---- curves ----------------------------------------------------------------------------------------------------------


def test_two_points_at_one_time_are_a_jump_that_no_limit_allows() -> None:
    curves = JointCurves(np.array([0.0, 1.0, 1.0]), np.array([[0.0], [1.0], [2.0]]), None)
    assert np.isfinite(curves.top_speeds()).all()
    assert curves.top_speeds()[0] > 1e8
    assert curves.sample(0.5)[0] == pytest.approx([0.5])
