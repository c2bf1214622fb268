"""The columns of work cells."""

from __future__ import annotations

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.columns import FeatureColumns, column
from fleet_sim.core.schema import NO_ROW


class WorkcellColumns(FeatureColumns):
    """What each work cell has."""

    ingests: Bools = column(bool, writer="spawning", doc="is an ingestor, not a dispenser")
    reach: Floats = column(float, default=1.0, unit="m", writer="spawning")
    keep: Floats = column(float, unit="s", writer="spawning", doc="until an ingestor sends an object back")
    looked: Bools = column(bool, writer="Workcells", doc="has looked for its object")
    item: Ints = column(int, default=NO_ROW, writer="Workcells", reference=True, doc="its object, wherever that is")
    filled: Bools = column(bool, writer="Workcells", doc="has its object")
    returns_at: Floats = column(float, unit="s", writer="Workcells", doc="when an ingestor sends it back")
    home: Floats = column(float, (3,), unit="m", frame="world", writer="Workcells", doc="where it found its object")
    taken_from: Ints = column(int, default=NO_ROW, writer="Workcells", reference=True, doc="dispenser of its object")
