"""Random numbers that belong to agents."""

from __future__ import annotations

import pytest

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.swarm.controllers import LevyController


@pytest.mark.parametrize("seed", [-1, 1.5, True, "a"])
def test_seeds_are_whole_numbers(seed: object) -> None:
    with pytest.raises(InvalidValueError, match="seed"):
        LevyController(velocity=1.0, angular_velocity=1.0, seed=seed)
