"""Attributes of public objects: what is set counts or is refused, and names of the user's own are free."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest
from small_bins import small_bin
from small_world import BOX

import fleet_sim as fs
import fleet_sim.envs  # its environments are registered
from fleet_sim import swarm
from fleet_sim.envs import FleetNavigation
from fleet_sim.envs.navigation import NavigationParams


def environments() -> Iterator[Any]:
    for name in ("FleetSim/Navigation-v0", "FleetSim/Milling-v0"):
        yield gym.make(name).unwrapped
    yield FleetNavigation()
    yield gym.make("FleetSim/FrankaDelta-v0", config_file=small_bin(objects=(1, 1))).unwrapped


def parts() -> Iterator[Any]:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False))
    yield from (fs.AgentManager(sim_core=sim), fs.MoveTo(fs.Pose((1, 0, 0))), fs.Wait(1.0))
    world = swarm.World_from_config({"size": [5, 5], "agents": [{"type": "MazeAgent"}], "metrics": ["circliness"]})
    world.setup()
    yield from (world, *world.population, *world.metrics, swarm.StaticController((0.1, 0.0)))


@pytest.mark.parametrize("things", [environments, parts])
def test_a_name_of_the_users_own_is_taken_however_much_it_is_like_another(things: Any) -> None:
    for thing in things():
        names = [name for name in {*dir(type(thing)), *vars(thing)} if not name.startswith("_")]
        for name in ("closed", "tasks", "specs", "resets", *(name + name[-1] for name in names)):
            if not hasattr(thing, name):
                setattr(thing, name, "mine")
                assert getattr(thing, name) == "mine"


def test_what_has_no_attributes_of_the_users_own_refuses_them() -> None:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False))
    for thing in (fs.Path(), fs.GridSpawnParams.from_count(4), fs.DataMonitor(), sim.queries):
        with pytest.raises(AttributeError):
            thing.anything = 1


@pytest.mark.parametrize("make", [lambda: gym.make("FleetSim/Navigation-v0").unwrapped, FleetNavigation])
def test_the_settings_of_an_environment_stay(make: Any) -> None:
    env = make()
    with pytest.raises(AttributeError, match="params is read when the environment is made, and stays"):
        env.params = NavigationParams(num_robots=3)


def test_what_the_spaces_of_an_environment_are_made_of_stays() -> None:
    env: Any = gym.make("FleetSim/FrankaDelta-v0", config_file=small_bin(objects=(1, 1))).unwrapped
    for name in ("da", "dv", "downsample_height", "downsample_width"):
        with pytest.raises(AttributeError, match=f"{name} counts when the environment is made"):
            setattr(env, name, 1)


def test_what_is_set_of_a_robot_counts_at_once() -> None:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, ignore_static_collision=False))
    sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((1, 0, 0))))
    robot = sim.spawn(fs.AgentSpawnParams(BOX, BOX, motion_mode="omnidirectional"))
    robot.set_velocity(1.0)
    robot.block_on_collision = True
    for _ in range(200):
        sim.step_once()
    assert 0.0 < robot.get_pose().x < 1.0
    robot.block_on_collision = False
    for _ in range(200):
        sim.step_once()
    assert robot.get_pose().x > 1.0

    arm = fs.Agent.from_urdf("arm6", sim_core=sim, use_fixed_base=True)
    x, y, z = arm.get_end_effector_pose().position
    target = (x - 0.1, y + 0.1, z - 0.2)
    before = arm.find_reach(target)
    arm.ik_params = fs.IKParams(max_outer_iterations=1, max_inner_iterations=1, seed_quartiles=())
    assert str(arm.find_reach(target)) != str(before)
