"""Carrying with a link: what is attached to a part of a robot follows that part."""

from __future__ import annotations

import numpy as np
import pybullet_data
import pytest
from jointed_robots import add_robots, set_joints
from near import close
from small_world import BOX

from fleet_sim import (
    Agent,
    MultiRobotSimulationCore,
    Pose,
    SimObject,
    SimObjectSpawnParams,
    UnknownNameError,
)
from fleet_sim.base.spatial import quaternions as poses
from fleet_sim.models import load_robot_model

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


def bend(agent: Agent, joint: int, value: float) -> None:
    values = READY.copy()
    values[0, joint] = value
    set_joints(agent.world, np.array([agent.row]), values)


def test_an_object_taken_by_a_link_may_keep_its_place(sim: MultiRobotSimulationCore, crate: SimObject) -> None:
    arm = add_arms(sim)[0]
    place = Pose.from_euler(0.5, 0.1, 0.4, 0.3, 0.2, 0.1)
    crate.set_pose(place)
    assert arm.attach_object(crate, "panda_hand", keep_world_pose=True)
    assert close(crate.get_pose(), place)
    seen = link_pose(arm, HAND)
    sim.register_callback(lambda core, dt: bend(arm, 0, 1.0), None)
    sim.step_once()
    expected = poses.compose(
        *(np.array([part]) for part in link_pose(arm, HAND).as_position_orientation()),
        *poses.relative(
            *(np.array([part]) for part in seen.as_position_orientation()),
            *(np.array([part]) for part in place.as_position_orientation()),
        ),
    )
    assert close(crate.get_pose(), Pose(expected[0][0].tolist(), expected[1][0].tolist()))


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


def test_what_is_carried_has_the_velocity_of_its_place(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    crate = sim.spawn(SimObjectSpawnParams(BOX, BOX))
    robot.attach_object(crate, relative_pose=Pose((2.0, 0.0, 0.0)))
    robot.set_velocity(0.0, 0.0, 0.0, 0.0, 0.0, 0.5)
    for _ in range(5):
        sim.step_once()
    ahead = crate.get_pose() * Pose((0.0, 1.0, 0.0))
    assert crate.velocity == pytest.approx(np.subtract(ahead.position, crate.get_pose().position))
    robot.stop()
    sim.step_once()
    sim.step_once()
    assert not crate.velocity.any()
