"""The columns of lifts: one row for each cabin, and one for each body that moves with it."""

from __future__ import annotations

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.columns import FeatureColumns, column
from fleet_sim.core.schema import NO_ROW


class LiftColumns(FeatureColumns):
    """Where cabins are and what they do. Rows with a cabin are its walls."""

    cabin: Ints = column(int, default=NO_ROW, writer="build_lift", reference=True, doc="cabin that it is a wall of")
    height: Floats = column(float, unit="m", frame="world", writer="Lifts", doc="of the floor of the cabin")
    rate: Floats = column(float, unit="m/s", writer="Lifts", doc="change of `height`")
    floor: Ints = column(int, writer="Lifts", doc="number of the floor it is at, or was at last")
    goal: Ints = column(int, writer="Lifts", doc="number of the floor it was sent to")
    opens: Bools = column(bool, writer="Lifts", doc="its doors are to be open there")
    busy: Bools = column(bool, writer="Lifts", doc="has not done yet what it was told")
    closes_at: Floats = column(float, unit="s", writer="Lifts", doc="goes on to the next call from then on")

    speed: Floats = column(float, default=1.0, unit="m/s", writer="spawning")
    accel: Floats = column(float, default=1.0, unit="m/s2", writer="spawning")
    dwell: Floats = column(float, unit="s", writer="spawning", doc="doors stay open for this long if others wait")
    half: Floats = column(float, (3,), default=1.0, unit="m", frame="body", writer="build_lift", doc="of the cabin")
