"""Types of agents and objects: driving agents, static objects, detection regions."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.swarm import unicycle
from fleet_sim.swarm.agent_config import DetectionRegionConfig, DiffDriveAgentConfig, MazeAgentConfig, StaticAgentConfig
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.canvas import Canvas
from fleet_sim.swarm.parts import PartRegistry
from fleet_sim.swarm.regions import Region
from fleet_sim.swarm.traces import trace_of


class MazeAgent(SwarmAgent):
    """The unicycle: its actions are the linear velocity along its heading in m/s and the angular velocity in rad/s."""

    config_class = MazeAgentConfig
    law = unicycle.UnicycleLaw.name

    def draw(self, canvas: Canvas) -> None:
        """Draw its trace, then itself."""
        # Under itself: the agent has to stay visible on its own trace.
        trace = trace_of(self)
        if trace is not None and len(trace) > 1:
            canvas.line(trace, self.config.trace_color)
        super().draw(canvas)


UnicycleAgent = MazeAgent


class DiffDriveAgent(MazeAgent):
    """Two driven wheels: its actions are the speeds of the left and the right wheel in rad/s."""

    config_class = DiffDriveAgentConfig

    @classmethod
    def twists(cls, config: DiffDriveAgentConfig, actions: Floats) -> Floats:
        """Return speeds and turns (N, 2): the mean of the wheels' speeds, and their difference over the axle."""
        left, right = actions[:, 0] * config.wheel_radius, actions[:, 1] * config.wheel_radius
        return np.stack((0.5 * (left + right), (right - left) / config.axle_length), axis=1)


class StaticAgent(SwarmAgent):
    """Stands still: in a population, or as an object."""

    config_class = StaticAgentConfig


StaticObject = StaticAgent


class DetectionRegion(SwarmAgent):
    """An object that others pass through and that detects who is inside; see `detected`."""

    config_class = DetectionRegionConfig

    @property
    def region(self) -> Region:
        """Where it is."""
        outline = self.outline
        return Region(center=self.position, radius=self.radius) if outline is None else Region(outline)

    @property
    def detected(self) -> list[SwarmAgent]:
        """Return the agents of the population, of the teams and the name it looks for, that are inside now."""
        config, crowd = self.config, self.world.everyone
        assert isinstance(config, DetectionRegionConfig)
        mask = self.region.contains(crowd.positions)
        if config.target_teams is not None:
            mask &= np.isin(crowd.teams, [self.world.team_code(team) for team in config.target_teams])
        inside = [agent for agent, is_inside in zip(self.world.population, mask.tolist(), strict=True) if is_inside]
        # The name is compared last, of the few inside: rows have no names to compare as arrays.
        return [agent for agent in inside if isinstance(agent, SwarmAgent) and config.target_name in (None, agent.name)]


BUILT_IN: dict[str, type[SwarmAgent]] = {
    "MazeAgent": MazeAgent,
    "UnicycleAgent": MazeAgent,
    "unicycle": MazeAgent,
    "DiffDriveAgent": DiffDriveAgent,
    "differential": DiffDriveAgent,
    "StaticAgent": StaticAgent,
    "StaticObject": StaticAgent,
    "static": StaticAgent,
    "DetectionRegion": DetectionRegion,
    "region": DetectionRegion,
}

AGENT_TYPES = PartRegistry("agent", SwarmAgent, BUILT_IN)
