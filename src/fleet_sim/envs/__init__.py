"""Environments for learning: Gymnasium and PettingZoo. They are imported here only.

Importing this package registers the ids, as in `gymnasium.make("fleet_sim.envs:FleetSim/Navigation-v0")`.
"""

from __future__ import annotations

from fleet_sim.envs.registration import ENVIRONMENTS, register_all

__all__ = ["ENVIRONMENTS", "register_all"]

register_all()
