"""fleet_navigation: FleetNavigation as `parallel_env` and `env`, the usual names in modules of PettingZoo."""

from __future__ import annotations

from typing import Any

from pettingzoo.utils.conversions import parallel_to_aec

from fleet_sim.learning.envs.parallel import FleetNavigation

parallel_env = FleetNavigation


def env(**settings: Any) -> Any:
    """Return the environment in PettingZoo's turn-based (AEC) form."""
    return parallel_to_aec(FleetNavigation(**settings))
