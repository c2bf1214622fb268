"""Conveyors as they are written down."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.gate.bounds import LARGEST_SPEED
from fleet_sim.settings import Checked, setting


@dataclass
class ConveyorSettings(Checked):
    """A conveyor: whatever lies on top of the object is carried along its own x axis."""

    speed: float = setting(
        0.5, low=-LARGEST_SPEED, high=LARGEST_SPEED, unit="m/s", doc="Of its belt; negative: against its x axis."
    )
    running: bool = setting(True, doc="Whether it runs at first.")
