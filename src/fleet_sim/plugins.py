"""SimPlugin: what users derive plugins of a whole simulation from."""

from __future__ import annotations

from fleet_sim.core.plugins import SimHooks
from fleet_sim.simulation import MultiRobotSimulationCore


class SimPlugin(SimHooks[MultiRobotSimulationCore]):
    """Base of plugins of a whole simulation. Override what you need.

    `on_step` runs in phase 1 after the user callbacks: poses written there are flushed in the same step. `sim` is the
    simulation, `config` what was given at registration.
    """
