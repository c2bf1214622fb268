"""fleet_navigation: FleetNavigation under the names that PettingZoo's own environments have."""

from __future__ import annotations

from typing import Any

from pettingzoo.utils.conversions import parallel_to_aec

from fleet_sim.envs.parallel import FleetNavigation

parallel_env = FleetNavigation


def env(**settings: Any) -> Any:
    """Return the environment in PettingZoo's turn-by-turn (AEC) form."""
    return parallel_to_aec(FleetNavigation(**settings))
