"""A scenario: one mapping, usually a YAML file, whose sections describe what is simulated.

A part that reads a section derives a class from Section and declares an instance of it under the section's name, as an
entry point of the group `fleet_sim.section`. The section `ros` is declared here, as it is checked without ROS 2.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from fleet_sim.base.arrays import as_floats
from fleet_sim.base.errors import ConfigError, InvalidValueError, brief, closest, did_you_mean, located, unknown_name
from fleet_sim.base.files import opened
from fleet_sim.base.registry import Registry, instances_of
from fleet_sim.base.settings import UsedSettings, load_mapping, nullable, object_schema, read, setting

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
    of_all: bool = False
    """Whether it names what other sections add: those are opened last."""

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


# Names of frames and namespaces that ROS 2 takes, checked where settings give them. Can be read without ROS 2.


LONGEST_NAME = 245
"""Characters of a namespace, as in rcl; of a frame, as many."""
# In Python a dollar alone also stands before a last line break.
_NAMESPACE = r"^/?$(?!\n)|^/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*$(?!\n)"
FRAME_SCHEMA: Mapping[str, Any] = {"type": "string", "pattern": r"^[^/\n]", "maxLength": LONGEST_NAME}
NAMESPACE_SCHEMA: Mapping[str, Any] = {"type": "string", "pattern": _NAMESPACE, "maxLength": LONGEST_NAME}


def read_frame(value: object) -> str:
    """Return the name of a TF frame; raises InvalidValueError for what tf2 rejects, and what cannot be printed."""
    if isinstance(value, str) and value.isprintable() and not value.startswith("/") and 0 < len(value) <= LONGEST_NAME:
        return value
    raise InvalidValueError(
        f"must be the name of a frame: printable, not empty, without / at the beginning, got {brief(value)}"
    )


def read_namespace(value: object) -> str:
    """Return a namespace, with or without / at its beginning; raises InvalidValueError for what ROS 2 rejects."""
    if isinstance(value, str) and re.search(_NAMESPACE, value) and len(value) <= LONGEST_NAME:
        return value
    raise InvalidValueError(
        f"must be a namespace of ROS 2, such as /fleet: letters, digits and _ between single /, got {brief(value)}"
    )


Group = Literal["commands", "state", "description", "actions", "sensors"]
RATE = "Hz"


def _read_per_robot(value: object) -> str | list[str]:
    """Return "all", "none" or a list of names; raises InvalidValueError."""
    if value in ("all", "none"):
        return str(value)
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
        return list(value)
    raise InvalidValueError(f"must be 'all', 'none' or a list of robot names, got {value!r}")


# In Python a dollar alone also stands before a last line break.
_TOPIC_PART = r"^([A-Za-z_][A-Za-z0-9_]*)?$(?!\n)"


def _read_topic_part(value: object) -> str:
    """Return a name that can be part of a topic, or ""; raises InvalidValueError."""
    if isinstance(value, str) and re.fullmatch(_TOPIC_PART, value):
        return value
    raise InvalidValueError(f"must be letters, digits and _, and begin with no digit, got {value!r}")


def _read_datum(value: object) -> tuple[float, float, float] | None:
    """Return latitude and longitude in degrees, and a heading in rad; None for None; raises InvalidValueError."""
    if value is None:
        return None
    count = len(value) if isinstance(value, (list, tuple)) else 0
    if count not in (2, 3):
        raise InvalidValueError(f"must be [latitude, longitude] or [latitude, longitude, heading], got {value!r}")
    latitude, longitude, heading = (*as_floats(value, (count,), "datum").tolist(), 0.0)[:3]
    if abs(latitude) >= 89.0 or abs(longitude) > 180.0 or abs(heading) > 10.0:
        raise InvalidValueError(
            f"must be a latitude within 89 degrees, a longitude and a heading in rad, got {value!r}"
        )
    return latitude, longitude, heading


_DATUM_SCHEMA: Mapping[str, Any] = {
    "anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3}]
}
_PER_ROBOT_SCHEMA: Mapping[str, Any] = {
    "anyOf": [{"enum": ["all", "none"]}, {"type": "array", "items": {"type": "string"}}]
}


@dataclass
class RateParams(UsedSettings):
    """Publishing rates, per second of simulation time; null: in each step, 0: never."""

    clock: float | None = setting(100.0, low=0, unit=RATE, doc="Rate of /clock.")
    tf: float | None = setting(30.0, low=0, unit=RATE, doc="Rate of /tf for the bases of robots.")
    links: float | None = setting(30.0, low=0, unit=RATE, doc="Rate of /tf for links moved by joints.")
    odom: float | None = setting(30.0, low=0, unit=RATE, doc="Rate of odom of each robot.")
    joint_states: float | None = setting(30.0, low=0, unit=RATE, doc="Rate of joint_states of each robot with joints.")
    plan: float | None = setting(
        2.0, low=0, unit=RATE, doc="Rate at which each robot's plan is checked; published only when it changed."
    )
    fleet_states: float | None = setting(10.0, low=0, unit=RATE, doc="Rate of /fleet/states.")
    markers: float | None = setting(5.0, low=0, unit=RATE, doc="Rate of /fleet/markers.")
    map: float | None = setting(
        1.0, low=0, unit=RATE, doc="Rate at which /map is checked; published only when it changed and is subscribed."
    )
    diagnostics: float | None = setting(1.0, low=0, unit=RATE, doc="Rate of /diagnostics.")
    feedback: float | None = setting(5.0, low=0, unit=RATE, doc="Rate of feedback of running goals.")


@dataclass
class RmfParams(UsedSettings):
    """The topics of Open-RMF; rates are per second of simulation time."""

    enabled: bool | None = setting(None, doc="Whether to publish them; null: only if the scenario has slotcars.")
    level: str = setting("L1", doc="Name of the level at height 0 in scenarios without a section `building`.")
    robot_state: float = setting(2.0, above=0, unit=RATE, doc="Rate of /robot_state of each robot.")
    door_states: float = setting(1.0, above=0, unit=RATE, doc="Rate of door_states of each door.")
    lift_states: float = setting(1.0, above=0, unit=RATE, doc="Rate of lift_states of each lift; also at each change.")
    charger_states: float = setting(
        2.0, above=0, unit=RATE, doc="Rate of rmf_charger/state of each charger; also at each change."
    )
    workcell_states: float = setting(0.5, above=0, unit=RATE, doc="Rate of the states of dispensers and ingestors.")


@dataclass
class Nav2Params(UsedSettings):
    """The interface of Nav2 that each robot has; rates are per second of simulation time."""

    enabled: bool = setting(False, doc="Whether robots have the complete interface; otherwise only navigate_to_pose.")
    initial_pose: Literal["ignore", "place"] = setting(
        "ignore", doc="Effect of initialpose. ignore: answer with the true pose; place: move the robot."
    )
    amcl_pose: float = setting(2.0, above=0, unit=RATE, doc="Rate of amcl_pose; also at each initialpose.")
    costmaps: float = setting(1.0, above=0, unit=RATE, doc="Rate at which map and costmaps are checked; see docs.")
    local_size: float = setting(3.0, above=0.1, high=100.0, unit="m", doc="Side of the local costmap.")
    inflation: float = setting(0.55, low=0.0, high=10.0, unit="m", doc="Radius of the costs around obstacles.")
    staging: float = setting(
        0.7, low=0.0, high=10.0, unit="m", doc="Distance before a dock from which robots drive in."
    )
    turn_speed: float = setting(1.0, above=0, high=100.0, unit="rad/s", doc="Speed of the action spin.")
    datum: Any = setting(
        None,
        reader=_read_datum,
        schema=_DATUM_SCHEMA,
        doc="Position of the map on the earth: latitude and longitude of its origin, and its heading from east in rad.",
    )


@dataclass
class RosParams(UsedSettings):
    """The `ros:` section of a scenario."""

    per_robot: Any = setting(
        "all", reader=_read_per_robot, schema=_PER_ROBOT_SCHEMA, doc="Robots that have their own topics and actions."
    )
    groups: list[Group] = setting(
        factory=lambda: ["commands", "state", "description", "actions", "sensors"],
        doc="Groups of interfaces that each of these robots has.",
    )
    cmd_vel_type: Literal["twist", "twist_stamped"] = setting("twist", doc="Message type of cmd_vel.")
    cmd_vel_timeout: float = setting(
        0.5, low=0, unit="s", doc="Simulated time after which a velocity command ends; 0 = never."
    )
    joint_controller: str = setting(
        "",
        reader=_read_topic_part,
        schema={"type": "string", "pattern": _TOPIC_PART},
        doc="Name of the ros2_control controller whose topics and actions joint trajectories use; empty: none.",
    )
    map_frame: str = setting("map", reader=read_frame, schema=FRAME_SCHEMA, doc="Name of the fixed frame.")
    map_resolution: float = setting(0.05, above=0, unit="m", doc="Cell size of /map.")
    map_height: float | None = setting(
        None, unit="m", doc="Height at which /map is cut; null: the height of the first lidar, or 0.2 without one."
    )
    robot_diagnostics: bool = setting(False, doc="Whether /diagnostics has a status of each robot.")
    rmf: RmfParams = setting(factory=RmfParams, doc="The topics of Open-RMF.")
    nav2: Nav2Params = setting(factory=Nav2Params, doc="The interface of Nav2 that each robot has.")
    rates: RateParams = setting(factory=RateParams, doc="Publishing rates of the interfaces.")

    @classmethod
    def from_scenario(cls, config: Mapping[str, Any], *, source: str = "") -> RosParams:
        """Return the `ros:` section of a scenario, or the defaults; raises ConfigError."""
        return RosSection().read(config.get("ros"), source)

    def has_own(self, robot: str, group: str) -> bool:
        """Return whether `robot` has the interfaces of `group`."""
        chosen = self.per_robot == "all" or (self.per_robot != "none" and robot in self.per_robot)
        return chosen and group in self.groups

    def in_joint_controller(self, name: str) -> str:
        """Return the name of a topic or an action of joint trajectories, below a robot."""
        return f"{self.joint_controller}/{name}" if self.joint_controller else name


class RosSection(SettingsSection[Any]):
    """The section `ros`. The node opens it, as interfaces need a simulation that is already built."""

    of_all = True

    def __init__(self) -> None:
        super().__init__("ros", RosParams, _check_robots, "The ROS 2 interfaces of the simulation.")

    def prepare(self, sim: Any, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError if the settings are invalid, also where nobody uses them."""
        self.check(entry, source=source)


def _check_robots(sim: Any, settings: RosParams, source: str) -> None:
    """Raise an error for a robot in `per_robot` that is not there, unless all robots are spawned later."""
    names = settings.per_robot
    if isinstance(names, str) or not sim.population.scenario.get("robots"):
        return
    robots = [robot.name for robot in sim.agents if robot.name]
    for place, name in enumerate(names):
        if name not in robots:
            with located(f"per_robot[{place}]"):
                raise unknown_name("robot", name, robots)


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
    # What belongs to the building is there before robots take part in anything in it, wherever the file has it; some
    # name robots and stations, which others may add.
    for name, section in sorted(_sections_in(config), key=lambda named: (not named[1].of_building, named[1].of_all)):
        section.open(sim, config[name], source=source)


def _sections_in(config: Mapping[str, Any]) -> Iterator[tuple[str, Section[Any]]]:
    """Yield (name, section) of the sections read by other parts, in the order of the scenario."""
    for name in config:
        if name not in OWN_SECTIONS and name in SECTIONS:
            yield name, SECTIONS.get(name)
