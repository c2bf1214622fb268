"""Spaces of the arena environments; importing this module checks that Gymnasium is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.errors import missing_extra

try:
    from gymnasium import spaces
except ModuleNotFoundError as error:
    raise missing_extra("gymnasium", "gym", "an environment of fleet_sim.envs") from error

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
