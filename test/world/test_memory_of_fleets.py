"""What nobody asked for takes no memory, and is there when somebody does."""

from __future__ import annotations

from pathlib import Path

import fleet_sim as fs
from fleet_sim.world.world import World

FLEET = 1200


def fleet() -> fs.MultiRobotSimulationCore:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0, timestep=0.1, compiled_code="never"))
    disc = fs.ShapeParams("cylinder", radius=0.1, height=0.2)
    grid = fs.GridSpawnParams.from_count(FLEET, spacing=(1.0, 1.0, 0.0))
    fs.AgentManager(sim).spawn_agents_grid(FLEET, grid, fs.AgentSpawnParams(disc, disc), name_prefix="robot")
    return sim


def sizes(world: World) -> tuple[int, int]:
    return world.material.nbytes, world.look.nbytes


def test_materials_and_colors_take_memory_from_the_first_one_on() -> None:
    with fleet() as sim:
        world, robot = sim.world, sim.get_object("robot_7")
        assert sizes(world) == (0, 0)
        before = sim.state_hash()
        sim.step_once()
        start = sim.save_state()
        robot.set_material(friction=0.9, restitution=0.1)
        robot.set_color((1.0, 0.0, 0.0, 1.0))
        assert min(sizes(world)) > 0
        assert world.material.friction[robot.row] == 0.9
        assert world.material.friction[robot.row - 1] == -1.0
        given = sim.save_state()
        # What was taken when there were none takes them back, and what was taken with them brings them.
        sim.restore_state(start)
        assert (world.material.friction == -1.0).all()
        assert not world.look.painted_mask(world.rows).any()
        sim.restore_state(given)
        assert world.material.friction[robot.row] == 0.9
        assert world.look.painted_mask(world.rows).sum() == 1
        sim.reset()
        assert sim.state_hash() == before


def test_materials_of_a_state_are_there_in_a_world_that_has_none(tmp_path: Path) -> None:
    with fleet() as one, fleet() as other:
        robot = one.get_object("robot_7")
        robot.set_material(friction=0.9)
        one.step_once()
        other.step_once()
        assert sizes(other.world) == (0, 0)
        one.save_state(tmp_path / "state.npz")
        other.load_state(tmp_path / "state.npz")
        assert other.world.material.friction[robot.row] == 0.9
        assert other.state_hash() == one.state_hash()


def test_a_material_of_spawn_params_is_kept_beside_robots_without_one() -> None:
    with fleet() as sim:
        box = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
        thing = sim.spawn(fs.SimObjectSpawnParams(box, box, name="thing", friction=0.3))
        friction = sim.world.material.friction
        assert friction[thing.row] == 0.3
        assert (friction[sim.world.rows] == -1.0).sum() == FLEET


def test_how_loads_are_carried_takes_memory_from_the_first_one_on(tmp_path: Path) -> None:
    with fleet() as sim, fleet() as other:
        world, robot, load = sim.world, sim.get_object("robot_7"), sim.get_object("robot_8")
        lazy = ("parent_link", "attach_position", "attach_orientation")
        assert not any(map(world.owns, lazy))
        before = sim.state_hash()
        sim.step_once()
        start = sim.save_state()
        robot.attach_object(load)
        assert all(map(world.owns, lazy))
        sim.save_state(tmp_path / "state.npz")
        other.load_state(tmp_path / "state.npz")
        assert other.state_hash() == sim.state_hash()
        # Nobody carries anything in the state it goes back to.
        sim.restore_state(start)
        assert not load.is_attached()
        sim.reset()
        assert sim.state_hash() == before
        carried = other.get_object("robot_8")
        other.get_object("robot_7").detach_object(carried)
        assert not carried.is_attached()


def test_a_robot_may_be_put_down_in_a_world_where_nothing_says_how_it_was_carried() -> None:
    with fleet() as sim:
        robot, load = sim.get_object("robot_7"), sim.get_object("robot_8")
        load.set_pose(robot.get_pose())
        robot.attach_object(load)
        sim.restore_state(sim.save_state())
        robot.detach_object(load)
        assert not load.is_attached()
