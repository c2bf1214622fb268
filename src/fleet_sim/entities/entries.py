"""The robots and objects of a scenario file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.grid import GridSpawnParams
from fleet_sim.entities.shape_params import ShapeParams, Vector
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import AgentSpawnParams, SimObjectSpawnParams, read_spawn_params
from fleet_sim.entities.spawning import spawn_many
from fleet_sim.errors import ConfigError, FleetSimError
from fleet_sim.settings import Checked, setting

Handle = TypeVar("Handle", bound=SimObject)


@dataclass
class GridEntry(Checked):
    """Many alike on a grid: `count` of them, `columns` wide (null: as square as possible)."""

    count: int = setting(low=1, doc="How many.")
    columns: int | None = setting(None, low=1, doc="Cells along x.")
    spacing: Vector = setting((1.0, 1.0, 0.0), unit="m", doc="Between neighbours.")
    offset: Vector = setting((0.0, 0.0, 0.0), unit="m", doc="Of the first one.")


@dataclass
class ObjectEntry(SimObjectSpawnParams):
    """An object of a scenario, or a grid of them."""

    shape: ShapeParams | None = setting(None, doc="Visual and collision shape in one.")
    yaw: float = setting(0.0, unit="rad", doc="Heading, with a pose of three numbers.")
    grid: GridEntry | None = setting(None, doc="Spawn many; their names are <name>_<i>.")


@dataclass
class RobotEntry(AgentSpawnParams):
    """A robot of a scenario, or a grid of them."""

    shape: ShapeParams | None = setting(None, doc="Visual and collision shape in one.")
    yaw: float = setting(0.0, unit="rad", doc="Heading, with a pose of three numbers.")
    grid: GridEntry | None = setting(None, doc="Spawn many; their names are <name>_<i>.")


ENTRIES: dict[str, tuple[type[SimObject], type[Any]]] = {
    "robots": (Agent, RobotEntry),
    "objects": (SimObject, ObjectEntry),
}
"""What the entries of each section of a scenario are: the handles they become, and what may be written."""


def spawn_scenario(world: World, config: Mapping[str, Any], *, source: str = "") -> None:
    """Spawn the robots and objects of a scenario; raises ConfigError naming the entry."""
    for section, (cls, _) in ENTRIES.items():
        spawn_entries(world, cls, config.get(section) or [], source=source, path=section)


def spawn_entries(
    world: World, cls: type[Handle], entries: object, *, source: str = "", path: str = ""
) -> list[Handle]:
    """Spawn the entries of one section, in order; raises ConfigError naming the entry."""
    handles: list[Handle] = []
    for entry, params in read_entries(entries, cls, source=source, path=path):
        try:
            handles += _spawn_entry(world, cls, entry, params)
        except FleetSimError as error:
            where = f"{path}[{len(handles)}]" if entry.grid is None else path
            raise ConfigError(f"{entry.name}: {error}", source=source, path=where) from error
    return handles


def read_entries(entries: object, cls: type[SimObject], *, source: str, path: str) -> list[tuple[Any, Any]]:
    """Read a section's list as (entry, spawn params) pairs; raises ConfigError."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise ConfigError(f"must be a list of entries, got {entries!r}", source=source, path=path)
    kind = RobotEntry if issubclass(cls, Agent) else ObjectEntry
    pairs = []
    for index, item in enumerate(entries):
        where = f"{path}[{index}]"
        if not isinstance(item, Mapping):
            raise ConfigError(f"must be a mapping, got {item!r}", source=source, path=where)
        entry = read_spawn_params(kind, item, source, where)
        params = cls.params_class(**{field.name: getattr(entry, field.name) for field in fields(cls.params_class)})
        if entry.shape is not None:
            params.visual_shape = params.visual_shape or entry.shape
            params.collision_shape = params.collision_shape or entry.shape
        pairs.append((entry, params))
    return pairs


def _spawn_entry(world: World, cls: type[Handle], entry: Any, params: Any) -> list[Handle]:
    turn = np.array(params.initial_pose.orientation)
    if entry.grid is None:
        return spawn_many(world, cls, params, np.array([params.initial_pose.position]), turn[None], [entry.name])
    grid = GridSpawnParams.from_count(entry.grid.count, entry.grid.columns, entry.grid.spacing, entry.grid.offset)
    points = grid.positions(np.arange(entry.grid.count)) + np.array(params.initial_pose.position)
    names = [f"{entry.name}_{index}" for index in range(len(points))]
    return spawn_many(world, cls, params, points, np.tile(turn, (len(points), 1)), names)
