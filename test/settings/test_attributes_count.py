"""Attributes of public objects: a misspelt one is refused, with the right one named; none is kept and never read."""

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
from fleet_sim.settings.attributes import ALIKE

CONTROLLED = {"type": "StaticController", "output": [0.1, 0.0]}
WORLD = {
    "size": [5, 5],
    "agents": [{"type": "MazeAgent", "controller": CONTROLLED, "sensors": ["BinaryFOVSensor"]}],
    "objects": [{"type": "StaticAgent", "position": [1, 1]}],
    "spawners": [{"type": "uniform", "delay": 9.0, "agent": {"type": "MazeAgent"}}],
    "metrics": ["circliness", "AverageSpeed"],
}


def of_a_simulation() -> Iterator[Any]:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False))
    robot = fs.Agent.from_urdf("simple_cube", sim_core=sim)
    arm = fs.Agent.from_urdf("arm6", sim_core=sim, use_fixed_base=True)
    crate = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((3, 0, 0))))
    lidar = sim.add_sensor("lidar", robot)
    yield from (sim, sim.params, sim.queries, sim.get_snapshot(), sim.monitor_figures(), robot, arm, crate)
    yield from (lidar, lidar.read(), fs.AgentManager(sim_core=sim), fs.SimObjectManager(sim_core=sim), fs.DataMonitor())
    yield from (fs.MoveTo(fs.Pose((1, 0, 0))), fs.Pick(crate), fs.Drop(fs.Pose((1, 0, 0))), fs.Wait(1.0))
    yield from (fs.Pose((1, 0, 0)), fs.Path([fs.Pose((1, 0, 0))]), fs.GridSpawnParams.from_count(4), BOX)
    yield from (fs.AgentSpawnParams(), fs.SimObjectSpawnParams())


def of_a_swarm() -> Iterator[Any]:
    world = swarm.World_from_config(WORLD)
    world.setup()
    (agent,) = world.population
    yield from (world, world.config, agent, agent.controller, agent.sensors[0], agent.config)
    yield from (*world.objects, *world.spawners, *world.metrics)


def of_bin_picking() -> Iterator[Any]:
    env: Any = gym.make("FleetSim/FrankaDelta-v0", config_file=small_bin(objects=(1, 1))).unwrapped
    env.reset(seed=1)
    yield from (env, env.config, env.camera, env.scene, env.scene.pick_bin, env.scene.arms[0])


def of_environments() -> Iterator[Any]:
    for name in ("FleetSim/Navigation-v0", "FleetSim/Milling-v0"):
        yield gym.make(name).unwrapped


def slips(thing: Any) -> Iterator[tuple[str, str]]:
    """Yield names of attributes that may be assigned, each with a slip of the finger in it."""
    cls = type(thing)
    names = {name for name in dir(cls) if isinstance(getattr(cls, name), property)} | set(
        getattr(thing, "__dict__", {})
    )
    for name in sorted(names):
        # Of short names every other one is much alike; they are told apart by who reads them.
        if not name.startswith("_") and len(name) > 1 / (1 - ALIKE):
            yield name, name + name[-1]


@pytest.mark.parametrize("things", [of_a_simulation, of_a_swarm, of_bin_picking, of_environments])
def test_a_misspelt_attribute_is_refused(things: Any) -> None:
    taken = []
    for thing in things():
        for name, slip in slips(thing):
            if hasattr(thing, slip):
                continue
            try:
                setattr(thing, slip, 1)
            except (AttributeError, fs.FleetSimError):
                continue
            taken.append(f"{type(thing).__name__}.{slip} for {name}")
    assert taken == []


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
