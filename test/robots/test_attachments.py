"""Carrying: attach, follow, detach."""

from __future__ import annotations

import math

import pytest
from near import close
from small_world import BOX

from fleet_sim import (
    Agent,
    AgentSpawnParams,
    InvalidValueError,
    MoveTo,
    MultiRobotSimulationCore,
    Pose,
    SimObject,
    SimObjectSpawnParams,
)


def test_keep_world_pose_leaves_the_object_where_it_is(
    sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject
) -> None:
    robot.attach_object(crate, keep_world_pose=True)
    assert close(crate.get_pose(), Pose((1, 0, 0)))
    robot.set_pose(Pose.from_yaw(0.0, 0.0, 0.0, math.pi / 2))
    assert close(crate.get_pose(), Pose.from_yaw(0.0, 1.0, 0.0, math.pi / 2))


def test_carrying_nests(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    top = sim.spawn(SimObjectSpawnParams(BOX, BOX, name="top"))
    assert crate.attach_object(top, relative_pose=Pose((0, 0, 0.2)))
    assert robot.attach_object(crate, relative_pose=Pose((0, 0, 0.3)))
    assert close(top.get_pose(), Pose((0, 0, 0.5)))
    robot.set_pose(Pose((4, 0, 0)))
    assert close(top.get_pose(), Pose((4, 0, 0.5)))
    robot.set_goal(Pose((5, 0, 0)))
    for _ in range(30):
        sim.step_once()
    assert close(top.get_pose(), Pose((5, 0, 0.5)))
    with pytest.raises(InvalidValueError, match="carry itself"):
        top.attach_object(robot)


def test_refusals_leave_everything_as_it_is(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    other = sim.spawn(AgentSpawnParams(BOX, BOX, name="other"))
    crate.pickable = False
    assert not robot.attach_object(crate)
    crate.pickable = True
    assert robot.attach_object(crate)
    assert robot.attach_object(crate)
    assert not other.attach_object(crate)
    assert not other.detach_object(crate)
    with pytest.raises(InvalidValueError, match="base link"):
        other.attach_object(crate, parent_link_index=2)
    with pytest.raises(InvalidValueError, match="rigid"):
        other.attach_object(crate, joint_type=0)
    with pytest.raises(InvalidValueError, match="itself"):
        robot.attach_object(robot)
    assert crate.attached_to == robot


def test_objects_of_two_simulations_cannot_be_attached(make_sim, robot: Agent) -> None:
    stranger = make_sim().spawn(SimObjectSpawnParams())
    with pytest.raises(InvalidValueError, match="different simulations"):
        robot.attach_object(stranger)


def test_detach_drops_where_it_is_told(robot: Agent, crate: SimObject) -> None:
    robot.attach_object(crate, relative_pose=Pose((0, 0, 1)))
    assert robot.detach_object(crate)
    assert close(crate.get_pose(), Pose((0, 0, 1)))
    robot.attach_object(crate, relative_pose=Pose((0, 0, 1)))
    assert robot.detach_object(crate, drop_pose=Pose((7, 7, 0)))
    assert crate.get_pose() == Pose((7, 7, 0))
    robot.attach_object(crate, relative_pose=Pose.from_yaw(0, 0, 1, math.pi / 2))
    assert robot.detach_object(crate, drop_relative_pose=Pose((1, 0, 0)))
    assert close(crate.get_pose(), Pose.from_yaw(0, 1, 1, math.pi / 2))


def test_pick_and_drop_of_an_agent(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    second = sim.spawn(SimObjectSpawnParams(BOX, BOX))
    assert not robot.drop()
    assert robot.pick(crate)
    assert robot.pick(second, relative_pose=Pose((0, 0, 1)))
    assert close(crate.get_pose(), Pose((1, 0, 0)))
    assert robot.drop(second, drop_pose=Pose((0, 5, 0)))
    assert robot.drop()
    assert robot.get_attached_objects() == []


def test_removing_the_carrier_leaves_the_carried(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    robot.attach_object(crate)
    sim.remove_object(robot)
    assert crate.is_alive
    assert not crate.is_attached()
    assert crate.set_pose(Pose((9, 0, 0)))
    sim.step_once()


def test_removing_the_carried_frees_the_carrier(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    robot.attach_object(crate)
    sim.remove_object(crate)
    assert robot.get_attached_objects() == []
    newcomer = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((3, 3, 0))))
    robot.set_goal(Pose((1, 0, 0)))
    for _ in range(30):
        sim.step_once()
    assert newcomer.get_pose() == Pose((3, 3, 0))


def test_removing_both_at_once(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    robot.attach_object(crate)
    sim.remove_objects([robot, crate])
    sim.step_once()
    assert sim.sim_objects == []


def test_a_carried_robot_stops_what_it_was_doing(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    rider = sim.spawn(AgentSpawnParams(BOX, BOX, Pose((1, 0, 0)), name="rider"))
    move = MoveTo(Pose((9, 0, 0)))
    rider.execute_action(move)
    sim.step_once()
    assert robot.attach_object(rider, relative_pose=Pose((0, 0, 0.3)))
    assert (move.status, move.error_message) == ("cancelled", "the robot was picked up")
    assert rider.goal_pose is None
    with pytest.raises(RuntimeError, match="carried by 'robot'"):
        rider.set_goal(Pose((1, 1, 0)))
    robot.detach_object(rider)
    sim.step_once()
    assert close(rider.get_pose(), Pose((0, 0, 0.3)))


def test_dynamic_objects_fall_only_while_nobody_carries_them(make_sim) -> None:
    sim = make_sim(physics=True, timestep=1 / 60)
    robot = sim.spawn(AgentSpawnParams(BOX, BOX, Pose((0, 0, 3))))
    ball = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((1, 0, 3)), mass=1.0))
    assert robot.attach_object(ball, keep_world_pose=True)
    for _ in range(10):
        sim.step_once()
    assert ball.get_pose().z == pytest.approx(3.0)
    robot.detach_object(ball)
    for _ in range(10):
        sim.step_once()
    assert ball.get_pose().z < 2.95
    assert robot.attach_object(ball, keep_world_pose=True)
    height = ball.get_pose().z
    for _ in range(10):
        sim.step_once()
    assert ball.get_pose().z == pytest.approx(height)
