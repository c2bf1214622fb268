"""Work cells as they are written down."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.config.modes import Mode
from fleet_sim.gate.bounds import LARGEST_SIZE
from fleet_sim.settings import Checked, setting, time_setting


class WorkcellKind(Mode):
    """What a work cell does."""

    DISPENSER = "dispenser"
    INGESTOR = "ingestor"


@dataclass
class WorkcellSettings(Checked):
    """A work cell: a dispenser gives the object beside it to a robot, an ingestor takes what a robot brings."""

    kind: WorkcellKind = setting(WorkcellKind.DISPENSER, doc="What it does.")
    reach: float = setting(1.0, low=0.0, high=LARGEST_SIZE, unit="m", doc="Objects this near are beside it.")
    keep: float = time_setting(
        5.0, doc="After this time an ingestor sends an object back to the dispenser that it came from."
    )
