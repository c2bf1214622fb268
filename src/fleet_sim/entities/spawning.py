"""Bringing entities into the world: many equal ones with one write per column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from fleet_sim.arrays import Floats, Rows, as_floats
from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import SimObjectSpawnParams
from fleet_sim.entities.template import Template, make_template, pose_arrays
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial import quaternions

Handle = TypeVar("Handle", bound=SimObject)


def spawn_many(
    world: World,
    cls: type[Handle],
    params: SimObjectSpawnParams,
    positions: Floats,
    orientations: Floats,
    names: Sequence[str | None] | None = None,
) -> list[Handle]:
    """Spawn one entity of type `cls` per pose: `positions` (N, 3), `orientations` (N, 4); returns their handles.

    All are alike but for pose and name. Raises InvalidValueError or DuplicateNameError and then leaves the world as it
    was.
    """
    check_params(cls, params)
    points = as_floats(positions, (None, 3), "positions")
    turns = quaternions.normalized(as_floats(orientations, (len(points), 4), "orientations"))
    given = [None] * len(points) if names is None else list(names)
    if len(given) != len(points):
        raise InvalidValueError(f"names: expected one per pose ({len(points)}), got {len(given)}")
    template = make_template(world, params)
    return _spawn(world, cls, [(template, len(points))], points, turns, given)


def spawn_each(world: World, cls: type[Handle], params_list: Sequence[SimObjectSpawnParams]) -> list[Handle]:
    """Spawn one entity per entry, each at its `initial_pose` with its `name`; all or, on any error, none."""
    runs: list[tuple[Template, int]] = []
    templates: dict[str, Template] = {}
    for params in params_list:
        check_params(cls, params)
        key = _sameness(params)
        template = templates.get(key)
        if template is None:
            template = templates[key] = make_template(world, params)
        if runs and runs[-1][0] is template:
            runs[-1] = (template, runs[-1][1] + 1)
        else:
            runs.append((template, 1))
    points, turns = pose_arrays([params.initial_pose for params in params_list])
    return _spawn(world, cls, runs, points, turns, [params.name for params in params_list])


def check_params(cls: type[SimObject], params: object) -> None:
    """Raise InvalidValueError unless `params` are what `cls` is spawned from."""
    if not isinstance(params, cls.params_class):
        raise InvalidValueError(f"{cls.__name__} is spawned from {cls.params_class.__name__}, got {params!r}")


def _sameness(params: SimObjectSpawnParams) -> str:
    """Return a text that is equal for params that differ in pose and name only."""
    return repr({key: value for key, value in vars(params).items() if key not in ("name", "initial_pose")})


def _spawn(
    world: World,
    cls: type[Handle],
    runs: list[tuple[Template, int]],
    positions: Floats,
    orientations: Floats,
    names: Sequence[str | None],
) -> list[Handle]:
    rows = world.allocate(names)
    first = 0
    for template, count in runs:
        template.write(world, rows[first : first + count])
        first += count
    world.position[rows] = positions
    world.orientation[rows] = orientations
    handles: list[Handle] = [cls.bind(world, row) for row in rows.tolist()]
    for row, handle in zip(rows.tolist(), handles, strict=True):
        world.handles[row] = handle
    world.announce(rows)
    first = 0
    for template, count in runs:
        _python_parts(world, template, handles[first : first + count])
        first += count
    emit_spawned(world, handles)
    return handles


def _python_parts(world: World, template: Template, handles: Sequence[SimObject]) -> None:
    """Give the handles what a template holds besides columns."""
    own_update = handles and type(handles[0]).update is not SimObject.update
    if not (own_update or template.user_data or template.controller or template.plugins):
        return
    for handle in handles:
        if template.user_data:
            handle.user_data.update(template.user_data)
        if own_update:
            world.hooks.set_update(handle.row, handle.update)
        if isinstance(handle, Agent):
            controllers = world.make_controllers(template.controller) if template.controller else []
            if controllers:
                world.hooks.set_controllers(handle.row, controllers)
            for entry in template.plugins or ():
                plugin, config = entry if isinstance(entry, tuple) else (entry, None)
                handle.add_plugin(plugin, config)


def emit_spawned(world: World, handles: Sequence[SimObject]) -> None:
    """Tell the listeners that the entities of `handles` are there."""
    events = world.events
    if events.has_handlers("object_spawned"):
        for handle in handles:
            events.emit("object_spawned", obj=handle)
    if events.has_handlers("agent_spawned"):
        for handle in handles:
            if isinstance(handle, Agent):
                events.emit("agent_spawned", agent=handle)


def remove(world: World, rows: Rows) -> None:
    """Remove the entities in `rows`; what they carry is let go of, events are emitted while the handles still work.

    A row given twice counts once.
    """
    rows = np.array(list(dict.fromkeys(rows.tolist())), np.int64)
    events = world.events
    if events.has_handlers("object_removed") or events.has_handlers("agent_removed"):
        generations = world.generation[rows]
        for row, generation in zip(rows.tolist(), generations.tolist(), strict=True):
            # A handler may remove others of them.
            if world.alive[row] and world.generation[row] == generation:
                handle = world.handles[row]
                events.emit("object_removed", obj=handle)
                if isinstance(handle, Agent):
                    events.emit("agent_removed", agent=handle)
        rows = rows[world.generation[rows] == generations]
    world.release(rows[world.alive[rows]])
