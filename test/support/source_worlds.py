"""Small swarm worlds for the tests of what files of RobotSwarmSimulator have."""

from __future__ import annotations

from typing import Any

from fleet_sim.swarm.world import RectangularWorld, World_from_config

AGENT = {"type": "MazeAgent", "agent_radius": 0.1}


def world_of(**config: Any) -> RectangularWorld:
    """Return a world of 10 x 10 m with `config`, set up."""
    world = World_from_config({"time_step": 0.1, "size": [10, 10], **config})
    world.setup()
    return world


def spawned(**spawner: Any) -> RectangularWorld:
    """Return a world with one spawner of small agents."""
    return world_of(spawners=[{"agent": AGENT, **spawner}])
