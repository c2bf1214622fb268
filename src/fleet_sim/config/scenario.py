"""A scenario: one mapping, usually a YAML file, whose sections say what is simulated."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from fleet_sim.errors import ConfigError, did_you_mean

SECTIONS: Mapping[str, str] = {
    "simulation": "The settings of the simulation.",
    "robots": "Robots to spawn: single ones with a pose, or grids.",
    "objects": "Objects to spawn: single ones with a pose, or grids.",
    "sensors": "Sensors fixed in the world; those of a robot are in its entry.",
    "swarm": "A swarm world: its population, spawners, objects, metrics.",
    "ros": "The interfaces of the simulation in ROS 2.",
}

OPENERS: dict[str, str] = {"swarm": "fleet_sim.swarm.section"}
"""The sections that a part above the simulation reads, and its module, a SectionOpener. It is loaded by name, and only
for a scenario that has the section: the simulation need not know the part.
"""


class SectionOpener(Protocol):
    """What reads a section of a scenario and puts what it describes into the simulation."""

    def implied_settings(self, entry: Any, *, source: str = "") -> dict[str, Any]:
        """Return settings of the simulation that the section asks for, unless the scenario says otherwise."""

    def open_section(self, sim: Any, entry: Any, *, source: str = "") -> None:
        """Put what the section describes into `sim`; raises ConfigError."""


def is_scenario(config: Mapping[str, object]) -> bool:
    """Whether `config` has sections, as opposed to being the settings of a simulation themselves."""
    return any(name in config for name in SECTIONS)


def check_sections(config: Mapping[str, object], *, source: str = "") -> None:
    """Raise ConfigError for the first section of `config` that is not known."""
    for name in config:
        if name not in SECTIONS:
            raise ConfigError(f"unknown section.{did_you_mean(str(name), SECTIONS)}", source=source, path=str(name))


def as_scenario(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `config` as a scenario: one that has a `type` is a swarm world by itself."""
    return {"swarm": config} if "type" in config else config


def implied_settings(config: Mapping[str, Any], *, source: str = "") -> dict[str, Any]:
    """Return the settings of the simulation that sections ask for; raises ConfigError where one is not right."""
    settings: dict[str, Any] = {}
    for name, opener in _openers(config).items():
        settings.update(opener.implied_settings(config[name], source=source))
    return settings


def open_sections(sim: Any, config: Mapping[str, Any], *, source: str = "") -> None:
    """Put into `sim` what the sections of other parts describe; raises ConfigError."""
    for name, opener in _openers(config).items():
        opener.open_section(sim, config[name], source=source)


def _openers(config: Mapping[str, Any]) -> dict[str, SectionOpener]:
    return {name: import_module(module) for name, module in OPENERS.items() if name in config}
