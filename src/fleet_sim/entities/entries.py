"""The robots and objects of a scenario file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from fleet_sim.arrays import NO_ROWS, Floats, Rows
from fleet_sim.config.scenario import open_sections, prepare_sections
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.grid import GridSpawnParams
from fleet_sim.entities.scenario_host import ScenarioHost
from fleet_sim.entities.sdf_models import params_of_world, read_world_file
from fleet_sim.entities.shape_params import Vector
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import AgentSpawnParams, Shapes, SimObjectSpawnParams, read_spawn_params
from fleet_sim.entities.spawning import Spawned, remove, spawn_each_row, spawn_rows
from fleet_sim.errors import ConfigError, FleetSimError, InvalidValueError
from fleet_sim.gate.bounds import LARGEST_EXTENT, MOST_ALIKE
from fleet_sim.gate.remote import own_files
from fleet_sim.geometry.pose import TURN
from fleet_sim.paths import beside, cache_folder
from fleet_sim.settings import Checked, setting
from fleet_sim.spatial import quaternions

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
class PlacesEntry(Checked):
    """Places of the scenario's site."""

    site: str = setting(doc="free: cells drawn at random; starts; a kind of station, such as charge; or a station.")
    count: int | None = setting(None, low=1, high=MOST_ALIKE, doc="How many; null: one free cell, all of the others.")
    seed: int = setting(0, low=0, doc="Which free cells are drawn.")
    clearance: float = setting(0.0, low=0, high=1e4, unit="m", doc="Distance of free cells to walls.")


@dataclass
class Arrangement(Checked):
    """What the entry of a scenario says beyond spawn parameters: a shape in short, and where there are several."""

    shape: Shapes = setting(None, doc="Visual and collision shape in one, or a list of them.")
    yaw: float = setting(0.0, low=-TURN, high=TURN, unit="rad", doc="Heading, with a pose of three numbers.")
    grid: GridEntry | None = setting(None, doc="Spawn many; their names are <name>_<i>.")
    at: PlacesEntry | None = setting(
        None, doc="Spawn on places of the site; if there may be several, their names are <name>_<i>."
    )


# Settings are listed base by base from the right: spawn parameters first, in schemas and in errors.
@dataclass
class ObjectEntry(Arrangement, SimObjectSpawnParams):
    """An object of a scenario, or a grid of them."""

    sdf: str | None = setting(
        None, doc="SDF or world file, whose models are spawned as <name>_<model>; only name, pose, yaw go with it."
    )
    skip_models: list[str] = setting(factory=list, doc="With sdf: names of models to leave out.")


def read_actions(value: object) -> list[dict[str, Any]]:
    """Return a list of mappings with a `type`; raises InvalidValueError. The actions are validated when made."""
    # Anything but a list fails the check below, with one message for all mistakes.
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
class RobotEntry(Arrangement, AgentSpawnParams):
    """A robot of a scenario, or a grid of them."""

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


def fill_scenario(sim: ScenarioHost, config: Mapping[str, Any], *, source: str = "") -> None:
    """Put into the new simulation `sim` all that a scenario describes; raises ConfigError naming the entry.

    The one way to do so, whoever loads it: a second one would accept other scenarios, or make others of them.
    """
    sim.population.scenario = config
    prepare_sections(sim, config, source=source)
    # Sections first say what they need, such as a site whose places entries name; they open when robots are there.
    spawn_scenario(sim.world, config, source=source)
    open_sections(sim, config, source=source)
    sim.origin.tell(config, source)


def spawn_scenario(world: World, config: Mapping[str, Any], *, source: str = "") -> None:
    """Spawn the robots, objects and sensors of a scenario; raises ConfigError naming the entry."""
    for section, (cls, _) in ENTRIES.items():
        # A section may be left empty, which is null in YAML.
        entries = config.get(section)
        spawn_entry_rows(world, cls, [] if entries is None else entries, source=source, path=section)
    world.sensors.place(config.get("sensors"), source=source)


def spawn_entries(
    world: World, cls: type[Handle], entries: object, *, source: str = "", path: str = ""
) -> list[Handle]:
    """Spawn the entries of one section, in order; raises ConfigError naming the entry and then spawns none."""
    spawned = _spawn_entries(world, cls, entries, source, path)
    return [handle for part in spawned for handle in part.handles(world)]


def spawn_entry_rows(world: World, cls: type[SimObject], entries: object, *, source: str = "", path: str = "") -> Rows:
    """Spawn as `spawn_entries` does, and return the rows: handles are made where somebody asks for them."""
    spawned = _spawn_entries(world, cls, entries, source, path)
    return np.concatenate([NO_ROWS, *(part.rows for part in spawned)])


def _spawn_entries(world: World, cls: type[SimObject], entries: object, source: str, path: str) -> list[Spawned]:
    """Spawn entries in their order; on an error all are removed again, and ConfigError names the entry."""
    done: list[Spawned] = []
    # All entries are read before the first is spawned, so most errors come before anything is changed.
    for index, (entry, params) in enumerate(read_entries(entries, cls, source=source, path=path)):
        where = f"{path}[{index}]"
        try:
            spawned = _spawn_entry(world, cls, entry, params)
            # Noted before its actions are read: a wrong action takes the robot away again, too.
            done.append(spawned)
            _add_actions(world, spawned.rows, getattr(entry, "actions", ()))
        except FleetSimError as error:
            remove(world, np.concatenate([NO_ROWS, *(part.rows for part in done)]))
            located = ConfigError.of(error).within(where, source=source)
            raise ConfigError(f"{entry.name}: {located.message}", source=source, path=located.path) from error
    return done


def _add_actions(world: World, rows: Rows, actions: Sequence[Mapping[str, Any]]) -> None:
    """Add separate copies of the actions to every robot; raises ConfigError naming the invalid action."""
    for index, action in enumerate(actions):
        params = {key: value for key, value in action.items() if key != "type"}
        for row in rows.tolist():
            try:
                # Parsed anew for each robot: an action serves one robot only.
                world.actions.add(row, world.actions.parse(action["type"], params))
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
        # After reading, as only then all ways to write an entry look the same.
        _check_sdf_entry(entry, source, where)
        _look_beside(entry, source)
        params = cls.params_class(**{field.name: getattr(entry, field.name) for field in fields(cls.params_class)})
        if entry.shape is not None:
            # `shape` is short for both; what is given beside it wins.
            params.visual_shape = params.visual_shape or entry.shape
            params.collision_shape = params.collision_shape or entry.shape
        pairs.append((entry, params))
    return pairs


def _look_beside(entry: Any, source: str) -> None:
    """Let the files that an entry names be those in the folder of its scenario, where there are such files."""
    shapes = [entry.shape, entry.visual_shape, entry.collision_shape]
    owners = [entry, *(part for shape in shapes for part in (shape if isinstance(shape, list) else [shape]))]
    for owner in owners:
        for key in ("urdf_path", "sdf", "mesh_path", "height_image"):
            given = getattr(owner, key, None)
            # A name without a file beside the scenario is that of a known model, and stays.
            if isinstance(given, str) and (found := beside(source, given)) != given:
                setattr(owner, key, found)


def _check_sdf_entry(entry: Any, source: str, where: str) -> None:
    """Raise ConfigError where an entry with `sdf` has settings that no model of the file would get."""
    if getattr(entry, "sdf", None) is None:
        if getattr(entry, "skip_models", None):
            raise ConfigError("needs sdf, a file of several models", source=source, path=f"{where}.skip_models")
        return
    # Compared with an entry that has only what is allowed: a setting that is added later is refused by itself.
    plain = ObjectEntry(name=entry.name, initial_pose=entry.initial_pose, sdf=entry.sdf, skip_models=entry.skip_models)
    for field in fields(ObjectEntry):
        if getattr(entry, field.name) != getattr(plain, field.name):
            raise ConfigError(
                "cannot be combined with sdf: its models are as in the file; only name, pose, yaw and skip_models can",
                source=source,
                path=f"{where}.{field.name}",
            )


def _spawn_entry(world: World, cls: type[SimObject], entry: Any, params: Any) -> Spawned:
    """Spawn one entry: the models of an SDF world, entities at stations, one, or a grid of them."""
    if getattr(entry, "sdf", None) is not None:
        found = read_world_file(entry.sdf, world)
        models = params_of_world(
            found, pose=params.initial_pose, prefix=f"{entry.name}_", skip_models=entry.skip_models
        )
        # The models were written to the cache as descriptions of their own, which no message could name.
        with own_files(cache_folder("models")):
            return spawn_each_row(world, None, models)
    if entry.at is not None:
        return _spawn_at(world, cls, entry, params)
    # A pose of a grid is that of its first cell.
    orientation = np.array(params.initial_pose.orientation)
    if entry.grid is None:
        return spawn_rows(world, cls, params, np.array([params.initial_pose.position]), orientation[None], [entry.name])
    grid = GridSpawnParams.from_count(entry.grid.count, entry.grid.columns, entry.grid.spacing, entry.grid.offset)
    points = grid.positions(np.arange(entry.grid.count)) + np.array(params.initial_pose.position)
    names = [f"{entry.name}_{index}" for index in range(len(points))]
    return spawn_rows(world, cls, params, points, np.tile(orientation, (len(points), 1)), names)


def _spawn_at(world: World, cls: type[SimObject], entry: Any, params: Any) -> Spawned:
    """Spawn an entry at places of the site; its pose adds the height and a turn."""
    pose, at = params.initial_pose, entry.at
    if entry.grid is not None or pose.position[0] or pose.position[1]:
        raise ConfigError("give one of pose, grid and at: they say where it starts in different ways", path="at")
    try:
        places, headings = world.places.source("site").places(at.site, at.count, seed=at.seed, clearance=at.clearance)
    except FleetSimError as error:
        raise ConfigError.of(error).within("at") from error
    points = np.column_stack((places, np.full(len(places), pose.position[2])))
    # Robots only: objects may lie on each other, and two robots in one place would never part.
    if isinstance(params, AgentSpawnParams):
        _check_vacant(world, points)
    orientations = quaternions.multiply(quaternions.from_yaws(headings), np.tile(pose.orientation, (len(points), 1)))
    alone = at.count is None and len(points) == 1
    # A `count` of 1 is numbered too: a script that changes the count finds the same names.
    names = [entry.name] if alone else [f"{entry.name}_{index}" for index in range(len(points))]
    return spawn_rows(world, cls, params, points, orientations, names)


# Exactly the same point: robots that are only near to each other are told apart by collisions.
def _check_vacant(world: World, points: Floats) -> None:
    """Raise ConfigError where a robot would start at the very point where another one stands."""
    robots = world.rows[world.kind[world.rows] == KIND_AGENT]
    taken = {tuple(point) for point in world.position[robots].tolist()}
    for point in points.tolist():
        if tuple(point) in taken:
            raise ConfigError(f"a robot stands at ({point[0]:g}, {point[1]:g}) already; give another place", path="at")
