"""Which robots drove through walls, where collisions with walls are not reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fleet_sim import Agent, AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimObjectSpawnParams
from fleet_sim.sensing.collision.passages import WallPassages

CART = ShapeParams("box", half_extents=(0.3, 0.2, 0.15))


def robot(sim: MultiRobotSimulationCore, x: float, y: float, goal: float | None, z: float = 0.15, **more: Any) -> Agent:
    agent: Agent = sim.spawn(AgentSpawnParams(CART, CART, Pose.from_xyz(x, y, z), **more))
    if goal is not None:
        agent.set_goal_pose(Pose.from_xyz(goal, y, z))
    return agent


def wall(sim: MultiRobotSimulationCore, shape: ShapeParams, x: float, y: float, z: float, **more: Any) -> None:
    settings = {"collision_mode": "static", **more}
    sim.spawn(SimObjectSpawnParams(collision_shape=shape, initial_pose=Pose.from_yaw(x, y, z, 0.3), **settings))


def found(sim: MultiRobotSimulationCore, seconds: float = 6.0) -> list[str]:
    passages = WallPassages(sim.world)
    sim.events.on("post_step", lambda dt, sim_time: passages.look(sim_time))
    sim.run_simulation(duration=seconds)
    return passages.names


@pytest.mark.parametrize(
    "shape",
    [
        ShapeParams("box", half_extents=(0.05, 1.0, 0.5)),
        ShapeParams("cylinder", radius=0.2, height=1.0),
        ShapeParams("sphere", radius=0.6),
        ShapeParams("capsule", radius=0.2, height=0.8),
    ],
)
def test_a_robot_that_drives_through_is_found_once(
    make_sim: Callable[..., MultiRobotSimulationCore], shape: ShapeParams
) -> None:
    sim = make_sim()
    wall(sim, shape, 2.0, 0.0, 0.5)
    robot(sim, 0.0, 0.0, 4.0, name="through")
    robot(sim, 0.0, 3.0, 4.0, name="beside")
    robot(sim, 0.0, -3.0, None, name="parked")
    assert found(sim) == ["through"]


def test_a_robot_of_links_is_found_too(make_sim: Callable[..., MultiRobotSimulationCore]) -> None:
    sim = make_sim()
    wall(sim, ShapeParams("box", half_extents=(0.05, 1.0, 0.5)), 2.0, 0.0, 0.5)
    agent = sim.spawn(AgentSpawnParams(urdf_path="diff_base", name="linked"))
    agent.set_goal_pose(Pose.from_xyz(4.0, 0.0, 0.0))
    assert found(sim, 8.0) == ["linked"]


def test_floors_touching_permission_and_blocking_are_no_passage(
    make_sim: Callable[..., MultiRobotSimulationCore],
) -> None:
    sim = make_sim()
    # A floor, into which the second robot is sunk; a ceiling; a ball that a robot touches; a wall of another group.
    wall(sim, ShapeParams("box", half_extents=(20.0, 20.0, 0.5)), 0.0, 0.0, -0.5)
    wall(sim, ShapeParams("box", half_extents=(20.0, 20.0, 0.5)), 0.0, 0.0, 0.75)
    robot(sim, 0.0, 0.0, 4.0)
    robot(sim, 0.0, 2.0, 4.0, z=0.0)
    thin = ShapeParams("box", half_extents=(0.05, 0.5, 0.5))
    robot(sim, 0.0, 4.0, 1.68)
    wall(sim, ShapeParams("sphere", radius=0.3), 2.26, 4.0, 0.15)
    robot(sim, 0.0, 6.0, 4.0, collision_mask=1)
    wall(sim, thin, 2.0, 6.0, 0.5, collision_group=2)
    robot(sim, 0.0, 8.0, None, block_on_collision=True).set_velocity(0.7)
    wall(sim, thin, 2.0, 8.0, 0.5)
    assert found(sim) == []


def test_walls_that_come_later_and_new_robots_in_old_rows_count(
    make_sim: Callable[..., MultiRobotSimulationCore],
) -> None:
    sim = make_sim()
    robot(sim, 0.0, 0.0, 4.0, name="first")
    passages = WallPassages(sim.world)
    sim.events.on("post_step", lambda dt, sim_time: passages.look(sim_time))
    wall(sim, ShapeParams("box", half_extents=(0.05, 1.0, 0.5)), 2.0, 0.0, 0.5)
    sim.run_simulation(duration=6.0)
    sim.remove_object(sim.get_object("first"))
    robot(sim, 0.0, 0.0, 4.0, name="second")
    sim.run_simulation(duration=6.0)
    assert passages.names == ["first", "second"]
