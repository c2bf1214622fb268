"""Actions when their agent is removed, and when a state is saved, restored or reset."""

from __future__ import annotations

from small_world import Finish

from fleet_sim import (
    Action,
    Agent,
    AgentSpawnParams,
    MoveTo,
    MultiRobotSimulationCore,
    Pose,
    Until,
    Wait,
)


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


def test_a_saved_moment_includes_running_actions(sim: MultiRobotSimulationCore, robot: Agent, finish: Finish) -> None:
    move, wait, late = MoveTo(Pose((3, 0, 0))), Wait(0.5), Wait(1.0)
    robot.add_action_sequence([move, wait])
    for _ in range(5):
        sim.step_once()
    saved = sim.save_state()
    finish(wait)
    ends = (move.end_time, wait.end_time)
    robot.execute_action(late)
    sim.step_once()
    sim.restore_state(saved)
    assert (move.status, wait.status, late.status) == ("in_progress", "not_started", "cancelled")
    assert robot.get_current_action() is move
    finish(wait)
    assert (move.end_time, wait.end_time) == ends


def test_a_reset_starts_the_first_queue_again(sim: MultiRobotSimulationCore, robot: Agent, finish: Finish) -> None:
    move = MoveTo(Pose((3, 0, 0)))
    robot.execute_action(move)
    finish(move)
    sim.reset()
    assert move.status == "not_started"
    finish(move)
    assert move.start_time == 0.0
