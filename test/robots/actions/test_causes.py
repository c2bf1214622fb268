"""Why an action ended, as programs read it: `Action.cause`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from small_world import BOX

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
    MoveAction,
    MoveTo,
    MultiRobotSimulationCore,
    Pick,
    Pose,
    SimObject,
    Stop,
    Wait,
)

HOME = Pose((0.0, 0.0, 0.0))
AWAY = Pose((50.0, 0.0, 0.0))


class Failing(Action):
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
    (Failing, ActionCause.FAILED),
]


@pytest.mark.parametrize(("make", "cause"), FAILURES)
def test_a_failure_has_a_cause(
    robot: Agent,
    crate: SimObject,
    finish: Callable[[Action], Action],
    make: Callable[[], Action],
    cause: ActionCause,
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
    "a cause of one's own": (
        lambda sim, robot, move: move.cancel("off", ActionCause.SHUTDOWN),
        ActionCause.SHUTDOWN,
    ),
    "stop": (lambda sim, robot, move: robot.stop(), ActionCause.CANCELLED),
    "clear_actions": (lambda sim, robot, move: robot.clear_actions(), ActionCause.CANCELLED),
    "Stop": (lambda sim, robot, move: sim.dispatcher.dispatch(Stop()), ActionCause.CANCELLED),
    "CancelActions": (
        lambda sim, robot, move: sim.dispatcher.dispatch(CancelActions(names=(robot.name,))),
        ActionCause.CANCELLED,
    ),
    "a goal": (lambda sim, robot, move: robot.set_goal_pose(HOME), ActionCause.PREEMPTED),
    "a goal for all": (
        lambda sim, robot, move: send_all(sim, robot),
        ActionCause.PREEMPTED,
    ),
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


def test_an_action_run_by_hand_has_a_cause_too(robot: Agent) -> None:
    action = MoveTo(AWAY)
    action.execute(robot, 0.1)
    action.cancel("enough")
    assert (action.error_message, action.cause) == ("enough", ActionCause.CANCELLED)


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
