"""Robots that somebody else drives, until that is done."""

from __future__ import annotations

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.params import ActionCause, ActionStatus
from fleet_sim.robots.actions import TeleopAction
from fleet_sim.world.commands import Command, FinishActions


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
