"""A scenario: one mapping, usually a YAML file, whose sections say what is simulated."""

from __future__ import annotations

from collections.abc import Mapping

from fleet_sim.errors import ConfigError, did_you_mean

SECTIONS: Mapping[str, str] = {
    "simulation": "The settings of the simulation.",
    "robots": "Robots to spawn: single ones with a pose, or grids.",
    "objects": "Objects to spawn: single ones with a pose, or grids.",
    "sensors": "Sensors fixed in the world; those of a robot are in its entry.",
    "ros": "The interfaces of the simulation in ROS 2.",
}


def is_scenario(config: Mapping[str, object]) -> bool:
    """Whether `config` has sections, as opposed to being the settings of a simulation themselves."""
    return any(name in config for name in SECTIONS)


def check_sections(config: Mapping[str, object], *, source: str = "") -> None:
    """Raise ConfigError for the first section of `config` that is not known."""
    for name in config:
        if name not in SECTIONS:
            raise ConfigError(f"unknown section.{did_you_mean(str(name), SECTIONS)}", source=source, path=str(name))
