"""The columns of robots that are steered like cars."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats
from fleet_sim.core.columns import FeatureColumns, column
from fleet_sim.motion.ackermann.curves import PIECES

FEATURE = "ackermann"
"""Name of the feature, of its table, and of the law."""


class AckermannColumns(FeatureColumns):
    """What each car can steer, how it is steered, and the curve that it drives to its current waypoint."""

    wheelbase: Floats = column(float, default=0.5, unit="m", writer="spawning")
    min_radius: Floats = column(float, default=1.0, unit="m", writer="spawning", doc="of the tightest arc")
    steering_rate: Floats = column(float, default=1.0, unit="rad/s", writer="spawning", doc="inf: at once")

    steering: Floats = column(float, unit="rad", writer="motion", doc="of the middle of the front axle, left positive")

    lengths: Floats = column(float, (PIECES,), unit="m", writer="motion", doc="of the curve's pieces, negative: back")
    curvatures: Floats = column(float, (PIECES,), unit="1/m", writer="motion", doc="of the pieces, left positive")
    exits: Floats = column(float, (PIECES,), unit="m/s", writer="motion", doc="speed at which a piece is left")
    pieces: Bytes = column(np.uint8, writer="motion", doc="pieces of the curve")
    piece: Bytes = column(np.uint8, writer="motion", doc="the one being driven")
    done: Floats = column(float, unit="m", writer="motion", doc="driven of it")
    exact: Bools = column(bool, writer="motion", doc="the curve ends at the waypoint itself, not a tolerance before")
    start: Floats = column(float, (2,), unit="m", frame="world", writer="motion", doc="of the piece: x, y")
    start_turn: Floats = column(float, (4,), frame="world", writer="motion", doc="orientation at its start")
    left_at: Floats = column(float, (2,), unit="m", frame="world", writer="motion", doc="where the law left the car")
    left_turn: Floats = column(float, (4,), frame="world", writer="motion", doc="and its orientation there")
