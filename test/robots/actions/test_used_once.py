"""An action serves one robot, once: what is used, queued or running is refused, and `reset` makes it ready again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from fleet_sim import Action, Agent, AgentSpawnParams, MoveTo, MultiRobotSimulationCore, Pose, Until, Wait
from fleet_sim.base.errors import InvalidValueError, StateError, UnknownNameError
from fleet_sim.robots.actions.registry import describe_action, parse_action_goal


def ended(sim: MultiRobotSimulationCore, action: Action, most: int = 200) -> Action:
    for _ in range(most):
        if action.is_complete():
            return action
        sim.step_once()
    raise AssertionError(f"{action!r} did not end")


def test_a_queued_action_is_in_one_queue(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    other, action = sim.spawn(AgentSpawnParams(name="other")), Wait(1.0)
    robot.add_action(action)
    for agent in (robot, other):
        with pytest.raises(StateError, match="is already in a queue"):
            agent.add_action(action)
    with pytest.raises(StateError, match="is already in a queue"):
        other.add_action_sequence([Wait(1.0), action])
    # Nothing of the sequence was taken.
    assert other.is_action_queue_empty()


def test_the_same_action_twice_in_one_sequence_is_refused(robot: Agent) -> None:
    action = Wait(1.0)
    with pytest.raises(StateError, match=r"Wait.* is there twice"):
        robot.add_action_sequence([Wait(2.0), action, action])
    assert robot.is_action_queue_empty()
    robot.add_action_sequence(iter([Wait(2.0), action]))
    assert robot.get_action_queue_size() == 2


def test_an_action_that_ended_is_used_up_until_it_is_reset(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    action = Wait(0.2)
    robot.add_action(action)
    ended(sim, action)
    with pytest.raises(StateError, match=r"was already used; call reset\(\) to use it again"):
        robot.add_action(action)
    with pytest.raises(StateError, match=r"was already started; call reset\(\) to use it again"):
        action.begin(robot)
    assert action.execute(robot, 0.1)
    assert action.get_duration() == pytest.approx(0.2, abs=0.2)

    action.reset()
    assert (action.status, action.error_message, action.cause, action.get_duration()) == (
        "not_started",
        None,
        None,
        0.0,
    )
    robot.add_action(action)
    assert ended(sim, action).status == "completed"


def test_a_running_action_is_not_reset_and_a_waiting_one_stays(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    running, waiting = MoveTo(Pose((9, 0, 0))), Wait(1.0)
    robot.add_action_sequence([running, waiting])
    sim.step_once()
    with pytest.raises(StateError, match="MoveTo is running; cancel it before resetting it"):
        running.reset()
    waiting.reset()
    with pytest.raises(StateError, match="is already in a queue"):
        robot.add_action(waiting)
    running.cancel("enough")
    assert (running.status, running.error_message) == ("cancelled", "enough")
    running.reset()
    assert running.error_message is None


def test_only_actions_are_queued(robot: Agent) -> None:
    for wrong in ("move", None, Wait, 3):
        with pytest.raises(InvalidValueError, match="an action must derive from Action, got"):
            robot.add_action(wrong)


def test_an_action_run_by_hand_stops_its_robot(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    action = MoveTo(Pose((1, 0, 0)))
    for _ in range(300):
        if action.execute(robot, sim.clock.dt):
            break
        sim.step_once()
    assert action.status == "completed"
    assert robot.get_pose().x == pytest.approx(1.0, abs=1e-6)

    another = MoveTo(Pose((9, 0, 0)))
    another.execute(robot, sim.clock.dt)
    sim.step_once()
    another.cancel("stop here")
    here = robot.get_pose()
    for _ in range(50):
        sim.step_once()
    assert robot.get_pose().distance_to(here) < 0.5
    assert not robot.is_moving


# ---- by name ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters", "error", "reason"),
    [
        ("mvoe", {}, UnknownNameError, "unknown action 'mvoe'. Did you mean 'move'"),
        ("wait", "[1]", InvalidValueError, "action 'wait': expected an object of parameters, got"),
        ("wait", "{", InvalidValueError, "action 'wait': parameters"),
        ("wait", 3, InvalidValueError, "action 'wait': expected parameters by name, got 3"),
        ("wait", {"secs": 1}, InvalidValueError, "secs"),
        ("wait", {"duration": math.nan}, InvalidValueError, "duration"),
        ("wait", {"duration": "long"}, InvalidValueError, "duration"),
        ("move", {"path": 3}, InvalidValueError, "action 'move': path must be a list of poses, got 3"),
        ("move", {"path": [[0, 0]]}, InvalidValueError, "path"),
        ("move", {"target_pose": [0, 0, "x"]}, InvalidValueError, "target_pose"),
    ],
)
def test_wrong_actions_in_words_are_refused(name: str, parameters: Any, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        parse_action_goal(name, parameters)


def test_an_action_is_described_and_made_again() -> None:
    action = parse_action_goal("move", json.dumps({"target_pose": [1, 2, 0, 0.5]}))
    described = describe_action(action)
    assert described["type"] == "move"
    again = parse_action_goal(described.pop("type"), described)
    assert describe_action(again) == {"type": "move", **described}
    assert describe_action(Wait(2.0)) == {"type": "wait", "duration": 2.0}


def test_an_action_of_a_class_without_a_name_cannot_be_described() -> None:
    class Own(Action):
        def start(self, agent: Agent) -> Until | None:
            return None

    with pytest.raises(InvalidValueError, match=r"Own has no name by which it could be made again; give it one with"):
        describe_action(Own())


def test_a_timeout_ends_an_action_with_its_cause(
    sim: MultiRobotSimulationCore, robot: Agent, finish: Callable[[Action], Action]
) -> None:
    action = MoveTo(Pose((50, 0, 0)), timeout=0.5)
    robot.add_action(action)
    finish(action)
    assert (action.status, action.cause) == ("failed", "timeout")
    assert action.error_message == "timed out after 0.5 s"
    assert action.get_duration() == pytest.approx(0.5, abs=sim.clock.dt)
