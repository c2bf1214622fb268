"""Spaces of the arena environments, and the Gymnasium ids; importing this module checks that Gymnasium is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from fleet_sim.base.errors import of_extra

with of_extra("gymnasium", "gym", "an environment of fleet_sim.learning.envs"):
    import gymnasium
    from gymnasium import spaces

OBSERVATION_BOUND = 2.0
"""Observations are clipped to this bound, in both directions."""


class SpaceBook:
    """The spaces of the agents of a parallel environment, for ParallelEnv: always the same objects."""

    observation_spaces: dict[str, Any]
    action_spaces: dict[str, Any]

    def observation_space(self, agent: str) -> Any:
        """Return what `agent` observes."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Return what `agent` can do."""
        return self.action_spaces[agent]


def observation_box(size: int) -> Any:
    """Return the observation space of a robot."""
    return spaces.Box(-OBSERVATION_BOUND, OBSERVATION_BOUND, (size,), np.float32)


def drive_box() -> Any:
    """Return the action space: linear and angular velocity, each from -1 to 1."""
    return spaces.Box(-1.0, 1.0, (2,), np.float32)


# The Gymnasium ids of the environments.


NAMESPACE = "FleetSim"
ENTRY_POINTS = "fleet_sim.environment"
"""Entry-point group for environments of other distributions: `Theirs/Dock-v0 = theirs.dock:DockEnv`."""


@dataclass(frozen=True)
class Entry:
    """The import paths of an environment; `vector` if there is also a form with many worlds in one simulation."""

    single: str
    vector: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Default arguments of the environment."""


ENVIRONMENTS: dict[str, Entry] = {
    f"{NAMESPACE}/Navigation-v0": Entry(
        "fleet_sim.learning.envs.vector:NavigationEnv", "fleet_sim.learning.envs.vector:NavigationVectorEnv"
    ),
    f"{NAMESPACE}/Milling-v0": Entry("fleet_sim.learning.envs.milling:MillingEnv"),
    f"{NAMESPACE}/Warehouse-v0": Entry("fleet_sim.learning.envs.vector:WarehouseEnv"),
    f"{NAMESPACE}/FrankaPosition-v0": Entry(
        "fleet_sim.learning.envs.franka:Franka0Env", settings={"normalized_actions": True}
    ),
    f"{NAMESPACE}/FrankaVelocity-v0": Entry(
        "fleet_sim.learning.envs.franka:Franka1Env", settings={"normalized_actions": True}
    ),
    f"{NAMESPACE}/FrankaDelta-v0": Entry("fleet_sim.learning.envs.franka:Franka2Env"),
}
"""Every environment by id."""


def register_all() -> None:
    """Register all ids with Gymnasium, including those of other distributions; may be called again."""
    for name, entry in ENVIRONMENTS.items():
        # Once: registering an id again would print a warning in every program that imports this twice.
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name, entry_point=entry.single, vector_entry_point=entry.vector, kwargs=dict(entry.settings)
            )
    # No registry of our own here: Gymnasium's imports the class when an environment is made.
    for point in entry_points(group=ENTRY_POINTS):
        if point.name not in gymnasium.registry:
            gymnasium.register(id=point.name, entry_point=f"{point.module}:{point.attr}")
