"""Carrying: attach, follow, detach."""

from __future__ import annotations

import numpy as np
import pybullet_data
import pytest
from jointed_robots import add_robots, set_joints
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
    UnknownNameError,
)
from fleet_sim.models import load_robot_model


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


# ---- Carrying with a link: what is attached to a part of a robot follows that part -----------------------------------


HAND, READY = 8, np.array([[0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8, 0.04, 0.04]])


def add_arms(sim: MultiRobotSimulationCore, count: int = 1) -> list[Agent]:
    model = load_robot_model(f"{pybullet_data.getDataPath()}/franka_panda/panda.urdf")
    places = np.zeros((count, 3))
    places[:, 1] = np.arange(count)
    rows = add_robots(sim.world, model, places)
    set_joints(sim.world, rows, np.repeat(READY, count, axis=0))
    return [sim.world.handles[row] for row in rows.tolist()]


def link_pose(agent: Agent, link: int) -> Pose:
    position, orientation = agent.world.link_poses(np.array([agent.row]), np.array([link]))
    return Pose(position[0].tolist(), orientation[0].tolist())


def test_what_a_link_carries_goes_over_to_another_link(sim: MultiRobotSimulationCore, crate: SimObject) -> None:
    arm = add_arms(sim)[0]
    assert arm.attach_object(crate, "panda_hand")
    crate.pickable = False
    assert arm.attach_object(crate, "panda_link3")
    assert close(crate.get_pose(), link_pose(arm, 2))
    assert arm.get_attached_objects() == [crate]
    assert not arm.attach_object(sim.spawn(SimObjectSpawnParams(BOX, BOX, pickable=False)), "panda_hand")


def test_a_link_that_is_not_there_is_refused(sim: MultiRobotSimulationCore, crate: SimObject) -> None:
    arm = add_arms(sim)[0]
    with pytest.raises(UnknownNameError, match="panda_hand"):
        arm.attach_object(crate, "panda_hnad")
    with pytest.raises(UnknownNameError):
        arm.attach_object(crate, 12)
    assert not crate.is_attached()
