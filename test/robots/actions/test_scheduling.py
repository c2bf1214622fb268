"""Queues, events, cancelling, waking up."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from small_world import BOX, Finish

from fleet_sim import (
    Action,
    ActionCause,
    ActionStatus,
    Agent,
    AgentManager,
    AgentSpawnParams,
    CancelActions,
    Drop,
    ExecuteAction,
    GridSpawnParams,
    InvalidValueError,
    MoveAction,
    MoveTo,
    MultiRobotSimulationCore,
    Pick,
    Pose,
    SimObject,
    StateError,
    Stop,
    Until,
    Wait,
)
from fleet_sim.robots.actions.registry import describe_action


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


# ---- Actions when their agent is removed, and when a state is saved, restored or reset -------------------------------


def test_removing_an_agent_cancels_its_actions(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    running, waiting = MoveTo(Pose((9, 0, 0))), Wait(1.0)
    robot.add_action_sequence([running, waiting])
    sim.step_once()
    sim.remove_object(robot)
    assert {running.status, waiting.status} == {"cancelled"}
    assert running.error_message == "the agent was removed"
    newcomer = sim.spawn(AgentSpawnParams())
    sim.step_once()
    assert newcomer.is_action_queue_empty()


def test_an_action_may_remove_its_own_agent(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    class Leave(Action):
        def start(self, agent: Agent) -> Until | None:
            sim.remove_object(agent)
            return None

    action = Leave()
    robot.add_action_sequence([action, Wait(1.0)])
    sim.step_once()
    sim.step_once()
    assert (action.status, sim.agents) == ("cancelled", [])


# ---- Why an action ended, as programs read it: `Action.cause` --------------------------------------------------------


HOME = Pose((0.0, 0.0, 0.0))
AWAY = Pose((50.0, 0.0, 0.0))


class FailingCauses(Action):
    """Fails at once, without saying more than words."""

    def start(self, agent: Agent) -> None:
        self.fail("no luck")


def carried(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    carrier = sim.spawn(AgentSpawnParams(BOX, BOX, robot.get_pose(), name="carrier"))
    carrier.attach_object(robot)


def send_all(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    manager = AgentManager(sim)
    manager.add_object(robot)
    manager.set_goal_pose_all(lambda agent: HOME)


FAILURES = [
    (lambda: MoveAction([]), ActionCause.INVALID_GOAL),
    (lambda: Pick("crate", attach_link=3), ActionCause.INVALID_GOAL),
    (lambda: Pick("no such thing"), ActionCause.UNKNOWN_OBJECT),
    (lambda: Drop((0.0, 0.0, 0.0)), ActionCause.UNKNOWN_OBJECT),
    (lambda: Drop((0.0, 0.0, 0.0), target_object_id="crate"), ActionCause.UNKNOWN_OBJECT),
    (lambda: MoveTo(AWAY, timeout=0.3), ActionCause.TIMEOUT),
    (FailingCauses, ActionCause.FAILED),
]


@pytest.mark.parametrize(("make", "cause"), FAILURES)
def test_a_failure_has_a_cause(
    robot: Agent, crate: SimObject, finish: Callable[[Action], Action], make: Callable[[], Action], cause: ActionCause
) -> None:
    action = make()
    assert action.cause is None
    robot.execute_action(action)
    finish(action)
    assert (action.status, action.cause) == (ActionStatus.FAILED, cause)
    assert action.error_message


@pytest.mark.parametrize("make", [lambda: MoveTo(AWAY), lambda: Pick("crate")])
def test_robots_that_cannot_drive_reach_nothing(
    sim: MultiRobotSimulationCore,
    robot: Agent,
    crate: SimObject,
    finish: Callable[[Action], Action],
    make: Callable[[], Action],
) -> None:
    carried(sim, robot)
    fixed = sim.spawn(AgentSpawnParams(BOX, BOX, HOME, name="fixed", use_fixed_base=True))
    for agent in (robot, fixed):
        action = make()
        agent.execute_action(action)
        finish(action)
        assert (action.status, action.cause) == (ActionStatus.FAILED, ActionCause.UNREACHABLE)


CANCELLATIONS = {
    "its own cancel": (lambda sim, robot, move: move.cancel(), ActionCause.CANCELLED),
    "a cause of one's own": (lambda sim, robot, move: move.cancel("off", ActionCause.SHUTDOWN), ActionCause.SHUTDOWN),
    "stop": (lambda sim, robot, move: robot.stop(), ActionCause.CANCELLED),
    "clear_actions": (lambda sim, robot, move: robot.clear_actions(), ActionCause.CANCELLED),
    "Stop": (lambda sim, robot, move: sim.dispatcher.dispatch(Stop()), ActionCause.CANCELLED),
    "CancelActions": (
        lambda sim, robot, move: sim.dispatcher.dispatch(CancelActions(names=(robot.name,))),
        ActionCause.CANCELLED,
    ),
    "a goal": (lambda sim, robot, move: robot.set_goal_pose(HOME), ActionCause.PREEMPTED),
    "a goal for all": (lambda sim, robot, move: send_all(sim, robot), ActionCause.PREEMPTED),
    "a velocity": (lambda sim, robot, move: robot.set_velocity(1.0), ActionCause.PREEMPTED),
    "an action": (
        lambda sim, robot, move: sim.dispatcher.dispatch(ExecuteAction(names=(robot.name,), actions=(Wait(1.0),))),
        ActionCause.PREEMPTED,
    ),
    "being carried": (lambda sim, robot, move: carried(sim, robot), ActionCause.PREEMPTED),
    "removal": (lambda sim, robot, move: sim.remove_object(robot), ActionCause.UNKNOWN_ROBOT),
    "reset": (lambda sim, robot, move: sim.reset(), ActionCause.SHUTDOWN),
}


@pytest.mark.parametrize("by", CANCELLATIONS)
def test_what_ends_an_action_from_outside_is_its_cause(sim: MultiRobotSimulationCore, robot: Agent, by: str) -> None:
    sim.step_once()
    running, queued = MoveTo(AWAY), MoveTo(HOME)
    robot.execute_action(running)
    robot.execute_action(queued)
    for _ in range(3):
        sim.step_once()
    end, cause = CANCELLATIONS[by]
    end(sim, robot, running)
    assert (running.status, running.cause) == (ActionStatus.CANCELLED, cause)
    if not by.startswith(("its own", "a cause")):
        assert (queued.status, queued.cause) == (ActionStatus.CANCELLED, cause)


def test_success_and_a_new_begin_have_no_cause(robot: Agent, finish: Callable[[Action], Action]) -> None:
    action = MoveTo(AWAY, timeout=0.1)
    robot.execute_action(action)
    finish(action)
    action.reset()
    assert action.cause is None
    wait = Wait(0.1)
    robot.execute_action(wait)
    finish(wait)
    assert (wait.status, wait.cause) == (ActionStatus.COMPLETED, None)


@pytest.mark.parametrize("place", [(5e8, 0.0, 0.0), (0.0, 0.0, -2e6)])
def test_a_goal_beyond_the_world_is_wrong_and_no_fault_of_code(
    sim: MultiRobotSimulationCore, place: tuple[float, float, float]
) -> None:
    robot = sim.spawn(AgentSpawnParams(BOX, BOX, HOME, name="robot"))
    for action in (MoveTo(Pose(place)), MoveAction([HOME, Pose(place)])):
        robot.add_action(action)
        sim.step_once()
        assert action.status is ActionStatus.FAILED and action.cause is ActionCause.INVALID_GOAL
        assert "the world ends 1e+06 m" in action.error_message
    assert not sim.guard.counts


# ---- used once -------------------------------------------------------------------------------------------------------


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


# ---- by name ---------------------------------------------------------------------------------------------------------


def test_an_action_of_a_class_without_a_name_cannot_be_described() -> None:
    class Own(Action):
        def start(self, agent: Agent) -> Until | None:
            return None

    with pytest.raises(InvalidValueError, match=r"Own has no name by which it could be made again; give it one with"):
        describe_action(Own())
