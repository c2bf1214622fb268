"""The columns of actions."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Bytes
from fleet_sim.core.columns import ColumnTable, column

IDLE, ARRIVAL, OTHER, JOINTS = 0, 1, 2, 4
"""What a running action waits for; ARRIVAL and JOINTS may be added up."""


class ActionColumns(ColumnTable):
    """Which agents have actions, and what the running one waits for."""

    waiting: Bytes = column(
        np.uint8, writer="ActionScheduler", doc="0 no action, 2 something else, or sum of 1 its arrival, 4 its joints"
    )
    busy: Bools = column(bool, writer="ActionScheduler", doc="an action runs or is queued")
