"""The configuration of a world, read strictly: an unknown key is an error with its key path."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from fleet_sim.config.params import SimulationParams
from fleet_sim.errors import ConfigError, StateError
from fleet_sim.output import replacing
from fleet_sim.settings import UsedSettings, parse_value, read, setting
from fleet_sim.settings.fields import fields_of
from fleet_sim.settings.types import shown
from fleet_sim.swarm.canvas import Color
from fleet_sim.swarm.world_source import read_world
from fleet_sim.swarm.written import changed_settings, plain, yaml_of

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
    def from_yaml(cls: type[Settings], path: str | Path, **values: Any) -> Settings:
        """Return the settings in a YAML file, a template whose variables have these `values`; raises ConfigError."""
        return read_world(path, values, cls.from_dict)

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
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")

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
