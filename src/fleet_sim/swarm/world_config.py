"""The configuration of a world, read strictly: an unknown key is an error with its key path."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import yaml

from fleet_sim.base.errors import ConfigError, StateError
from fleet_sim.base.files import write_file
from fleet_sim.base.params import SimulationParams
from fleet_sim.base.scenario import as_scenario, check_kind
from fleet_sim.base.settings import UsedSettings, load_documents, parse_value, read, setting
from fleet_sim.base.settings.fields import fields_of, shown
from fleet_sim.swarm.canvas import Color

# Sources of worlds: mappings, and files, which may hold several documents.


Made = TypeVar("Made")


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Let errors name the file `source`, where they do not name one themselves."""
    try:
        yield
    except ConfigError as error:
        if error.source or not source:
            raise
        raise error.within(source=source) from error


def world_in(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the world in what a file holds: the section `swarm` of a scenario, or all of it; raises ConfigError."""
    if "swarm" not in config:
        check_kind("swarm world", config)
    world = as_scenario(config).get("swarm", config)
    if not isinstance(world, Mapping):
        raise ConfigError(f"must be a mapping with the settings of a world, got {world!r}", path="swarm")
    return dict(world)


def load_world(path: str | Path) -> dict[str, Any]:
    """Return the mapping of the world in a YAML file; of several documents in it the one with a `type`.

    Raises ConfigError, also where there is none or more than one of them.
    """
    documents = load_documents(path)
    with naming(str(path)):
        if not documents:
            raise ConfigError("is empty; expected a mapping of keys to values")
        if len(documents) == 1:
            (found,) = documents
            if not isinstance(found, dict):
                raise ConfigError(f"expected a mapping of keys to values, got {shown(found)}")
            return world_in(found)
        worlds = [document for document in documents if isinstance(document, dict) and "type" in document]
        if len(worlds) != 1:
            raise ConfigError(
                f"holds {len(documents)} documents, of which {len(worlds)} have a `type` and so are worlds; one must"
            )
        return world_in(worlds[0])


def read_world(path: str | Path, make: Callable[[dict[str, Any]], Made]) -> Made:
    """Return what `make` makes of the world in a YAML file; raises ConfigError."""
    config = load_world(path)
    with naming(str(path)):
        return make(config)


# Configurations as plain data: objects and classes are written as the entries of a file.


PACKAGE = "fleet_sim.swarm."


def plain(value: object, key: str) -> Any:
    """Return `value` as mappings, lists, numbers and texts; raises ConfigError with the key for what is code."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(item, f"{key}.{name}") for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{key}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, type):
        return class_name(value, key)
    # Parts, agents and settings say how they are written: a mapping with their `type` and what makes them.
    if hasattr(value, "as_config_dict"):
        return plain(value.as_config_dict(), key)
    raise ConfigError(
        f"{shown(value)} is an object and cannot be written; give it as a mapping with a type, or by name", path=key
    )


def class_name(cls: type[Any], key: str = "type") -> str:
    """Return the name by which a configuration finds `cls`; raises ConfigError where none can."""
    if cls.__module__.startswith(PACKAGE):
        return cls.__name__
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        raise ConfigError(f"{cls.__qualname__} cannot be found by name; put the class into a module", path=key)
    return f"{cls.__module__}:{cls.__qualname__}"


def type_entry(cls: type[Any]) -> str | type[Any]:
    """Return the `type` of an entry that makes a `cls`: its name, or itself where no name finds it."""
    try:
        return class_name(cls)
    except ConfigError:
        return cls


def changed_settings(settings: Any) -> dict[str, Any]:
    """Return the settings of a dataclass object that are not those it has by default."""
    found = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if field.name in fields_of(type(settings)) and not same(value, _default_of(field)):
            found[field.name] = value
    return found


def _default_of(field: dataclasses.Field[Any]) -> object:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def same(a: object, b: object) -> bool:
    """Whether two values are equal, arrays and lists of them included."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and np.array_equal(a, b)  # type: ignore[arg-type]  # both are arrays
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    # Of one type as well: True equals 1, and is written as something else.
    return type(a) is type(b) and bool(a == b)


def yaml_of(data: Mapping[str, Any]) -> str:
    """Return plain data as YAML; what is read from it is the same to the last bit."""
    # In the order of the class, in which people write them too.
    text: str = yaml.safe_dump(dict(data), sort_keys=False, default_flow_style=None, allow_unicode=True, width=110)
    return text


StopCondition = int | str | Callable[..., Any]


def read_stop(value: object) -> StopCondition | None:
    """Return a condition to stop at: a number of steps, an expression, or a function of the world."""
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if value is None or whole or callable(value) or (isinstance(value, str) and value.strip()):
        return value  # type: ignore[return-value]
    raise ValueError(
        f"must be a number of steps (at least 1), a function of the world, or an expression such as"
        f' "steps >= 100 and circliness > 0.9", got {value!r}'
    )


Entries = list[Any]
Settings = TypeVar("Settings", bound="WorldConfig")

LISTS = ("agents", "spawners", "objects", "goals", "metrics", "subscribers")
"""Keys of a world that hold lists; left empty, they hold nothing."""


@dataclass
class WorldConfig(UsedSettings):
    """Settings of every world. Entries are mappings with a `type` and its parameters."""

    associated_type: ClassVar[str | type[Any]] = "RectangularWorld"
    """Name of the type of worlds that settings of this class are for; see `associated_type` of `registry.py`."""
    maker: ClassVar[Callable[[Any], Any] | None] = None
    """What makes a world of settings. Worlds lie above their settings, and give it when they are imported."""

    agents: Entries = setting(factory=list, one_is_list=True, doc="Agents of the population, one entry each.")
    spawners: Entries = setting(factory=list, one_is_list=True, doc="Spawners, which add agents to the world.")
    objects: Entries = setting(factory=list, one_is_list=True, doc="Objects: bodies that are not in the population.")
    goals: Entries = setting(factory=list, one_is_list=True, doc="Goals: areas to be reached.")
    metrics: Entries = setting(factory=list, one_is_list=True, doc="Metrics, measured after each step.")
    subscribers: Entries = setting(
        factory=list, one_is_list=True, doc="Subscribers called after each step: recorders, writers, plots."
    )
    stop_at: StopCondition | None = setting(
        None,
        reader=read_stop,
        schema={"type": ["integer", "string", "null"]},
        doc="When the world stops: a number of steps, or an expression in steps, time, population and metrics.",
    )
    background_color: Color = setting((255, 255, 255), low=0, high=255, doc="Red, green, blue.")
    seed: int | None = setting(0, low=0, doc="Seed of all random streams; null: a different run each time.")
    metadata: dict[str, Any] = setting(factory=dict, doc="Any data; stored with the world.")
    flags: dict[str, Any] = setting(factory=dict, doc="Any data; available to components.")

    @classmethod
    def from_dict(cls: type[Settings], env: Mapping[str, Any]) -> Settings:
        """Return the settings in a mapping; its `type` names the type of worlds. Raises ConfigError."""
        given = {key: value for key, value in env.items() if value is not None or key not in LISTS}
        kind = given.pop("type", None)
        settings = read(cls, given)
        if kind is not None:
            settings.associated_type = kind  # type: ignore[misc]  # of this object alone
        return settings

    @classmethod
    def from_yaml(cls: type[Settings], path: str | Path) -> Settings:
        """Return the settings in a YAML file; raises ConfigError."""
        return read_world(path, cls.from_dict)

    @classmethod
    def from_yamls(cls: type[Settings], s: str) -> Settings:
        """Return the settings in a YAML text without tags; raises ConfigError."""
        data = parse_value(s)
        if not isinstance(data, dict):
            raise ConfigError(f"expected a mapping of keys to values, got {shown(data)}")
        return cls.from_dict(data)

    def as_dict(self) -> dict[str, Any]:
        """Return all settings as plain data, with the `type`; raises ConfigError for what is code, such as functions.

        What was added to a world in code is not among them.
        """
        values = {name: getattr(self, name) for name in fields_of(type(self))}
        return {key: plain(value, key) for key, value in {"type": self.associated_type, **values}.items()}

    def to_yaml(self) -> str:
        """Return them as YAML, without those that are as by default; `from_yamls` reads the same. See `as_dict`."""
        changed = changed_settings(self)
        return yaml_of({key: value for key, value in self.as_dict().items() if key == "type" or key in changed})

    def save_yaml(self, path: str | Path) -> None:
        """Write `to_yaml` to a file; raises InvalidValueError where it cannot be written."""
        text = self.to_yaml()
        write_file(path, text)

    def create_world(self) -> Any:
        """Return a new world of the type that these settings are for, not set up yet."""
        if WorldConfig.maker is None:
            raise StateError("import the settings from fleet_sim.swarm, so that worlds are known")
        return WorldConfig.maker(self)


@dataclass
class RectangularWorldConfig(WorldConfig):
    """A rectangle from the origin to `size`."""

    size: tuple[float, float] = setting((5.0, 5.0), above=0, unit="m", doc="Width and height of the world.")
    show_walls: bool = setting(True, doc="Draw the border.")
    collide_walls: bool = setting(True, doc="Keep agents inside the border.")
    detectable_walls: bool = setting(False, doc="Sensors detect the border.")
    padding: float = setting(0.0, low=0, high=0, unit="m", doc="Room around the world: none; a larger size has some.")
    time_step: float = setting(1 / 60, above=0, unit="s", doc="Simulated time per step.")
    update: Literal["together", "in_turn"] = setting(
        "together",
        doc="together: all agents decide, move and sense at once, on arrays; in_turn: one agent after the other.",
    )


BaseWorldConfig = WorldConfig
"""Another name of it."""


COLLISION_MARGIN = 1e-3
"""Of the simulations that worlds make for themselves, in m: agents that were pushed apart count as touching."""


def simulation_params(config: RectangularWorldConfig) -> SimulationParams:
    """Return the settings of the simulation a world makes for itself. What user code raises is not survived there."""
    return SimulationParams(
        gui=False,
        timestep=config.time_step,
        seed=secrets.randbits(32) if config.seed is None else config.seed,
        target_rtf=0.0,
        # Agents are kept apart by `separation.py`, which notes who touched something; nobody asks for more by itself.
        collision_check_frequency=0.0,
        collision_margin=COLLISION_MARGIN,
        monitor=False,
        raise_on_fault=True,
    )


# Keys of RobotSwarmSimulator's files that do not exist here, with what to write instead; for error messages.


TYPES: dict[str, dict[str, str]] = {
    "metric": {
        "JinjaMetric": "Combination has expressions without templates; anything more is a Metric of your own",
        "InstantRiemannCircularity": "InstantTaubinSVDCircularity is close to it",
        "InstantKMHCircularity": "InstantTaubinSVDCircularity is close to it",
    },
    "spawner": {
        "ExcelSpawner": "save the sheet as CSV and write type: csv, with the columns x, y and angle",
        "AgentSpawner": "choose one of point, uniform, circle, donut, fixed, grid, csv",
    },
    "controller": {
        "Controller": "binary takes a list of four numbers as `a`, AgentMethodController asks the agent, and a"
        " function is a Controller of your own"
    },
}
"""By kind of part and its name."""

AGENT_KEYS: dict[str, str] = {
    "track_io": "a subscriber, any function of the world, notes position, angle, linear, angular and sensors of"
    " each agent",
    "debug": "`fleet-sim swarm` draws agents as the simulation knows them",
    "seed": "numbers are drawn per agent from the seed of the world; sensors, controllers and spawners may have a"
    " `seed` of their own",
    "scale_forward_speed": "leave it out, it does nothing there; speeds of controllers are in m/s",
    "scale_turning_rates": "leave it out, it does nothing there; rates of controllers are in rad/s",
}
"""By key of an agent."""

PART_KEYS: dict[str, str] = {"degrees": "angles are in rad; leave it out, or write `theta: !np deg2rad(20)`"}
"""By key of a controller, a sensor or another part."""


def advice_on(kind: str, name: object) -> str:
    """Return what to write instead of the part `name`, to be added to an error; "" where nothing is known of it."""
    known = TYPES.get(kind, {}).get(str(name), "")
    return f" Instead: {known}." if known else ""


def refuse_agent_keys(settings: Mapping[str, object], known: Mapping[str, object]) -> None:
    """Raise ConfigError for keys of agents in `settings` that are not `known`, where there is advice on them."""
    for key, advice in AGENT_KEYS.items():
        if key in settings and key not in known:
            raise ConfigError(f"is not a setting of agents. Instead: {advice}", path=key)


def refuse_keys(parameters: Mapping[str, object], known: Mapping[str, object]) -> None:
    """Raise ConfigError for parameters of a part that are not `known`, where there is advice on them."""
    for key, advice in PART_KEYS.items():
        if key in parameters and key not in known:
            raise ConfigError(f"is not a parameter here. Instead: {advice}", path=key)


# Assignments to agents and worlds: what would have no effect is refused with the reason; other names are free.


def check_assignment(owner: object, name: str, settings: type, advice: str) -> None:
    """Refuse to set `owner.name` where it is a setting that counts only when `owner` is made, or can only be read.

    Raises AttributeError. `advice` says what to do in place of setting a setting.
    """
    if name.startswith("_") or name in vars(owner):
        return
    known = getattr(type(owner), name, None)
    if known is not None and (not isinstance(known, property) or known.fset is not None):
        return
    what = type(owner).__name__
    if name in fields_of(settings):
        raise AttributeError(f"{what}.{name} is settled when it is made and cannot be set later: {advice}")
    if known is not None:
        raise AttributeError(f"{what}.{name} can be read only; it follows from the state of the simulation")
