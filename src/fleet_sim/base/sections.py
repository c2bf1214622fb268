"""Sections of a scenario that rooms above the simulation read, and what a file is meant for.

A part derives a class from Section and declares an instance of it under the section's name, as an entry point of the
group `fleet_sim.section`. Lower layers do not depend on it, and it is loaded only for scenarios that have the section.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from fleet_sim.base.errors import ConfigError, located
from fleet_sim.base.files import opened
from fleet_sim.base.registry import Registry, instances_of
from fleet_sim.base.settings import load_mapping, nullable, object_schema, read

Sim = TypeVar("Sim")


class Section(ABC, Generic[Sim]):
    """Reads a section of a scenario and adds its content to a simulation of class `Sim`.

    `entry` is the value under the section's name in the scenario, `source` the file it comes from. An invalid entry
    raises ConfigError with a path that begins with the section's name.
    """

    doc: str
    """The purpose of the section in one sentence; shown by editors."""
    of_building: bool = False
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
    """A section whose entry is the settings of one class; an empty section stands for their defaults.

    `carry_out` gets the simulation, the settings and the name of the file; its errors are raised below the section.
    """

    def __init__(
        self,
        name: str,
        settings_class: type[Any],
        carry_out: Callable[[Sim, Any, str], object],
        doc: str,
        *,
        of_building: bool = False,
    ) -> None:
        self.name, self.settings_class, self._carry_out = name, settings_class, carry_out
        self.doc, self.of_building = doc, of_building

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the settings."""
        return nullable(object_schema(self.settings_class))

    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError where the settings are wrong."""
        self.read(entry, source)

    def read(self, entry: Any, source: str) -> Any:
        """Return the settings in `entry`; raises ConfigError."""
        return read(self.settings_class, {} if entry is None else entry, source=source, path=self.name)

    def open(self, sim: Sim, entry: Any, *, source: str = "") -> None:
        """Carry out the settings; raises ConfigError."""
        settings = self.read(entry, source)
        with located(self.name, source=source):
            self._carry_out(sim, settings, source)


SECTIONS: Registry[Section[Any]] = Registry("section", instances_of(Section), group="fleet_sim.section")
"""The sections of parts above the simulation, by name."""


# What a file is meant for, so that a file given to the wrong command is named for what it is.


COMMANDS = {"scenario": "run", "swarm world": "swarm", "search": "evolve", "sweep": "sweep"}
"""The command for each kind of file."""
RECORDING = "a recording"
WRITTEN = {
    b"\x89MCAP0\r\n": (RECORDING, "show it with: fleet-sim view"),
    b"fleet_sim state ": ("a saved state", "go on from it with: fleet-sim run --from-state"),
    b'{"format": "fleet_sim inputs': ("a file of inputs", "repeat the run with: fleet-sim run --replay-inputs"),
}
"""What files are that a run has written, by how they begin, and the commands that read them."""


def is_recording(file: Path) -> bool:
    """Return whether `file` is called a recording, of a run that was killed too, or is one by another name."""
    return file.name.removesuffix(".part").lower().endswith(".mcap") or _written_as(file)[0] == RECORDING


def load_scenario(file: Path, more: str = "") -> dict[str, Any]:
    """Return the content of a scenario's file; raises ConfigError as `load_mapping` and `check_not_written` do."""
    check_not_written(file, more)
    return load_mapping(file)


def check_not_written(file: Path, more: str = "") -> None:
    """Raise ConfigError where `file`, a scenario, was written by a run; `more` are options of the command for it."""
    kind, remedy = _written_as(file)
    if kind:
        raise ConfigError(f"it is {kind}, not a scenario; {remedy} {file}{more}", source=str(file))


def _written_as(file: Path) -> tuple[str, str]:
    try:
        with opened(file, "rb") as stream:
            begin = stream.read(max(map(len, WRITTEN)))
    except OSError:
        # Whoever reads it says why it cannot be read.
        begin = b""
    return next((what for beginning, what in WRITTEN.items() if begin.startswith(beginning)), ("", ""))


def kind_of(config: Mapping[str, Any]) -> str | None:
    """Return which of `COMMANDS` the content of a file is, judged by its keys; None if they do not tell."""
    if "world" in config and "parameters" in config:
        return "search"
    if "scenario" in config and ("parameters" in config or "seeds" in config):
        return "sweep"
    if "type" in config and ("spawners" in config or "agents" in config):
        return "swarm world"
    return "scenario" if "simulation" in config or "robots" in config else None


def check_kind(wanted: str, config: object, source: str = "") -> None:
    """Raise ConfigError if `config`, from the file `source`, clearly is another kind of file than `wanted`."""
    kind = kind_of(config) if isinstance(config, Mapping) else None
    if kind not in (None, wanted):
        file = f" {source}" if source else ""
        raise ConfigError(f"is a {kind}, not a {wanted}; use: fleet-sim {COMMANDS[kind]}{file}", source=source)


def checker_of(wanted: str) -> Callable[[object, str], None]:
    """Return `check_kind` for one kind."""
    return partial(check_kind, wanted)
