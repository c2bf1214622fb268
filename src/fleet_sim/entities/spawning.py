"""Spawns and removes entities; many equal ones are spawned with one write per column."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import is_
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fleet_sim.arrays import Floats, Rows, as_floats
from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.entities.template import Template
from fleet_sim.entities.templates import all_but_place, said_by, template_for
from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.bounds import check_extent
from fleet_sim.geometry.pose import pose_arrays
from fleet_sim.spatial import quaternions

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
        template = templates.get(said.key)
        if template is None:
            template = templates[said.key] = template_for(world, params, said)
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
    world: World,
    runs: Sequence[EntityRun],
    positions: Floats,
    orientations: Floats,
    names: Sequence[str | None],
) -> Spawned:
    """Spawn all runs, in the order of `positions` (N, 3) in m and `orientations` (N, 4) xyzw; after an error, none."""
    check_extent(positions, world.extent, "pose")
    _use_features(world, runs, names)
    # Names are checked here and params before. Sensors and plugins may still fail: then the rows are freed again.
    rows = world.allocate(names)
    first = 0
    for template, cls, count in runs:
        template.write(world, rows[first : first + count])
        world.handles.prepare(rows[first : first + count], cls)
        first += count
    world.position[rows] = positions
    world.orientation[rows] = orientations
    # With columns and handles complete, as listeners may use both.
    world.announce(rows)
    told = any(map(world.events.has_handlers, SPAWNED)) or any(map(_has_python_parts, runs))
    # All of them before any code of users runs, as that may remove some.
    handles = world.handles.of(rows) if told else None
    try:
        _mount_sensors(world, runs, rows)
        _enter_features(world, runs, rows)
        if handles is not None:
            _add_python_parts(world, runs, handles)
    except BaseException:
        # All or none: a sensor that does not fit, a feature that refuses its robot, or the constructor of a plugin ends
        # the lives that have just begun.
        world.release(rows)
        raise
    # Last: handlers see entities with all their parts.
    if handles is not None:
        emit_spawned(world, handles)
    return Spawned(rows, handles)


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


def _mount_sensors(world: World, runs: Sequence[EntityRun], rows: Rows) -> None:
    """Mount the sensors of the entities in `rows`; raises where one cannot carry them."""
    first = 0
    for template, _, count in runs:
        if template.sensors:
            world.sensors.mount(rows[first : first + count], template.sensors)
        first += count


def _enter_features(world: World, runs: Sequence[EntityRun], rows: Rows) -> None:
    """Let features take in the entities in `rows`; raises where one refuses them."""
    first = 0
    for template, _, count in runs:
        if template.features:
            world.features.enter(template.features, rows[first : first + count])
        first += count


def _add_python_parts(world: World, runs: Sequence[EntityRun], handles: Sequence[SimObject]) -> None:
    first = 0
    for run in runs:
        _python_parts(world, run, handles[first : first + run.size])
        first += run.size


def _python_parts(world: World, run: EntityRun, handles: Sequence[SimObject]) -> None:
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
