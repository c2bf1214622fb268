"""The columns of doors: one row for each leaf."""

from __future__ import annotations

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.columns import FeatureColumns, column
from fleet_sim.core.schema import NO_ROW


class DoorColumns(FeatureColumns):
    """Where each leaf is between closed and open, and where that is. Leaves with a leader move as it does."""

    opening: Floats = column(float, writer="Doors", doc="0 closed, 1 open")
    rate: Floats = column(float, unit="1/s", writer="Doors", doc="change of `opening`")
    wanted: Bools = column(bool, writer="MoveDoors, DoorHandle, Doors", doc="is to be open")
    called: Bools = column(bool, writer="MoveDoors, DoorHandle", doc="was told to be open, and stays so")
    held: Bools = column(bool, writer="Doors", doc="waits to close, as something is in its way")
    leader: Ints = column(int, default=NO_ROW, writer="build_door", reference=True, doc="leaf of the same door")
    lift: Ints = column(int, default=NO_ROW, writer="build_lift", reference=True, doc="the lift that commands it")
    open_until: Floats = column(float, unit="s", writer="Doors", doc="an automatic door stays open until then")
    asked_until: Floats = column(float, unit="s", writer="Doors", doc="robots asked it to be open until then")

    closed_position: Floats = column(float, (3,), unit="m", frame="world", writer="spawning, Lifts", doc="when closed")
    closed_yaw: Floats = column(float, unit="rad", frame="world", writer="spawning", doc="when closed")
    slide: Floats = column(float, unit="m", frame="body", writer="spawning", doc="along x to be open")
    swing: Floats = column(float, unit="rad", writer="spawning", doc="to be open")
    hinge: Floats = column(float, unit="m", frame="body", writer="spawning", doc="on x")
    time: Floats = column(float, default=1.0, unit="s", writer="spawning", doc="from closed to open")
    automatic: Floats = column(float, unit="m", writer="spawning", doc="opens for robots this near; 0: never")
    hold: Floats = column(float, unit="s", writer="spawning", doc="stays open when nobody is near any more")
    guarded: Bools = column(bool, writer="spawning", doc="waits to close while a body is in its way")
