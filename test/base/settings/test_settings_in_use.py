"""Settings that environments, bins, worlds and the ROS node were built from refuse changes that nobody would read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest
from small_bins import small_bin
from small_world import BOX

import fleet_sim as fs
from fleet_sim import ConfigError
from fleet_sim.base.ros_params import RosParams
from fleet_sim.learning import envs
from fleet_sim.learning.envs import FleetNavigation
from fleet_sim.learning.envs.milling import MillingEnv
from fleet_sim.learning.envs.tasks import NavigationParams
from fleet_sim.learning.manipulation import BinPickingConfig, BinScene
from fleet_sim.learning.manipulation.config import SceneSettings
from fleet_sim.swarm import MazeAgent, MazeAgentConfig, RectangularWorld, RectangularWorldConfig


def spawned_agent() -> Any:
    world = RectangularWorld({"agents": [{"type": "MazeAgent", "position": [1, 1]}]})
    world.setup()
    return world.population[0].config


def agent_made_in_code() -> Any:
    world = RectangularWorld({})
    world.setup()
    agent = MazeAgent(MazeAgentConfig(position=(1, 1)), world)
    world.population.append(agent)
    return agent.config


BUILT: dict[str, tuple[Callable[[], Any], str, Any]] = {
    "environment": (lambda: envs.NavigationEnv().params, "goal_reward", 9.0),
    "parallel environment": (lambda: envs.FleetNavigation().params, "goal_reward", 9.0),
    "swarm environment": (lambda: MillingEnv().params, "num_agents", 3),
    "bin picking": (lambda: envs.Franka0Env().config, "scene", SceneSettings(steps_for_objects_to_fall=5)),
    "a section of it": (lambda: envs.Franka0Env().config.camera, "scale_depth_data", True),
    "scene": (lambda: BinScene(config=BinPickingConfig()).config, "arms", {}),
    "world": (lambda: RectangularWorld({}).config, "time_step", 0.5),
    "agent": (spawned_agent, "agent_radius", 3.0),
    "agent made in code": (agent_made_in_code, "agent_radius", 3.0),
    "node": (lambda: RosParams().in_use("the node"), "map_frame", "world"),
    "rates of a node": (lambda: RosParams().in_use("the node").rates, "odom", 3.0),
}


@pytest.mark.parametrize("what", BUILT)
def test_a_change_is_refused(what: str) -> None:
    build, name, value = BUILT[what]
    settings = build()
    before = getattr(settings, name)
    assert before != value
    with pytest.raises(ConfigError, match=f"{name}: is read when .* is built, and stays"):
        setattr(settings, name, value)
    assert getattr(settings, name) == before


def test_settings_given_stay_free_and_as_they_were() -> None:
    class Own(RectangularWorld):
        pass

    config = RectangularWorldConfig(time_step=0.1)
    Own(config)
    config.time_step = 0.2
    assert RectangularWorld(config).config.time_step == 0.2


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
