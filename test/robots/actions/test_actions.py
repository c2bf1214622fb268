"""MoveTo and Wait: what they do, how long it takes, and why they fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_world import BOX, Finish

from fleet_sim import (
    Action,
    Agent,
    AgentSpawnParams,
    DriveByAction,
    InvalidValueError,
    MoveAction,
    MoveTo,
    MultiRobotSimulationCore,
    Path,
    Pose,
    ShapeParams,
    SimulationParams,
    Wait,
)
from fleet_sim.base.arrays import Floats
from fleet_sim.base.params import ActionCause, ActionStatus
from fleet_sim.robots.actions import FollowAction, TeleopAction
from fleet_sim.world.commands import Command, FinishActions

# ---- MoveTo ----------------------------------------------------------------------------------------------------------


def test_the_tolerance_may_be_given_by_position() -> None:
    goal = Pose((1, 0, 0))
    assert MoveTo(goal, 0.2, False).tolerance == MoveAction([goal], True, False, None, 0.2).tolerance == 0.2


def test_a_path_may_be_given_as_a_list(robot: Agent, finish: Finish) -> None:
    action = MoveAction([Pose((1, 0, 0)), Pose((1, 1, 0))])
    robot.execute_action(action)
    assert finish(action).status == "completed"
    assert robot.get_pose().distance_to(Pose((1, 1, 0))) < 1e-9


@pytest.mark.parametrize("given", [False, None, "no"])
def test_a_path_without_the_way_to_it_is_refused_with_the_reason(robot: Agent, given: object) -> None:
    path = [Pose.from_xyz(1.0, 0.0, 0.0)]
    for follow in (MoveAction, robot.set_path):
        with pytest.raises(InvalidValueError, match=r"auto_approach: must be True, got .* wherever it is"):
            follow(path, auto_approach=given)  # type: ignore[operator]
    assert robot.goal_pose is None


def test_impossible_moves_fail_at_once_with_the_cause(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    fixed = sim.spawn(AgentSpawnParams(BOX, BOX, use_fixed_base=True))
    carried = sim.spawn(AgentSpawnParams(BOX, BOX))
    robot.attach_object(carried)
    causes = {}
    for agent, action in (
        (robot, MoveAction(Path())),
        (fixed, MoveTo(Pose((1, 0, 0)))),
        (carried, MoveTo(Pose((1, 0, 0)))),
    ):
        agent.execute_action(action)
        sim.step_once()
        assert action.status == "failed"
        assert action.get_duration() == 0.0
        assert action.progress(agent)["duration"] == 0.0
        causes[agent] = action.error_message
    assert causes[robot] == "the path is empty"
    assert "fixed base" in causes[fixed]
    assert "carried by" in causes[carried]


def test_put_elsewhere_a_robot_still_gets_there(sim: MultiRobotSimulationCore, robot: Agent, finish: Finish) -> None:
    action = MoveTo(Pose((5, 0, 0)))
    robot.execute_action(action)
    for _ in range(10):
        sim.step_once()
    robot.set_pose(Pose((2, 7, 0)))
    assert finish(action).status == "completed"
    assert robot.get_pose().distance_to(Pose((5, 0, 0))) < 1e-9


# ---- Wait ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("duration", "steps"), [(1.0, 10), (0.3, 3), (0.05, 1), (0.0, 0)])
def test_waiting_takes_whole_steps(robot: Agent, finish: Finish, duration: float, steps: int) -> None:
    action = Wait(duration, action_type="charging")
    robot.execute_action(action)
    finish(action)
    assert action.get_duration() == pytest.approx(0.1 * steps)
    assert action.action_type == "charging"


@pytest.mark.parametrize("duration", [-1.0, float("nan"), "long"])
def test_bad_durations_are_refused(duration: float) -> None:
    with pytest.raises(InvalidValueError, match="duration"):
        Wait(duration)


# ---- Paths with curves: driven without a stop at each pose, and not far beside them ----------------------------------


CONTROLLER = {"type": "differential", "max_linear_vel": 1.0, "max_angular_vel": 3.0, "max_linear_accel": 2.0}


def scenario(**entry: Any) -> dict[str, Any]:
    robot = {"name": "a", "pose": [0.0, 0.0, 0.1], "controller": CONTROLLER, **entry}
    return {"simulation": {"gui": False, "timestep": 0.02}, "robots": [robot]}


def arc(radius: float = 2.0, count: int = 32) -> Floats:
    """Return points (count, 2) of a half circle that begins along x."""
    angles = np.linspace(0.0, np.pi, count)
    return np.stack((radius * np.sin(angles), radius * (1.0 - np.cos(angles))), axis=1)


def path_of(points: Floats, yaw: float) -> list[Pose]:
    return [Pose.from_euler(x, y, 0.0, 0.0, 0.0, yaw) for x, y in points.tolist()]


def drive(config: dict[str, Any], action: FollowAction, most: int = 3000) -> tuple[Floats, Floats]:
    """Return the places (N, 3) of the robot and its speeds (N,), step by step."""
    places, speeds = [], []
    with MultiRobotSimulationCore.from_dict(config) as sim:
        robot = sim.agents[0]
        robot.add_action(action)
        for _ in range(most):
            sim.step_once()
            places.append(robot.get_pose().position)
            speeds.append(float(np.linalg.norm(robot.velocity)))
            if action.is_complete():
                break
    return np.array(places), np.array(speeds)


def test_others_are_driven_as_by_a_move_action() -> None:
    omni = scenario(controller={"type": "omni", "max_linear_vel": 1.0})
    action = FollowAction(path_of(arc(), 0.0), keep_height=True)
    places, _ = drive(omni, action)
    assert action.status is ActionStatus.COMPLETED and places[-1] == pytest.approx([0.0, 4.0, 0.1], abs=1e-9)
    fixed = FollowAction(path_of(arc(), 0.0))
    drive(scenario(controller=None, use_fixed_base=True), fixed)
    assert (fixed.status, fixed.cause) == (ActionStatus.FAILED, ActionCause.UNREACHABLE)
    empty = FollowAction([])
    drive(scenario(), empty)
    assert empty.cause is ActionCause.INVALID_GOAL


# ---- TourAction, DriveByAction and TurnAction: where they end, how far that is, and why they fail --------------------


BODY = ShapeParams("cylinder", radius=0.2, height=0.3)


@pytest.fixture
def sim_relative() -> MultiRobotSimulationCore:
    return MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False, timestep=0.05))


def robot(sim_relative: MultiRobotSimulationCore, **options: object) -> Agent:
    params = AgentSpawnParams(BODY, BODY, Pose((0.0, 0.0, 0.15)), motion_mode="differential", **options)
    agent: Agent = sim_relative.spawn(params)
    return agent


def run(sim_relative: MultiRobotSimulationCore, agent: Agent, action: Action, most: int = 2000) -> Action:
    """Run `action` to its end."""
    agent.add_action(action)
    for _ in range(most):
        sim_relative.step_once()
        if action.is_complete():
            return action
    raise AssertionError("it does not end")


@pytest.mark.parametrize(
    ("target", "speed"), [((1.0, 1.0, 0.0), 1.0), ((1.0, 0.0, 0.0), -1.0), ((1.0, 0.0, 0.0), 0.0), ((1e19, 0, 0), 1.0)]
)
def test_ways_that_mean_nothing_are_refused(
    sim_relative: MultiRobotSimulationCore, target: tuple[float, float, float], speed: float
) -> None:
    agent = robot(sim_relative)
    assert run(sim_relative, agent, DriveByAction(target, speed)).cause is ActionCause.INVALID_GOAL
    assert agent.get_pose().x == 0.0


def test_something_in_the_way_ends_it(sim_relative: MultiRobotSimulationCore) -> None:
    agent = robot(sim_relative, block_on_collision=True)
    sim_relative.spawn(AgentSpawnParams(BODY, BODY, Pose((1.0, 0.0, 0.15)), use_fixed_base=True))
    action = run(sim_relative, agent, DriveByAction((3.0, 0.0, 0.0), 1.0))
    assert action.cause is ActionCause.BLOCKED and action.blocked_by == "#1"
    assert 0.3 < agent.get_pose().x <= 0.6


def test_a_path_tells_how_many_of_its_poses_are_left(sim_relative: MultiRobotSimulationCore) -> None:
    agent = robot(sim_relative)
    action = MoveAction(Path([Pose((1.0, 0.0, 9.0)), Pose((2.0, 0.0, 9.0))]), keep_height=True)
    agent.add_action(action)
    seen = []
    while not action.is_complete():
        sim_relative.step_once()
        seen.append(action.progress(agent)["poses_left"])
    assert list(dict.fromkeys(seen)) == [2, 1, 0]
    assert agent.get_pose().z == 0.15


# ---- Robots that somebody else drives, until that is done ------------------------------------------------------------


def test_velocities_drive_it_and_a_command_ends_it() -> None:
    scenario = {
        "simulation": {"gui": False, "timestep": 0.05},
        "robots": [{"name": "a"}, {"name": "b", "pose": [0.0, 5.0, 0.0]}],
    }
    with MultiRobotSimulationCore.from_dict(scenario) as sim:
        robot, other = sim.agents
        command = Command.from_dict(FinishActions(names=("a", "b")).to_dict())
        answer = sim.inbox.put(command)
        sim.step_once()
        assert list(answer.result().rejected) == ["a", "b"]
        teleop, timed = TeleopAction(), TeleopAction(timeout=0.1)
        robot.add_action(teleop)
        other.add_action(timed)
        sim.step_once()
        robot.set_velocity(0.5)
        for _ in range(10):
            sim.step_once()
        assert not teleop.is_complete() and robot.get_pose().x > 0.0
        assert (timed.status, timed.cause) == (ActionStatus.FAILED, ActionCause.TIMEOUT)
        answer = sim.inbox.put(command)
        sim.step_once()
        assert list(answer.result().rejected) == ["b"] and teleop.status is ActionStatus.COMPLETED
        here = robot.get_pose()
        sim.step_once()
        assert robot.get_pose() == here
        teleop.reset()
        robot.add_action(teleop)
        sim.step_once()
        assert not teleop.is_complete()


def test_a_robot_with_a_fixed_base_is_not_teleoperated() -> None:
    with MultiRobotSimulationCore.from_dict(
        {"simulation": {"gui": False}, "robots": [{"name": "a", "use_fixed_base": True}]}
    ) as sim:
        teleop = TeleopAction()
        sim.agents[0].add_action(teleop)
        sim.step_once()
        assert (teleop.status, teleop.cause) == (ActionStatus.FAILED, ActionCause.UNREACHABLE)
