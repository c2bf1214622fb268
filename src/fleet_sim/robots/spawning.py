"""Spawns and removes entities; many equal ones are spawned with one write per column."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from operator import is_
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Floats, Ints, Rows, as_floats
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError
from fleet_sim.base.files import beside
from fleet_sim.base.geometry import TURN, Pose, pose_arrays
from fleet_sim.base.limits import LARGEST_EXTENT, MOST_ALIKE, check_extent
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.request_budget import ENTITIES, Work, is_from_outside
from fleet_sim.base.scenario import open_sections, prepare_sections
from fleet_sim.base.settings import Checked, read, setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.sdf_models import params_of_world, read_world_file
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import (
    AgentSpawnParams,
    ShapeParams,
    Shapes,
    SimObjectSpawnParams,
    Vector,
    read_spawn_params,
)
from fleet_sim.robots.template import Template, make_template, model_of
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.world import World

# The templates of a world, found again for params that say the same. Checking params costs more than writing rows,
# and programs that spawn one by one give the same params again and again.


_LIMIT = 64

# Weak, so that a world is gone when its simulation is.
_KNOWN: WeakKeyDictionary[World, dict[Hashable, Template]] = WeakKeyDictionary()


Said = tuple[tuple[Hashable, ...], bool]
"""What params say but pose and name: a key that is equal where that is the same, and whether all of it was compared by
value. What counts by identity may change and stay the same object; then the key is for as long as the params live."""


def template_for(world: World, params: SimObjectSpawnParams, said: Said | None = None) -> Template:
    """Return the template of `params`, see `make_template`; those that say the same share it. `said` is `said_by`."""
    said_key, by_value = said_by(all_but_place(params)) if said is None else said
    # Each time, as it looks whether the file may be read and has changed.
    model = model_of(world, params)
    if not by_value or not _says_all(params):
        return make_template(world, params, model)
    known, key = _KNOWN.setdefault(world, {}), (id(model), said_key)
    template = known.get(key)
    if template is None:
        if len(known) >= _LIMIT:
            known.clear()
        template = known[key] = make_template(world, params, model)
    return template


def all_but_place(params: SimObjectSpawnParams) -> tuple[object, ...]:
    """Return the class of `params` and their values but pose and name, in order."""
    values = vars(params).copy()
    values.pop("name", None)
    values.pop("initial_pose", None)
    return type(params), *values.values()


def said_by(values: tuple[object, ...]) -> Said:
    """Return what params say whose class and values are `values`, see `all_but_place`.

    Values that cannot be compared are equal only to themselves.
    """
    by_identity: list[Any] = []
    cls, *others = values
    key = (cls, *[value if isinstance(value, _PLAIN) else _content(value, by_identity) for value in others])
    return key, not by_identity


def _says_all(params: SimObjectSpawnParams) -> bool:
    """Return whether the template follows from the params, the model and what a world never changes."""
    if params.user_data or params.features:
        return False
    # The file of a mesh or picture may have changed; that of a description is looked at each time. Lists are never
    # compared.
    shapes = (params.visual_shape, params.collision_shape)
    if any(isinstance(shape, ShapeParams) and (shape.mesh_path or shape.height_image) for shape in shapes):
        return False
    if not isinstance(params, AgentSpawnParams):
        return True
    # Classes behind names may be registered anew, and instances belong to one robot.
    return not (params.controller or params.plugins or params.sensors)


_PLAIN = (type(None), bool, int, float, str, Pose)


def _content(value: Any, by_identity: list[Any]) -> Hashable:
    """Return what tells whether two values make the same template; equal contents give equal results.

    Values that cannot be compared cheaply, such as arrays and callables, count by identity, and are added to
    `by_identity`.
    """
    if isinstance(value, Checked):
        entries = vars(value).values()
        return type(value), *(entry if isinstance(entry, _PLAIN) else _content(entry, by_identity) for entry in entries)
    if isinstance(value, dict) and all(isinstance(entry, Checked) for entry in value.values()):
        return tuple((key, _content(entry, by_identity)) for key, entry in value.items())
    if isinstance(value, tuple) and all(isinstance(entry, _PLAIN) for entry in value):
        return value
    by_identity.append(value)
    return "is", id(value)


Handle = TypeVar("Handle", bound=SimObject)
SPAWNED = ("object_spawned", "agent_spawned")
"""The events of spawning."""
_REMOVED = ("object_removed", "agent_removed")


class EntityRun(NamedTuple):
    """A run of consecutive entities spawned from one template."""

    template: Template
    cls: type[SimObject]
    size: int


class Spawned(NamedTuple):
    """What was spawned: its rows (N,), and its handles if code of users was given them, and may have removed some."""

    rows: Rows
    known: list[Any] | None

    def handles(self, world: World) -> list[Any]:
        """Return the handles, also of those that were removed since."""
        return world.handles.of(self.rows) if self.known is None else self.known


def spawn_many(
    world: World,
    cls: type[Handle],
    params: SimObjectSpawnParams,
    positions: Floats,
    orientations: Floats,
    names: Sequence[str | None] | None = None,
) -> list[Handle]:
    """Spawn one entity of type `cls` per pose: `positions` (N, 3), `orientations` (N, 4); returns their handles.

    They differ only in pose and name. On InvalidValueError or DuplicateNameError the world is not changed.
    """
    return spawn_rows(world, cls, params, positions, orientations, names).handles(world)


def spawn_rows(
    world: World,
    cls: type[SimObject],
    params: SimObjectSpawnParams,
    positions: Floats,
    orientations: Floats,
    names: Sequence[str | None] | None = None,
) -> Spawned:
    """Spawn as `spawn_many` does; handles are made where somebody asks for them."""
    points = as_floats(positions, (None, 3), "positions")
    turns = quaternions.normalized(as_floats(orientations, (len(points), 4), "orientations"))
    return _spawn_groups(world, cls, [(params, len(points))], points, turns, names)


def spawn_groups(
    world: World,
    cls: type[Handle],
    groups: Sequence[tuple[SimObjectSpawnParams, int]],
    positions: Floats,
    orientations: Floats,
    names: Sequence[str | None] | None = None,
) -> list[Handle]:
    """Spawn groups of equal entities, in order along the poses (N, 3) and (N, 4); on any error none is spawned."""
    return _spawn_groups(world, cls, groups, positions, orientations, names).handles(world)


def _spawn_groups(
    world: World,
    cls: type[SimObject],
    groups: Sequence[tuple[SimObjectSpawnParams, int]],
    positions: Floats,
    orientations: Floats,
    names: Sequence[str | None] | None,
) -> Spawned:
    """Spawn each group's `count` entities of one kind, at `positions` (N, 3) in m and `orientations` (N, 4) xyzw.

    Raises InvalidValueError if the class cannot have such params, or for a wrong number of names.
    """
    for params, _ in groups:
        check_params(cls, params)
    given = [None] * len(positions) if names is None else names
    if len(given) != len(positions):
        raise InvalidValueError(f"names: expected one per pose ({len(positions)}), got {len(given)}")
    runs = [EntityRun(template_for(world, params), cls, count) for params, count in groups]
    return _spawn(world, runs, positions, orientations, given)


def spawn_each(world: World, cls: type[Handle] | None, params_list: Sequence[SimObjectSpawnParams]) -> list[Handle]:
    """Spawn one entity per entry, each at its `initial_pose` with its `name`; all or, on any error, none.

    Without `cls` it is an Agent where the params are AgentSpawnParams, else a SimObject.
    """
    return spawn_each_row(world, cls, params_list).handles(world)


def spawn_each_row(world: World, cls: type[SimObject] | None, params_list: Sequence[SimObjectSpawnParams]) -> Spawned:
    """Spawn as `spawn_each` does; handles are made where somebody asks for them."""
    runs: list[EntityRun] = []
    templates: dict[Hashable, Template] = {}
    last: Sequence[object] = ()
    for params in params_list:
        kind = class_for(params) if cls is None else cls
        check_params(kind, params)
        values = all_but_place(params)
        # A copy with another name and pose: it holds the very same values.
        if runs and all(map(is_, values, last)):
            runs[-1] = runs[-1]._replace(size=runs[-1].size + 1)
            continue
        last = values
        said = said_by(values)
        # Checking params costs more than writing rows, so equal ones are checked once.
        template = templates.get(said[0])
        if template is None:
            template = templates[said[0]] = template_for(world, params, said)
        if runs and runs[-1].template is template:
            runs[-1] = runs[-1]._replace(size=runs[-1].size + 1)
        else:
            runs.append(EntityRun(template, kind, 1))
    # The pose and the name are the only settings that are not part of the template.
    positions, orientations = pose_arrays([params.initial_pose for params in params_list])
    return _spawn(world, runs, positions, orientations, [params.name for params in params_list])


def class_for(params: object) -> type[SimObject]:
    """Return the class spawned from `params`; raises InvalidValueError for anything that is not spawn params."""
    if isinstance(params, AgentSpawnParams):
        return Agent
    if isinstance(params, SimObjectSpawnParams):
        return SimObject
    raise InvalidValueError(f"expected SimObjectSpawnParams or AgentSpawnParams, got {params!r}")


def check_params(cls: type[SimObject], params: object) -> None:
    """Raise InvalidValueError unless `params` are what `cls` is spawned from."""
    if not isinstance(params, cls.params_class):
        raise InvalidValueError(f"{cls.__name__} is spawned from {cls.params_class.__name__}, got {params!r}")


def _spawn(
    world: World, runs: Sequence[EntityRun], positions: Floats, orientations: Floats, names: Sequence[str | None]
) -> Spawned:
    """Spawn all runs, in the order of `positions` (N, 3) in m and `orientations` (N, 4) xyzw; after an error, none."""
    check_extent(positions, world.extent, "pose")
    if is_from_outside():
        _charge(world, runs, positions)
    _use_features(world, runs, names)
    # Names are checked here and params before. Sensors and plugins may still fail: then the rows are freed again.
    rows = world.allocate(names)
    ends = list(accumulate(run.size for run in runs))
    spans = [(run, slice(end - run.size, end)) for run, end in zip(runs, ends, strict=True)]
    for run, span in spans:
        run.template.write(world, rows[span])
        world.handles.prepare(rows[span], run.cls)
    world.position[rows] = positions
    world.orientation[rows] = orientations
    # With columns and handles complete, as listeners may use both.
    world.announce(rows)
    told = any(map(world.events.has_handlers, SPAWNED)) or any(map(_has_python_parts, runs))
    # All of them before any code of users runs, as that may remove some.
    handles = world.handles.of(rows) if told else None
    try:
        for run, span in spans:
            if run.template.sensors:
                world.sensors.mount(rows[span], run.template.sensors)
        for run, span in spans:
            if run.template.features:
                world.features.enter(run.template.features, rows[span])
        if handles is not None:
            for run, span in spans:
                _add_python_parts(world, run, handles[span])
    except BaseException:
        # All or none: a sensor that does not fit, a feature that refuses its robot, or the constructor of a plugin ends
        # the lives that have just begun.
        world.release(rows)
        raise
    # Last: handlers see entities with all their parts.
    if handles is not None:
        emit_spawned(world, handles)
    return Spawned(rows, handles)


JOINTS = Work("joints of robots", 20_000, 200_000)
TOUCHING = Work("pairs of bodies that touch", 100_000)
"""Each is looked at in every check of collisions: bodies inside each other make as many as their number squared."""
_LOOKS, _AT_ONCE = 5_000_000, 200_000
"""Pairs that are near along one axis, in all and at a time; of more, each is taken for a pair that touches."""


def _charge(world: World, runs: Sequence[EntityRun], positions: Floats) -> None:
    """Count the joints of what comes in, and what it touches by its boxes, as if nothing were turned."""
    plans = [(run.size, run.template.robot) for run in runs]
    JOINTS.charge(sum(size * len(plan.positions) for size, plan in plans if plan is not None), world.joints.used)
    columns = [run.template.columns.get("body", {}) for run in runs]
    sizes = [run.size for run in runs]
    halves = np.repeat([np.broadcast_to(one.get("half_extents", 0.0), 3) for one in columns], sizes, axis=0)
    modes = np.repeat([one.get("collision_mode", 0) for one in columns], sizes)
    moves_mask = (modes != CollisionMode.STATIC.code) & (modes != CollisionMode.DISABLED.code)
    there = world.rows[world.collision_mode[world.rows] != CollisionMode.DISABLED.code]
    centres = np.concatenate([positions[moves_mask], world.position[there]])
    halves = np.concatenate([halves[moves_mask], world.half_extents[there]])
    TOUCHING.charge(_touching(centres - halves, centres + halves, int(moves_mask.sum())))


def _touching(lower: Floats, upper: Floats, new: int) -> int:
    """Return how many pairs of boxes (N, 3) overlap, one of which is of the first `new`; more, if too many are near."""
    if not new:
        return 0
    axis = int(np.argmax(lower.std(axis=0)))
    order = np.argsort(lower[:, axis], kind="stable")
    lower, upper, new_mask = lower[order], upper[order], order < new
    # Of two, the one that begins first along the axis looks at the other: a new one at all, the others at new ones.
    ends = np.searchsorted(lower[:, axis], upper[:, axis], side="right")
    places, all_of_them = np.flatnonzero(new_mask), np.arange(len(order))
    before = np.flatnonzero(~new_mask)
    looks = [
        (places, all_of_them, places + 1, ends[places]),
        (before, places, np.searchsorted(places, before), np.searchsorted(places, ends[before])),
    ]
    near = sum(int((end - begin).sum()) for _, _, begin, end in looks)
    return near if near > _LOOKS else sum(_overlaps(lower, upper, *one) for one in looks)


def _overlaps(lower: Floats, upper: Floats, boxes: Ints, others: Ints, begin: Ints, end: Ints) -> int:
    """Return how many of `others[begin:end]` the boxes overlap, each with a part of its own."""
    counts, found = end - begin, 0
    parts = np.searchsorted(np.cumsum(counts), np.arange(_AT_ONCE, counts.sum() + _AT_ONCE, _AT_ONCE)).tolist()
    for first, last in zip([0, *parts], [*parts, len(boxes)], strict=True):
        many = counts[first:last]
        one = np.repeat(boxes[first:last], many)
        shift = np.repeat(begin[first:last] - np.cumsum(many) + many, many)
        other = others[np.arange(len(one)) + shift]
        found += int(((lower[other] <= upper[one]) & (lower[one] <= upper[other])).all(axis=1).sum())
    return found


def _has_python_parts(run: EntityRun) -> bool:
    return run.template.has_python_parts or run.cls.update is not SimObject.update


def _use_features(world: World, runs: Sequence[EntityRun], names: Sequence[str | None]) -> None:
    """Start to use the features of the entities to spawn."""
    features = dict.fromkeys(name for run in runs for name in run.template.features)
    if features:
        # A feature stays in use, so everything that can be rejected is rejected before.
        world.index.check_new(names)
    for name in features:
        world.features.use(name)


def _add_python_parts(world: World, run: EntityRun, handles: Sequence[SimObject]) -> None:
    """Add the Python parts of the template of a run to its entities."""
    if not _has_python_parts(run):
        return
    template, own_update = run.template, run.cls.update is not SimObject.update
    for handle in handles:
        if template.user_data:
            handle.user_data.update(template.user_data)
        if own_update:
            world.hooks.set_update(handle.row, handle.update)
        if isinstance(handle, Agent):
            world.hooks.set_controllers(handle.row, template.make_controllers())
            for plugin, config in template.plugins:
                handle.add_plugin(plugin, config)


def emit_spawned(world: World, handles: Sequence[SimObject]) -> None:
    """Emit the spawn events of the entities of `handles`."""
    events = world.events
    if events.has_handlers("object_spawned"):
        for handle in handles:
            events.emit("object_spawned", obj=handle)
    if events.has_handlers("agent_spawned"):
        for handle in handles:
            if isinstance(handle, Agent):
                events.emit("agent_spawned", agent=handle)


def remove(world: World, rows: Rows) -> None:
    """Remove the entities in `rows`; carried entities are detached, events are emitted while handles are valid.

    A row given twice counts once.
    """
    # In the given order, in which events are emitted; np.unique would sort them.
    rows = np.array(list(dict.fromkeys(rows.tolist())), np.int64)
    events = world.events
    if any(map(events.has_handlers, _REMOVED)):
        generations = world.generation[rows]
        for row, generation in zip(rows.tolist(), generations.tolist(), strict=True):
            # A handler may have removed others of these entities.
            if world.alive[row] and world.generation[row] == generation:
                handle = world.handles[row]
                events.emit("object_removed", obj=handle)
                if isinstance(handle, Agent):
                    events.emit("agent_removed", agent=handle)
        rows = rows[world.generation[rows] == generations]
    world.release(rows[world.alive[rows]])


# Grids of spawn positions.


@dataclass(slots=True)
class GridSpawnParams:
    """Cells with integer coordinates from `*_min` to `*_max`, both included.

    A cell is at `offset + spacing * coordinates`, in m.
    """

    x_min: int
    x_max: int
    y_min: int
    y_max: int
    spacing: Sequence[float]
    offset: Sequence[float]
    z_min: int = 0
    z_max: int = 0

    def __post_init__(self) -> None:
        self.spacing = as_floats(self.spacing, (3,), "grid spacing in m").tolist()
        self.offset = as_floats(self.offset, (3,), "grid offset in m").tolist()
        for axis in "xyz":
            low, high = getattr(self, f"{axis}_min"), getattr(self, f"{axis}_max")
            if not isinstance(low, int) or not isinstance(high, int) or low > high:
                raise InvalidValueError(
                    f"grid: {axis}_min and {axis}_max must be whole numbers, min <= max, got {low!r}, {high!r}"
                )

    @classmethod
    def from_count(
        cls,
        count: int,
        columns: int | None = None,
        spacing: Sequence[float] = (1.0, 1.0, 0.0),
        offset: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> GridSpawnParams:
        """Return a flat grid with room for `count`, `columns` wide (default: as square as possible)."""
        if count < 1:
            raise InvalidValueError(f"grid: count must be at least 1, got {count}")
        width = columns if columns is not None else math.ceil(math.sqrt(count))
        if width < 1:
            raise InvalidValueError(f"grid: columns must be at least 1, got {columns}")
        # Whole rows, of which the last one may be filled in part.
        return cls(0, width - 1, 0, math.ceil(count / width) - 1, spacing, offset)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> GridSpawnParams:
        """Read either the ranges (`x_min`, ...) or `count` with optional `columns`, `spacing`, `offset`."""
        if "count" in config:
            return cls.from_count(**vars(read(GridEntry, config)))
        return cls(**vars(read(_RangeForm, config)))

    @property
    def total_cells(self) -> int:
        """Number of cells."""
        return math.prod(self._sizes())

    def _sizes(self) -> tuple[int, int, int]:
        return (self.x_max - self.x_min + 1, self.y_max - self.y_min + 1, self.z_max - self.z_min + 1)

    def positions(self, cells: Ints) -> Floats:
        """Return the positions (N, 3) of `cells`, numbered along x first, then y, then z."""
        width, depth, _ = self._sizes()
        # Numbers are turned into coordinates by division: no list of all cells is made.
        coordinates = np.stack((cells % width, cells // width % depth, cells // (width * depth)), axis=1)
        lowest = np.array((self.x_min, self.y_min, self.z_min))
        return np.asarray(np.array(self.offset) + np.array(self.spacing) * (coordinates + lowest))


# The form of a mapping with ranges: it only says to the reader of settings which keys belong together.
@dataclass
class _RangeForm:
    """Ranges of cells along each axis, both ends included, as an alternative to a number of cells."""

    x_min: int
    x_max: int
    y_min: int
    y_max: int
    spacing: tuple[float, float, float]
    offset: tuple[float, float, float]
    z_min: int = 0
    z_max: int = 0


# The robots and objects of a scenario file.


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


def fill_scenario(sim: Any, config: Mapping[str, Any], *, source: str = "") -> None:
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
    pairs = read_entries(entries, cls, source=source, path=path)
    # Places and models of a file are counted when they are looked up.
    ENTITIES.check(sum(1 if entry.grid is None else entry.grid.count for entry, _ in pairs), len(world))
    for index, (entry, params) in enumerate(pairs):
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


ACTIONS = Work("actions", 100_000)


def _add_actions(world: World, rows: Rows, actions: Sequence[Mapping[str, Any]]) -> None:
    """Add separate copies of the actions to every robot; raises ConfigError naming the invalid action."""
    ACTIONS.charge(len(rows) * len(actions))
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
        if "site" not in world.places:
            raise InvalidValueError("needs the section 'site', which this scenario does not have")
        places, headings = world.places["site"].places(at.site, at.count, seed=at.seed, clearance=at.clearance)
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
