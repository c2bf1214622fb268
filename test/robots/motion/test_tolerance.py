"""MoveTo(tolerance): a robot that drives ends that near to its goal, and so earlier."""

from __future__ import annotations

from small_world import BOX

from fleet_sim import (
    AgentSpawnParams,
    MotionMode,
    MoveTo,
    MultiRobotSimulationCore,
    Pose,
    SimulationParams,
)


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
