"""Sections of a scenario that parts above the simulation read, and how a part adds one.

A part derives a class from Section and declares an object of it under the section's name, as an entry point of the
group `fleet_sim.section`. Nothing below the part names it, and it is loaded only for a scenario that has the section.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from fleet_sim.registry import Registry, instances_of

Sim = TypeVar("Sim")


class Section(ABC, Generic[Sim]):
    """Reads a section of a scenario and puts what it describes into a simulation, whose class is `Sim`.

    `entry` is what the scenario holds under the section's name, `source` the file it comes from. What is wrong with an
    entry is a ConfigError whose path begins with the section's name.
    """

    doc: ClassVar[str]
    """What the section is for, in one sentence; editors show it."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of an entry."""

    @abstractmethod
    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError where `entry` is wrong, as far as that can be said without a simulation."""

    def implied_settings(self, entry: Any, *, source: str = "") -> dict[str, Any]:
        """Return settings of the simulation that `entry` asks for, unless the scenario says otherwise."""
        return {}

    def open(self, sim: Sim, entry: Any, *, source: str = "") -> None:
        """Put what `entry` describes into `sim`, after its robots, objects and sensors; raises ConfigError."""


SECTIONS: Registry[Section[Any]] = Registry("section", instances_of(Section), group="fleet_sim.section")
"""The sections of parts above the simulation, by name."""
