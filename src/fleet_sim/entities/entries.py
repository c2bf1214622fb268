"""The robots and objects of a scenario file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.grid import GridSpawnParams
from fleet_sim.entities.sdf_models import params_of_world, read_world_file
from fleet_sim.entities.shape_params import Vector
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import AgentSpawnParams, Shapes, SimObjectSpawnParams, read_spawn_params
from fleet_sim.entities.spawning import remove, spawn_each, spawn_many
from fleet_sim.errors import ConfigError, FleetSimError, InvalidValueError
from fleet_sim.gate.bounds import LARGEST_EXTENT, MOST_ALIKE
from fleet_sim.settings import Checked, setting

Handle = TypeVar("Handle", bound=SimObject)


@dataclass
class GridEntry(Checked):
    """A grid of `count` equal entities, `columns` wide (null: as square as possible)."""

    count: int = setting(low=1, high=MOST_ALIKE, doc="How many.")
    columns: int | None = setting(None, low=1, high=MOST_ALIKE, doc="Cells along x.")
    spacing: Vector = setting(
        (1.0, 1.0, 0.0), low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="Between neighbours."
    )
    offset: Vector = setting(
        (0.0, 0.0, 0.0), low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="Of the first one."
    )


@dataclass
class ObjectEntry(SimObjectSpawnParams):
    """An object of a scenario, or a grid of them."""

    shape: Shapes = setting(None, doc="Visual and collision shape in one, or a list of them.")
    yaw: float = setting(0.0, unit="rad", doc="Heading, with a pose of three numbers.")
    grid: GridEntry | None = setting(None, doc="Spawn many; their names are <name>_<i>.")
    sdf: str | None = setting(
        None, doc="SDF or world file, whose models are spawned as <name>_<model>; only name, pose, yaw go with it."
    )
    skip_models: list[str] = setting(factory=list, doc="With sdf: names of models to leave out.")


def read_actions(value: object) -> list[dict[str, Any]]:
    """Return a list of mappings with a `type`; raises InvalidValueError. The actions are validated when made."""
    items = [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else [{}]
    whole = isinstance(value, (list, tuple)) and len(items) == len(value)
    if not whole or not all(isinstance(item.get("type"), str) for item in items):
        raise InvalidValueError(
            f"must be a list of actions, each a mapping with its type and parameters, got {value!r}"
        )
    return [dict(item) for item in items]


_ACTIONS_SCHEMA = {
    "type": "array",
    "items": {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]},
}


@dataclass
class RobotEntry(AgentSpawnParams):
    """A robot of a scenario, or a grid of them."""

    shape: Shapes = setting(None, doc="Visual and collision shape in one, or a list of them.")
    yaw: float = setting(0.0, unit="rad", doc="Heading, with a pose of three numbers.")
    grid: GridEntry | None = setting(None, doc="Spawn many; their names are <name>_<i>.")
    actions: list[Any] = setting(
        factory=list,
        reader=read_actions,
        schema=_ACTIONS_SCHEMA,
        doc="First actions, in order: mappings of type (move_to, pick, drop, wait, ...) and parameters.",
    )


ENTRIES: dict[str, tuple[type[SimObject], type[Any]]] = {
    "robots": (Agent, RobotEntry),
    "objects": (SimObject, ObjectEntry),
}
"""For each section of a scenario: the class of the handles, and the settings class of its entries."""


def spawn_scenario(world: World, config: Mapping[str, Any], *, source: str = "") -> None:
    """Spawn the robots, objects and sensors of a scenario; raises ConfigError naming the entry."""
    for section, (cls, _) in ENTRIES.items():
        spawn_entries(world, cls, config.get(section) or [], source=source, path=section)
    world.sensors.place(config.get("sensors"), source=source)


def spawn_entries(
    world: World, cls: type[Handle], entries: object, *, source: str = "", path: str = ""
) -> list[Handle]:
    """Spawn the entries of one section, in order; raises ConfigError naming the entry and then spawns none."""
    handles: list[Handle] = []
    # All entries are read before the first is spawned, so most errors come before anything is changed.
    for index, (entry, params) in enumerate(read_entries(entries, cls, source=source, path=path)):
        where = f"{path}[{index}]"
        try:
            handles += _spawn_entry(world, cls, entry, params)
            _add_actions(world, handles[-(entry.grid.count if entry.grid else 1) :], getattr(entry, "actions", ()))
        except FleetSimError as error:
            remove(world, np.array([handle.row for handle in handles], np.int64))
            located = ConfigError.of(error).within(where, source=source)
            raise ConfigError(f"{entry.name}: {located.message}", source=source, path=located.path) from error
    return handles


def _add_actions(world: World, handles: Sequence[SimObject], actions: Sequence[Mapping[str, Any]]) -> None:
    """Add separate copies of the actions to every robot; raises ConfigError naming the invalid action."""
    for index, action in enumerate(actions):
        params = {key: value for key, value in action.items() if key != "type"}
        for handle in handles:
            try:
                world.actions.add(handle.row, world.actions.parse(action["type"], params))
            except FleetSimError as error:
                raise ConfigError.of(error).within(f"actions[{index}]") from error


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
        _check_sdf_entry(entry, source, where)
        params = cls.params_class(**{field.name: getattr(entry, field.name) for field in fields(cls.params_class)})
        if entry.shape is not None:
            params.visual_shape = params.visual_shape or entry.shape
            params.collision_shape = params.collision_shape or entry.shape
        pairs.append((entry, params))
    return pairs


def _check_sdf_entry(entry: Any, source: str, where: str) -> None:
    """Raise ConfigError where an entry with `sdf` has settings that no model of the file would get."""
    if getattr(entry, "sdf", None) is None:
        if getattr(entry, "skip_models", None):
            raise ConfigError("goes with sdf, a file of several models", source=source, path=f"{where}.skip_models")
        return
    plain = ObjectEntry(name=entry.name, initial_pose=entry.initial_pose, sdf=entry.sdf, skip_models=entry.skip_models)
    for field in fields(ObjectEntry):
        if getattr(entry, field.name) != getattr(plain, field.name):
            raise ConfigError(
                "does not go with sdf: the models are as the file says; only name, pose, yaw and skip_models do",
                source=source,
                path=f"{where}.{field.name}",
            )


def _spawn_entry(world: World, cls: type[Handle], entry: Any, params: Any) -> list[Handle]:
    if getattr(entry, "sdf", None) is not None:
        found = read_world_file(entry.sdf, world.model_paths)
        models = params_of_world(
            found, pose=params.initial_pose, prefix=f"{entry.name}_", skip_models=entry.skip_models
        )
        return spawn_each(world, None, models)
    turn = np.array(params.initial_pose.orientation)
    if entry.grid is None:
        return spawn_many(world, cls, params, np.array([params.initial_pose.position]), turn[None], [entry.name])
    grid = GridSpawnParams.from_count(entry.grid.count, entry.grid.columns, entry.grid.spacing, entry.grid.offset)
    points = grid.positions(np.arange(entry.grid.count)) + np.array(params.initial_pose.position)
    names = [f"{entry.name}_{index}" for index in range(len(points))]
    return spawn_many(world, cls, params, points, np.tile(turn, (len(points), 1)), names)
