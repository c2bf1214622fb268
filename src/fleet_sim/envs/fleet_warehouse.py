"""fleet_warehouse: FleetWarehouse under the names that PettingZoo's own environments have."""

from __future__ import annotations

from typing import Any

from pettingzoo.utils.conversions import parallel_to_aec

from fleet_sim.envs.parallel import FleetWarehouse

parallel_env = FleetWarehouse


def env(**settings: Any) -> Any:
    """Return the environment in PettingZoo's turn-by-turn (AEC) form."""
    return parallel_to_aec(FleetWarehouse(**settings))
