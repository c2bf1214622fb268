"""The columns of conveyors."""

from __future__ import annotations

from fleet_sim.arrays import Bools, Floats
from fleet_sim.core.columns import FeatureColumns, column


class ConveyorColumns(FeatureColumns):
    """What each belt does."""

    speed: Floats = column(float, unit="m/s", frame="body", writer="spawning, RunConveyors", doc="along x")
    running: Bools = column(bool, writer="spawning, RunConveyors")
