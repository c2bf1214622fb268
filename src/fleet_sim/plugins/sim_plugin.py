"""SimPlugin: the base class of plugins of a whole simulation."""

from __future__ import annotations

from fleet_sim.core.plugins import SimHooks
from fleet_sim.simulation import MultiRobotSimulationCore


class SimPlugin(SimHooks[MultiRobotSimulationCore]):
    """Base class of plugins of a whole simulation. Override the methods you need.

    `on_step` runs in phase 1 after the user callbacks: poses written there are flushed in the same step. `sim` is the
    simulation, `config` the value given at registration.
    """
