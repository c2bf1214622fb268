"""Sections of a scenario that are read by parts above the simulation, and the way to add one.

A part derives a class from Section and declares an instance of it under the section's name, as an entry point of the
group `fleet_sim.section`. Lower layers do not depend on it, and it is loaded only for scenarios that have the section.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from fleet_sim.registry import Registry, instances_of
from fleet_sim.settings import nullable, object_schema, read

Sim = TypeVar("Sim")


class Section(ABC, Generic[Sim]):
    """Reads a section of a scenario and adds its content to a simulation of class `Sim`.

    `entry` is the value under the section's name in the scenario, `source` the file it comes from. An invalid entry
    raises ConfigError with a path that begins with the section's name.
    """

    doc: ClassVar[str]
    """The purpose of the section in one sentence; shown by editors."""
    of_building: ClassVar[bool] = False
    """Whether it adds parts of a building: those are opened first."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of an entry."""

    @abstractmethod
    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError if `entry` is invalid, as far as this can be checked without a simulation."""

    def implied_settings(self, entry: Any, *, source: str = "") -> dict[str, Any]:
        """Return simulation settings implied by `entry`; settings given in the scenario override them."""
        return {}

    def prepare(self, sim: Sim, entry: Any, *, source: str = "") -> None:
        """Add to `sim` what its robots, objects and sensors are put into or at, before they are; raises ConfigError."""

    def open(self, sim: Sim, entry: Any, *, source: str = "") -> None:
        """Add the content of `entry` to `sim`, after its robots, objects and sensors; raises ConfigError."""


class SettingsSection(Section[Sim]):
    """Base of sections whose entry is the settings of one class; an empty section stands for their defaults."""

    name: ClassVar[str]
    """The name of the section."""
    settings_class: ClassVar[type[Any]]

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the settings."""
        return nullable(object_schema(self.settings_class))

    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError where the settings are wrong."""
        self.read(entry, source)

    def read(self, entry: Any, source: str) -> Any:
        """Return the settings in `entry`; raises ConfigError."""
        return read(self.settings_class, {} if entry is None else entry, source=source, path=self.name)


SECTIONS: Registry[Section[Any]] = Registry("section", instances_of(Section), group="fleet_sim.section")
"""The sections of parts above the simulation, by name."""
