"""A scenario: one mapping, usually a YAML file, whose sections describe what is simulated."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from fleet_sim.base.errors import ConfigError, closest, did_you_mean
from fleet_sim.base.ros_params import RosSection
from fleet_sim.base.sections import SECTIONS, Section

logger = logging.getLogger(__name__)

OWN_SECTIONS: Mapping[str, str] = {
    "simulation": "The settings of the simulation.",
    "robots": "Robots to spawn: single ones with a pose, or grids.",
    "objects": "Objects to spawn: single ones with a pose, or grids.",
    "sensors": "Sensors fixed in the world; those of a robot are in its entry.",
}
"""Sections that the simulation reads itself. Sections of other parts are in SECTIONS."""

# Registered here, as its settings are read without ROS 2: scenarios can be checked and completed anywhere.
SECTIONS.register("ros", RosSection())


def is_scenario(config: Mapping[str, object]) -> bool:
    """Whether `config` has sections; otherwise it is the settings of a simulation."""
    # Our own names first: looking up others may have to search the installed packages.
    return any(name in OWN_SECTIONS for name in config) or any(name in SECTIONS for name in config)


def simulation_in(scenario: Mapping[str, Any]) -> Any:
    """Return the section `simulation`, whatever it is; empty where there is none, or where nothing is in it."""
    # An empty section is null in YAML. Anything else that is no mapping, such as 0, is left for the reader to refuse.
    section = scenario.get("simulation")
    return {} if section is None else section


def section_names() -> list[str]:
    """Return the names of all sections: the simulation's own, then the others in alphabetical order."""
    return [*OWN_SECTIONS, *SECTIONS.names()]


def check_sections(config: Mapping[str, object], *, source: str = "") -> None:
    """Raise ConfigError for the first unknown section of `config`; does not read or load sections."""
    for name, value in config.items():
        if name not in OWN_SECTIONS and name not in SECTIONS:
            # A single value is a setting that was written outside of its section.
            single = value is not None and not isinstance(value, (Mapping, list))
            if single and closest(str(name), section_names()) is None:
                words = f"is not a section; a setting of the simulation is written as simulation.{name}"
                raise ConfigError(words, source=source, path=str(name))
            hint = did_you_mean(str(name), section_names())
            raise ConfigError(f"unknown section.{hint}", source=source, path=str(name))


def check_spelling(config: Mapping[str, object], settings: Collection[str], *, source: str = "") -> None:
    """Raise ConfigError if an unknown key of `config`, which has no section, is more like one than like a setting."""
    for name in config:
        if name not in settings:
            sections = section_names()
            close = closest(str(name), [*settings, *sections])
            if close in sections:
                raise ConfigError(f"unknown section. Did you mean {close!r}?", source=source, path=str(name))


def check_entries(config: Mapping[str, Any], *, source: str = "") -> None:
    """Raise ConfigError if a section of another part is invalid."""
    for name, section in _sections_in(config):
        section.check(config[name], source=source)


def as_scenario(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `config` as a scenario.

    A mapping with the key `type` is a swarm world on its own, one with `levels` a building.
    """
    # By this key alone: `lifts` is the name of a section, too.
    if isinstance(config.get("levels"), Mapping) and "type" not in config:
        return {"building": {"content": config}}
    return {"swarm": config} if "type" in config else config


def with_implied_settings(config: Mapping[str, Any], *, source: str = "") -> Mapping[str, Any]:
    """Return the scenario `config` with the settings implied by its sections; its own settings override them.

    This loads the parts that read the sections; reading the settings alone does not. Settings without sections are
    returned unchanged. Raises ConfigError for an unknown or invalid section.
    """
    if not is_scenario(config):
        return config
    check_sections(config, source=source)
    implied: dict[str, Any] = {}
    for name, section in _sections_in(config):
        implied.update(section.implied_settings(config[name], source=source))
    given = simulation_in(config)
    # A value that is not a mapping is rejected later by the reader of the settings.
    return {**config, "simulation": {**implied, **given}} if isinstance(given, Mapping) else config


def without_needless_window(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `config` with `gui: false` where nobody asked for a window and there is nothing to open one with.

    `gui` defaults to true: without a display every scenario that does not mention it would fail, which the log says;
    with the engine mujoco, too, which has no window.
    """
    section = is_scenario(config)
    settings = simulation_in(config) if section else config
    if not isinstance(settings, Mapping) or "gui" in settings:
        return config
    windowless = settings.get("engine") == "mujoco"
    if has_display() and not windowless:
        return config
    if not windowless:
        logger.warning("no display (DISPLAY is not set): running without a window")
    settings = {**settings, "gui": False}
    return {**config, "simulation": settings} if section else settings


def has_display() -> bool:
    """Return whether there may be a display; always true off Linux, where it is not told by the environment."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY"))


def prepare_sections(sim: object, config: Mapping[str, Any], *, source: str = "") -> None:
    """Add to `sim` what the robots and objects of the scenario are put into or at; raises ConfigError."""
    for name, section in _sections_in(config):
        section.prepare(sim, config[name], source=source)


def open_sections(sim: object, config: Mapping[str, Any], *, source: str = "") -> None:
    """Add to `sim` what the sections of other parts describe; raises ConfigError."""
    # What belongs to the building is there before robots take part in anything in it, wherever the file has it; `ros`
    # names robots, which other sections may spawn.
    for name, section in sorted(_sections_in(config), key=lambda named: (not named[1].of_building, named[0] == "ros")):
        section.open(sim, config[name], source=source)


def _sections_in(config: Mapping[str, Any]) -> Iterator[tuple[str, Section[Any]]]:
    """Yield (name, section) of the sections read by other parts, in the order of the scenario."""
    for name in config:
        if name not in OWN_SECTIONS and name in SECTIONS:
            yield name, SECTIONS.get(name)
