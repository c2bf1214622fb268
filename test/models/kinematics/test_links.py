"""The links of a world's robots: many models at once, always those of the present joint values."""

from __future__ import annotations

import numpy as np
import pybullet_data
import pytest
from jointed_robots import add_robots, set_joints

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.models import load_robot_model
from fleet_sim.models.kinematics.links import WorldLinks
from fleet_sim.world.clock import Clock
from fleet_sim.world.ports import Parts
from fleet_sim.world.shapes import RobotModel
from fleet_sim.world.world import World


def model_of(name: str) -> RobotModel:
    return load_robot_model(f"{pybullet_data.getDataPath()}/{name}.urdf")


@pytest.fixture
def world() -> World:
    world = World(Clock(0.1))
    world.connect(Parts(links=WorldLinks(world)))
    return world


def test_robots_of_several_models_are_asked_in_one_call(world: World) -> None:
    panda, r2d2 = model_of("franka_panda/panda"), model_of("r2d2")
    places = np.random.default_rng(1).uniform(-5.0, 5.0, (6, 3))
    rows = np.concatenate((add_robots(world, panda, places[:3]), add_robots(world, r2d2, places[3:])))
    crate = world.allocate([None])
    world.position[crate] = [[1.0, 2.0, 3.0]]
    mixed = np.array([rows[4], rows[0], crate[0], rows[1], rows[3], rows[0]])
    links = np.array([3, 7, -1, 11, -1, -1])
    positions, orientations = world.link_poses(mixed, links)
    for index, (row, link) in enumerate(zip(mixed, links, strict=True)):
        position, orientation = world.link_poses(np.array([row]), np.array([link]))
        assert np.array_equal(positions[index], position[0])
        assert np.array_equal(orientations[index], orientation[0])
    assert positions[2].tolist() == [1.0, 2.0, 3.0]
    assert np.array_equal(positions[4], places[3])


def test_links_follow_their_joints_at_once(world: World) -> None:
    arm = model_of("kuka_iiwa/model")
    rows = add_robots(world, arm, np.zeros((3, 3)))
    hand = np.full(3, arm.num_joints - 1)
    before, _ = world.link_poses(rows, hand)
    set_joints(world, rows[1:2], [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    after, _ = world.link_poses(rows, hand)
    assert np.array_equal(before[[0, 2]], after[[0, 2]])
    assert np.abs(before[1] - after[1]).max() > 0.1


def test_a_row_used_again_by_another_robot_has_its_links(world: World) -> None:
    panda, kuka = model_of("franka_panda/panda"), model_of("kuka_iiwa/model")
    rows = add_robots(world, panda, np.zeros((2, 3)))
    set_joints(world, rows, np.full((2, 9), 0.5))
    world.link_poses(rows, np.array([5, 5]))
    world.release(rows[:1])
    again = add_robots(world, kuka, np.zeros((1, 3)))
    assert again[0] == rows[0]
    fresh = World(Clock(0.1))
    fresh.connect(Parts(links=WorldLinks(fresh)))
    expected = fresh.link_poses if len(add_robots(fresh, kuka, np.zeros((1, 3)))) else None
    assert expected is not None
    assert np.array_equal(world.link_poses(again, np.array([5]))[0], expected(np.array([0]), np.array([5]))[0])
    set_joints(world, rows[1:], np.full((1, 9), 0.25))
    world.link_poses(rows[1:], np.array([5]))


def test_a_link_the_robot_does_not_have_is_refused(world: World) -> None:
    rows = add_robots(world, model_of("kuka_iiwa/model"), np.zeros((1, 3)))
    with pytest.raises(InvalidValueError, match=r"no link 7; it has links -1 \(base\) to 6"):
        world.link_poses(rows, np.array([7]))
    crate = world.allocate(["crate"])
    with pytest.raises(InvalidValueError, match=r"'crate' has no link 0; it has only its base"):
        world.link_poses(crate, np.array([0]))


def test_a_simulation_knows_the_links_of_its_world() -> None:
    with MultiRobotSimulationCore() as sim:
        rows = add_robots(sim.world, model_of("kuka_iiwa/model"), np.zeros((1, 3)))
        positions, _ = sim.world.link_poses(rows, np.array([6]))
        assert positions[0] == pytest.approx([0.0, 0.0, 1.261], abs=1e-3)
