"""A scenario: one mapping, usually a YAML file, whose sections say what is simulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleet_sim.config.ros_params import RosSection
from fleet_sim.config.sections import SECTIONS, Section
from fleet_sim.errors import ConfigError, did_you_mean

OWN_SECTIONS: Mapping[str, str] = {
    "simulation": "The settings of the simulation.",
    "robots": "Robots to spawn: single ones with a pose, or grids.",
    "objects": "Objects to spawn: single ones with a pose, or grids.",
    "sensors": "Sensors fixed in the world; those of a robot are in its entry.",
}
"""What a simulation reads itself. Sections of other parts are in SECTIONS."""

# Its settings are read without ROS 2, so that a scenario can be checked and completed anywhere.
SECTIONS.register("ros", RosSection())


def is_scenario(config: Mapping[str, object]) -> bool:
    """Whether `config` has sections, as opposed to being the settings of a simulation themselves."""
    # Our own names first: the others may have to be looked up among the installed packages.
    return any(name in OWN_SECTIONS for name in config) or any(name in SECTIONS for name in config)


def section_names() -> list[str]:
    """Return the names of all sections: the simulation's own, then the others in alphabetical order."""
    return [*OWN_SECTIONS, *SECTIONS.names()]


def check_sections(config: Mapping[str, object], *, source: str = "") -> None:
    """Raise ConfigError for the first section of `config` that is not known; reads and loads none."""
    for name in config:
        if name not in OWN_SECTIONS and name not in SECTIONS:
            hint = did_you_mean(str(name), section_names())
            raise ConfigError(f"unknown section.{hint}", source=source, path=str(name))


def check_entries(config: Mapping[str, Any], *, source: str = "") -> None:
    """Raise ConfigError where a section of another part is wrong."""
    for name, section in _sections_in(config):
        section.check(config[name], source=source)


def as_scenario(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `config` as a scenario: one that has a `type` is a swarm world by itself."""
    return {"swarm": config} if "type" in config else config


def with_implied_settings(config: Mapping[str, Any], *, source: str = "") -> Mapping[str, Any]:
    """Return the scenario `config` with the settings that its sections ask for put under what it says itself.

    This loads the parts that read the sections, which reading the settings alone does not. Settings without sections
    are returned as they are. Raises ConfigError for an unknown section, and where one is wrong.
    """
    if not is_scenario(config):
        return config
    check_sections(config, source=source)
    implied: dict[str, Any] = {}
    for name, section in _sections_in(config):
        implied.update(section.implied_settings(config[name], source=source))
    given = config.get("simulation", {})
    # What is no mapping is left for the reader of the settings to refuse.
    return {**config, "simulation": {**implied, **given}} if isinstance(given, Mapping) else config


def open_sections(sim: object, config: Mapping[str, Any], *, source: str = "") -> None:
    """Put into `sim` what the sections of other parts describe; raises ConfigError."""
    for name, section in _sections_in(config):
        section.open(sim, config[name], source=source)


def _sections_in(config: Mapping[str, Any]) -> Iterator[tuple[str, Section[Any]]]:
    """Yield (name, section) of those that other parts read, in the order of the scenario."""
    for name in config:
        if name not in OWN_SECTIONS and name in SECTIONS:
            yield name, SECTIONS.get(name)
