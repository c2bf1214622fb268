"""The section `building` of a scenario, as it is written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import Checked, setting, time_setting


@dataclass
class BuildingSettings(Checked):
    """A whole building: its walls on all levels, its doors, lifts, work cells and robots."""

    map: str | None = setting(None, doc="The .building.yaml, relative to this file.")
    content: dict[str, Any] | None = setting(None, doc="What such a file holds, instead of `map`.")
    wall_height: float = setting(1.0, above=0.0, high=100.0, unit="m", doc="How tall walls are.")
    doors: bool = setting(True, doc="Whether its doors are built.")
    door_time: float | None = time_setting(
        None, low=0.05, doc="From closed to open; null: as Open-RMF simulates each kind."
    )
    automatic: float = setting(
        0.0, low=0.0, high=100.0, unit="m", doc="Doors open by themselves for robots this near; 0: by requests only."
    )
    lifts: bool = setting(True, doc="Whether its lifts are built.")
    robots: bool = setting(True, doc="Whether the robots that it names are spawned.")
    items: bool = setting(True, doc="Whether dispensers, ingestors and things that can be carried are spawned.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.map is None) == (self.content is None):
            raise InvalidValueError("give one of map and content: where the building is, or what is in its file")
