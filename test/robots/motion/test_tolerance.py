"""MoveTo(tolerance): a robot that drives ends that near to its goal, and so earlier."""

from __future__ import annotations

import pytest
from small_world import BOX, complete

from fleet_sim import (
    Agent,
    AgentSpawnParams,
    MotionMode,
    MoveAction,
    MoveTo,
    MultiRobotSimulationCore,
    Pose,
    SimulationParams,
)


def drive(mode: str, dt: float, action: MoveAction, start: Pose | None = None) -> tuple[Agent, float]:
    """Carry `action` out; return the robot, which is at rest, and how long it took."""
    sim = MultiRobotSimulationCore(SimulationParams(gui=False, timestep=dt))
    agent = sim.spawn(AgentSpawnParams(BOX, BOX, start or Pose((0, 0, 0)), motion_mode=MotionMode.parse(mode)))
    agent.execute_action(action)
    complete(sim, action, 5000)
    sim.step_once()
    assert not agent.velocity.any()
    return agent, action.get_duration()


@pytest.mark.parametrize("mode", ["differential", "omnidirectional"])
def test_waypoints_before_the_last_are_not_cut_short(mode: str) -> None:
    path = [Pose((2, 0, 0)), Pose((2, 0.3, 0))]
    agent, _ = drive(mode, 0.05, MoveAction(path, tolerance=0.5))
    assert agent.get_pose().x > 1.5
    assert agent.get_pose().distance_to(path[-1]) <= 0.5


def test_a_robot_that_is_too_fast_to_stop_at_the_rim_stops_within() -> None:
    sim = MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.05))
    agent = sim.spawn(AgentSpawnParams(BOX, BOX, motion_mode=MotionMode.OMNIDIRECTIONAL, max_linear_accel=1.0))
    agent.set_goal_pose(Pose((10, 0, 0)))
    while agent.get_pose().x < 3.0:
        sim.step_once()
    stop = agent.get_pose().x + 0.5 * float(agent.velocity[0]) ** 2 + 0.1
    action = MoveTo(Pose((stop, 0, 0)), tolerance=1.0)
    agent.execute_action(action)
    while not action.is_complete():
        assert sim.step_count < 5000
        sim.step_once()
    assert abs(agent.get_pose().x - stop) <= 1.0
