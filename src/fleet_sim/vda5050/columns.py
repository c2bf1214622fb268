"""The columns of robots that a master control drives."""

from __future__ import annotations

from fleet_sim.arrays import Bools
from fleet_sim.core.columns import FeatureColumns, column


class VehicleColumns(FeatureColumns):
    """What the entry of a robot says; all else is in its Vehicle."""

    enabled: Bools = column(bool, default=True, writer="spawning", doc="a master control drives it")
