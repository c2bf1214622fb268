"""SimPlugin: the base class of plugins of a whole simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fleet_sim.base.errors import ConfigError, FleetSimError
from fleet_sim.base.registry import Fit, Registry
from fleet_sim.base.scenario import Section
from fleet_sim.base.settings import Checked, read, setting
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.user_code import SIM_PLUGINS, SimHooks


class SimPlugin(SimHooks[MultiRobotSimulationCore]):
    """Base class of plugins of a whole simulation. Override the methods you need.

    `on_step` runs in phase 1 after the user callbacks: poses written there are flushed in the same step. `sim` is the
    simulation, `config` the value given at registration.
    """


# The sections `plugins` and `callbacks` of a scenario: code of the user's that runs with the simulation.


Code = TypeVar("Code")

CALLBACKS: Registry[Callable[..., Any]] = Registry(
    "callback", Fit("a function of (sim, dt)", callable), group="fleet_sim.callback"
)
"""Functions that a scenario may name."""


@dataclass
class CodeSettings(Checked):
    """How often code of the user's runs."""

    frequency: float | None = setting(
        None, above=0, high=1e6, unit="Hz", doc="Calls per simulated second; null: at each step."
    )


class CodeSection(Section[MultiRobotSimulationCore], Generic[Code]):
    """Reads a list of names, dotted paths, or mappings of `type`, `frequency` and a config, and adds each of them."""

    def __init__(
        self,
        name: str,
        doc: str,
        registry: Registry[Code],
        add: Callable[[MultiRobotSimulationCore, Code, dict[str, Any], float | None], object],
        *,
        has_config: bool,
    ) -> None:
        self.name = name
        self.doc = doc
        self._registry = registry
        self._add = add
        self._has_config = has_config

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the list."""
        path = {"type": "string", "minLength": 1, "description": "A name, or a dotted path: package.module:Name."}
        rate = {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 1e6}, {"type": "null"}]}
        entry = {
            "type": "object",
            "required": ["type"],
            "properties": {"type": path, "frequency": rate},
            "additionalProperties": self._has_config,
        }
        return {"type": ["array", "null"], "description": self.doc, "items": {"anyOf": [path, entry]}}

    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError where an entry is wrong, or names what cannot be imported."""
        self._read(entry, source)

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Add all of it to `sim`; raises ConfigError, also for a plugin that cannot be made."""
        for index, (code, config, frequency) in enumerate(self._read(entry, source)):
            try:
                self._add(sim, code, config, frequency)
            except (FleetSimError, TypeError, ValueError) as error:
                raise ConfigError(str(error), source=source, path=f"{self.name}[{index}]") from error

    def _read(self, entry: Any, source: str) -> list[tuple[Code, dict[str, Any], float | None]]:
        if not isinstance(entry, (list, type(None))):
            raise ConfigError(f"must be a list of names or dotted paths, got {entry!r}", source=source, path=self.name)
        return [self._read_one(item, source, f"{self.name}[{index}]") for index, item in enumerate(entry or ())]

    def _read_one(self, item: Any, source: str, path: str) -> tuple[Code, dict[str, Any], float | None]:
        """Return code, its config and its rate in Hz from one entry; raises ConfigError with the key."""
        spec = {"type": item} if isinstance(item, str) else item
        if not isinstance(spec, Mapping) or not (isinstance(spec.get("type"), str) and spec["type"]):
            raise ConfigError(
                f"must be a name, a dotted path such as my_module:Name, or a mapping with `type`, got {item!r}",
                source=source,
                path=path,
            )
        # What is left is the code's own config, whose keys only it knows.
        rest = {key: value for key, value in spec.items() if key not in ("type", "frequency")}
        timing = {key: spec[key] for key in ("frequency",) if key in spec}
        # Without a config every other key is a mistake, and `read` says so.
        settings = read(CodeSettings, timing if self._has_config else {**timing, **rest}, source=source, path=path)
        try:
            return self._registry.find(spec["type"]), rest, settings.frequency
        except FleetSimError as error:
            raise ConfigError(str(error), source=source, path=f"{path}.type") from error


def _add_plugin(sim: MultiRobotSimulationCore, cls: Any, config: dict[str, Any], frequency: float | None) -> None:
    sim.register_plugin(cls, config, frequency)


def _add_callback(sim: MultiRobotSimulationCore, function: Any, _: dict[str, Any], frequency: float | None) -> None:
    sim.register_callback(function, frequency)


PLUGINS_SECTION = CodeSection(
    "plugins",
    "Plugins of the simulation: names, dotted paths, or mappings of `type`, `frequency` and the plugin's config.",
    SIM_PLUGINS,
    _add_plugin,
    has_config=True,
)
CALLBACKS_SECTION = CodeSection(
    "callbacks",
    "Functions called as f(sim, dt): names, dotted paths, or mappings of `type` and `frequency`.",
    CALLBACKS,
    _add_callback,
    has_config=False,
)
