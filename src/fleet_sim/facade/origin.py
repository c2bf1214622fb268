"""Origin: what a simulation was built from, so that another process can build it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fleet_sim.config.params import SimulationParams
from fleet_sim.config.scenario import is_scenario
from fleet_sim.errors import StateFileError
from fleet_sim.settings.fields import fields_of
from fleet_sim.settings.schema import plain

OUTWARD = frozenset(
    (
        *("target_rtf", "duration", "max_steps_per_frame", "max_sleep_frames", "gui", "gui_min_fps", "window_width"),
        *("window_height", "camera_config", "monitor", "enable_monitor_gui", "monitor_width", "monitor_height"),
        *("monitor_x", "monitor_y", "log_level", "enable_time_profiling", "profiling_interval", "enable_shadows"),
        *("enable_memory_profiling", "enable_collision_shapes", "enable_structure_transparency", "enable_gui_panel"),
    )
)
"""Settings of a simulation that change nothing in its run: a state may be loaded with others."""


@dataclass
class Origin:
    """The scenario that a simulation was built from, with its file; for one that was built in code, its settings."""

    scenario: Mapping[str, Any]
    source: str = ""

    @classmethod
    def of(cls, params: SimulationParams) -> Origin:
        """Return the origin of a simulation that was built in code from `params`: a scenario without sections."""
        defaults = SimulationParams()
        values = {field.name: plain(getattr(params, field.name)) for field in fields(SimulationParams)}
        return cls({name: value for name, value in values.items() if value != plain(getattr(defaults, name))})

    def tell(self, scenario: Mapping[str, Any], source: str) -> None:
        """Note that the simulation was filled from `scenario`."""
        self.scenario, self.source = scenario, source

    def header(self) -> dict[str, Any]:
        """Return the scenario for a file; raises StateFileError where it is no plain data."""
        return {
            "scenario": _plain(self.scenario, "scenario"),
            "source": self.source and str(Path(self.source).absolute()),
        }

    def check(self, content: Mapping[str, Any]) -> None:
        """Raise StateFileError unless a file is of this scenario."""
        given, own = content.get("scenario"), self.header()["scenario"]
        if not isinstance(given, Mapping):
            raise StateFileError("it has no scenario")
        mine, other = _run_of(own), _run_of(given)
        names = sorted(name for name in {*mine, *other} if mine.get(name) != other.get(name))
        if names:
            shown, source = ", ".join(map(str, names[:8])), content.get("source") or "made in code"
            raise StateFileError(f"it is of another scenario ({source}), which differs in: {shown}")


def with_settings(scenario: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario with `settings` of its simulation in place of its own."""
    if not is_scenario(scenario):
        return {**scenario, **settings}
    return {**scenario, "simulation": {**(scenario.get("simulation") or {}), **settings}}


def live_settings(params: SimulationParams) -> dict[str, Any]:
    """Return the settings of a run that may be changed while it lasts, as they are."""
    names = [name for name, field in fields_of(SimulationParams).items() if field.rules.live and name not in OUTWARD]
    return {name: plain(getattr(params, name)) for name in names}


def take_settings(params: SimulationParams, saved: Mapping[str, Any]) -> None:
    """Set what `live_settings` returned; raises ConfigError for a value that is not allowed."""
    for name, value in live_settings(params).items():
        # Only what differs: some settings act when they are set.
        if name in saved and saved[name] != value:
            setattr(params, name, saved[name])


def _run_of(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return sections and settings of a scenario that its run depends on, each by name."""
    if not is_scenario(scenario):
        scenario = {"simulation": scenario}
    settings = scenario.get("simulation") or {}
    rest = {name: section for name, section in scenario.items() if name != "simulation"}
    return rest | {f"simulation.{name}": value for name, value in settings.items() if name not in OUTWARD}


def _plain(value: Any, where: str) -> Any:
    """Return `value` as JSON has it."""
    if isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise StateFileError(f"{where}: the key {wrong!r} is not a text")
        return {key: _plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Path):
        return str(value)
    # There and back, so that it compares equal to what is read from a file.
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as error:
        raise StateFileError(
            f"{where}: an object of {type(value).__qualname__} cannot be saved; write the scenario as in a file"
        ) from error
