"""MoveTo and Wait: what they do, how long it takes, and why they fail."""

from __future__ import annotations

import pytest
from small_world import BOX, Finish

from fleet_sim import (
    Agent,
    AgentSpawnParams,
    InvalidValueError,
    MoveAction,
    MoveTo,
    MultiRobotSimulationCore,
    Path,
    Pose,
    Wait,
)

# ---- MoveTo ----------------------------------------------------------------------------------------------------------


def test_the_tolerance_may_be_given_by_position() -> None:
    goal = Pose((1, 0, 0))
    assert MoveTo(goal, 0.2, False).tolerance == MoveAction([goal], True, False, None, 0.2).tolerance == 0.2


def test_a_differential_robot_turns_drives_and_turns(sim: MultiRobotSimulationCore, finish: Finish) -> None:
    robot = sim.spawn(AgentSpawnParams(BOX, BOX))
    action = MoveTo(Pose.from_yaw(0.0, 10.0, 0.0, 0.0))
    robot.execute_action(action)
    finish(action)
    assert 6.8 <= action.get_duration() <= 7.5
    assert robot.get_pose().as_position() == pytest.approx([0, 10, 0], abs=1e-12)
    assert robot.get_pose().yaw == pytest.approx(0.0)


def test_a_move_with_tolerance_ends_at_rest_within_it(robot: Agent, finish: Finish) -> None:
    exact, near = MoveTo(Pose((3, 0.1, 0))), MoveTo(Pose((0, 0, 0)), tolerance=0.5)
    robot.add_action_sequence([exact, near])
    finish(near)
    assert robot.get_pose().distance_to(Pose((0, 0, 0))) <= 0.5
    assert near.get_duration() <= exact.get_duration() + 1e-9
    assert not robot.is_moving


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


def test_progress_tells_the_distance_left(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    action = MoveTo(Pose((10, 0, 0)))
    robot.execute_action(action)
    for _ in range(10):
        sim.step_once()
    progress = action.progress(robot)
    assert progress["distance_left"] == pytest.approx(10.0 - robot.get_pose().x)
    assert progress["waypoint"] == 0


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
