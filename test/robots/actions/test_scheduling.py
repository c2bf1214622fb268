"""Queues, events, cancelling, waking up."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from small_world import Finish

from fleet_sim import (
    Action,
    Agent,
    AgentManager,
    AgentSpawnParams,
    GridSpawnParams,
    InvalidValueError,
    MoveTo,
    MultiRobotSimulationCore,
    Pose,
    StateError,
    Until,
    Wait,
)


class Counting(Action):
    """Counts how often it is asked, and ends at the `last` update."""

    def __init__(self, until: Callable[[Agent], Until | None] = lambda agent: None, last: int = 3, **base) -> None:
        super().__init__(**base)
        self.until, self.last = until, last
        self.calls: list[str] = []

    def start(self, agent: Agent) -> Until | None:
        """Begin."""
        self.calls.append("start")
        return self.until(agent)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Count."""
        self.calls.append("update")
        if self.calls.count("update") == self.last:
            self.complete()
        return self.until(agent)

    def stop(self, agent: Agent) -> None:
        """Clean up."""
        self.calls.append("stop")


class Failing(Action):
    """Raises where it is told to."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    def start(self, agent: Agent) -> Until | None:
        """Begin."""
        agent.set_velocity(1.0)
        if self.where == "start":
            raise RuntimeError("on purpose")
        return None

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Go on."""
        raise RuntimeError("on purpose")


def test_a_polled_action_is_called_at_each_step(robot: Agent, finish: Finish) -> None:
    action = Counting()
    robot.execute_action(action)
    finish(action)
    assert action.calls == ["start", "update", "update", "update", "stop"]
    assert action.get_duration() == pytest.approx(0.3)


def test_an_action_that_waits_for_a_time_is_called_then(robot: Agent, finish: Finish) -> None:
    action = Counting(lambda agent: Until(time=1.0 if agent.world.clock.time < 1.0 else 2.0), last=2)
    robot.execute_action(action)
    finish(action)
    assert action.calls == ["start", "update", "update", "stop"]
    assert (action.start_time, action.end_time) == (0.0, pytest.approx(2.0))


def test_an_action_may_steer_its_own_robot(robot: Agent, finish: Finish) -> None:
    class Hop(Action):
        def start(self, agent: Agent) -> Until | None:
            agent.set_goal(Pose((1, 0, 0)))
            return Until(arrival=True)

        def update(self, agent: Agent, dt: float) -> Until | None:
            if agent.get_pose().y > 0.5:
                self.complete()
            else:
                agent.set_goal(Pose((1, 1, 0)))
            return Until(arrival=True)

    action = Hop()
    robot.execute_action(action)
    finish(action)
    assert action.status == "completed"
    assert robot.get_pose().distance_to(Pose((1, 1, 0))) < 1e-9


def test_a_thousand_waiting_robots_are_not_asked(sim: MultiRobotSimulationCore) -> None:
    asked = []

    class Move(MoveTo):
        def update(self, agent: Agent, dt: float) -> Until | None:
            asked.append(agent.name)
            return super().update(agent, dt)

    manager = AgentManager(sim)
    grid = GridSpawnParams.from_count(1000, spacing=(2.0, 2.0, 0.0))
    params = AgentSpawnParams(motion_mode="omnidirectional")
    robots = manager.spawn_agents_grid(1000, grid, params, name_prefix="r")
    for robot in robots:
        x, y, z = robot.get_pose().position
        robot.execute_action(Move(Pose((x + 20.0, y, z))))
    for _ in range(50):
        sim.step_once()
    assert manager.get_moving_count() == 1000
    assert asked == []
    while manager.get_moving_count():
        sim.step_once()
    sim.step_once()
    assert sorted(asked) == sorted(robot.name for robot in robots)
    assert all(robot.is_action_queue_empty() for robot in robots)


def test_a_queue_runs_in_order_without_gaps(robot: Agent, finish: Finish) -> None:
    actions = [Wait(0.3), Wait(0.0), Wait(0.2)]
    robot.add_action_sequence(actions)
    assert robot.get_action_queue_size() == 3
    finish(actions[-1])
    assert [(action.start_time, action.end_time) for action in actions] == [
        (0.0, pytest.approx(0.3)),
        (pytest.approx(0.3), pytest.approx(0.3)),
        (pytest.approx(0.3), pytest.approx(0.5)),
    ]
    assert robot.is_action_queue_empty()


def test_events_tell_each_start_and_end_once(sim: MultiRobotSimulationCore, robot: Agent, finish: Finish) -> None:
    heard, own = [], []
    for event in ("action_started", "action_completed"):
        sim.events.on(event, lambda event=event, **details: heard.append((event, details)))
        robot.events.on(event, lambda event=event, **details: own.append((event, details)))
    done, dropped, waiting = Wait(0.2), Wait(5.0), Wait(1.0)
    robot.add_action_sequence([done, dropped, waiting])
    finish(done)
    sim.step_once()
    robot.clear_actions()
    sim.step_once()
    assert heard == [
        ("action_started", {"agent": robot, "action": done}),
        ("action_completed", {"agent": robot, "action": done, "status": "completed"}),
        ("action_started", {"agent": robot, "action": dropped}),
        ("action_completed", {"agent": robot, "action": dropped, "status": "cancelled"}),
    ]
    assert [(event, {**details, "agent": robot}) for event, details in own] == heard
    assert (waiting.status, waiting.start_time) == ("cancelled", None)


def test_cancelling_stops_the_robot_at_once(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    move, following = MoveTo(Pose((9, 0, 0))), Wait(0.1)
    robot.add_action_sequence([move, following])
    for _ in range(5):
        sim.step_once()
    here = robot.get_pose()
    move.cancel("changed my mind")
    assert (move.status, move.error_message) == ("cancelled", "changed my mind")
    assert (move.end_time, move.get_duration()) == (pytest.approx(0.5), pytest.approx(0.5))
    sim.step_once()
    assert robot.get_pose() == here
    assert following.status == "in_progress"
    move.cancel("again")
    assert move.error_message == "changed my mind"


def test_a_queued_action_can_be_cancelled_alone(sim: MultiRobotSimulationCore, robot: Agent, finish: Finish) -> None:
    first, second, third = Wait(0.2), Wait(9.0), Wait(0.2)
    robot.add_action_sequence([first, second, third])
    sim.step_once()
    second.cancel()
    assert finish(third).end_time == pytest.approx(0.4)
    assert first.status == "completed"
    assert second.status == "cancelled"


def test_an_action_may_be_cancelled_from_its_own_event(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    action = Wait(1.0)
    sim.events.on("action_started", lambda agent, action: action.cancel("not today"))
    robot.execute_action(action)
    sim.step_once()
    assert (action.status, robot.get_action_queue_size()) == ("cancelled", 0)


@pytest.mark.parametrize("where", ["start", "update"])
def test_a_faulty_action_fails_and_the_next_goes_on(
    sim: MultiRobotSimulationCore, robot: Agent, finish: Finish, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    action, following = Failing(where), Wait(0.1)
    robot.add_action_sequence([action, following])
    with caplog.at_level(logging.ERROR, logger="fleet_sim"):
        finish(following)
    assert (action.status, following.status) == ("failed", "completed")
    assert "exception" in (action.error_message or "")
    assert "on purpose" in caplog.text
    assert not robot.is_moving
    assert sim.guard.total == 1


def test_a_fault_that_is_raised_leaves_the_action_failed(make_sim: Callable[..., MultiRobotSimulationCore]) -> None:
    sim = make_sim(raise_on_fault=True)
    robot = sim.spawn(AgentSpawnParams(motion_mode="omnidirectional"))
    action, following = Failing("start"), Wait(0.1)
    robot.add_action_sequence([action, following])
    with pytest.raises(RuntimeError, match="on purpose"):
        sim.step_once()
    assert action.status == "failed"
    for _ in range(3):
        sim.step_once()
    assert following.status == "completed"


@pytest.mark.parametrize(
    "action", [Wait(9.0, timeout=0.5), MoveTo(Pose((50, 0, 0)), timeout=0.5), Counting(timeout=0.5, last=99)]
)
def test_time_out(robot: Agent, finish: Finish, action: Action) -> None:
    robot.execute_action(action)
    finish(action)
    assert action.status == "failed"
    assert action.error_message == "timed out after 0.5 s"
    assert action.get_duration() == pytest.approx(0.5)
    assert not robot.is_moving


@pytest.mark.parametrize("timeout", [-1.0, float("nan"), "soon"])
def test_bad_timeouts_are_refused(timeout: float) -> None:
    with pytest.raises(InvalidValueError, match="timeout"):
        Wait(1.0, timeout=timeout)


def test_an_action_is_used_once_until_it_is_reset(sim: MultiRobotSimulationCore, robot: Agent, finish: Finish) -> None:
    action = MoveTo(Pose((1, 0, 0)))
    robot.execute_action(action)
    for _ in range(2):
        with pytest.raises(StateError):
            robot.execute_action(action)
        sim.step_once()
    with pytest.raises(StateError, match="running"):
        action.reset()
    finish(action)
    with pytest.raises(StateError, match="reset"):
        robot.execute_action(action)
    action.reset()
    assert (action.status, action.start_time, action.end_time, action.get_duration()) == (
        "not_started",
        None,
        None,
        0.0,
    )
    robot.set_pose(Pose((0, 0, 0)))
    robot.execute_action(action)
    assert finish(action).status == "completed"
    with pytest.raises(InvalidValueError, match="derive from Action"):
        robot.execute_action("go")


def test_by_hand(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    action, calls = MoveTo(Pose((1, 0, 0))), 0
    while not action.execute(robot, 0.1):
        sim.step_once()
        calls += 1
        assert calls < 100
    assert action.status == "completed"
    assert action.execute(robot, 0.1)
    counted = Counting(last=1)
    assert not counted.execute(robot, 0.1)
    assert counted.execute(robot, 0.1)
    assert counted.calls == ["start", "update", "stop"]
    wait = Wait(1.0)
    assert [wait.execute(robot, 0.1) for _ in range(10)] == [False] * 9 + [True]


def test_cancelling_by_hand_stops_the_robot(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    action = MoveTo(Pose((9, 0, 0)))
    action.execute(robot, 0.1)
    sim.step_once()
    action.cancel()
    here = robot.get_pose()
    sim.step_once()
    assert robot.get_pose() == here
