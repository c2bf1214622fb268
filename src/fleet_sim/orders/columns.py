"""The columns of robots that serve orders."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints
from fleet_sim.core.columns import FeatureColumns, column
from fleet_sim.orders.states import RobotState

NO_ORDER = -1


class OrderColumns(FeatureColumns):
    """What each robot does for orders, and how far and how long it did so."""

    state: Bytes = column(np.uint8, writer="OrderFleet", doc="code of a RobotState")
    order: Ints = column(np.int64, default=NO_ORDER, writer="OrderFleet", doc="number of the order it serves, -1: none")
    max_load: Floats = column(float, unit="kg", writer="spawning", doc="the heaviest load it takes")
    loaded_speed: Floats = column(float, default=1.0, writer="spawning", doc="share of its speed with a load")
    slowed: Bools = column(bool, writer="OrderFleet", doc="has a load, and drives at its speed for loads")
    own_limit: Floats = column(float, unit="m/s", writer="OrderFleet", doc="its linear_limit without a load")
    own_limits: Floats = column(float, (3,), unit="m/s", writer="OrderFleet", doc="its linear_limits without a load")
    radius: Floats = column(float, unit="m", writer="OrderFleet", doc="of its footprint without a load")
    top: Floats = column(float, unit="m", frame="body", writer="OrderFleet", doc="height at which loads stand on it")
    odometer: Floats = column(float, unit="m", writer="Odometer", doc="driven in all")
    odometer_loaded: Floats = column(float, unit="m", writer="Odometer", doc="driven with a load")
    measured_at: Floats = column(
        float, (2,), default=np.nan, unit="m", frame="world", writer="Odometer", doc="up to where it has been measured"
    )
    standing: Floats = column(float, unit="s", writer="Odometer", doc="stood while it was to drive")
    energy_used: Floats = column(float, unit="J", writer="Odometer", doc="taken from its battery")
    since: Floats = column(float, unit="s", writer="OrderFleet", doc="when its state began")
    times: Floats = column(
        float, (len(RobotState),), unit="s", writer="OrderFleet", doc="spent in each RobotState before `since`"
    )
