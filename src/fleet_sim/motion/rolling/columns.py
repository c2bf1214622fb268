"""The columns of robots whose wheels turn with the distance driven."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats
from fleet_sim.core.columns import FeatureColumns, column

FEATURE = "wheels"
"""Name of the feature and of its table."""

BY_SHAPE, MECANUM, PLAIN = range(3)
"""Which wheels a robot has: as its model and its law suggest, with rollers at 45 degrees, or without."""


class WheelColumns(FeatureColumns):
    """What the description does not say about the wheels of a robot. Their angles are those of the joints."""

    turn: Bools = column(bool, default=True, writer="spawning", doc="they turn; False: they stay as they are")
    rollers: Bytes = column(np.uint8, writer="spawning", doc="BY_SHAPE, MECANUM or PLAIN")
    radius: Floats = column(float, unit="m", writer="spawning", doc="of all wheels, 0: as described")
    separation: Floats = column(float, unit="m", writer="spawning", doc="of left and right wheels, 0: as described")
