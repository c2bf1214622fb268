"""Settings that environments, bins, worlds and the ROS node were built from refuse changes that nobody would read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fleet_sim import ConfigError, envs
from fleet_sim.config.ros_params import RosParams
from fleet_sim.envs.milling import MillingEnv
from fleet_sim.manipulation import BinPickingConfig, BinScene
from fleet_sim.manipulation.config import SceneSettings
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
