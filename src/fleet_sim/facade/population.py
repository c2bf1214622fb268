"""The entities of a simulation.

`sim.spawn`, `sim.get_object` and their like call it. It raises UnknownNameError with the closest names, and changes
nothing where one of many entries is wrong.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Floats, Rows, as_float, as_floats, as_whole
from fleet_sim.base.errors import InvalidValueError, StateError, brief
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.engines.bullet.handle import adopted_shape
from fleet_sim.facade.run_control import SimulationParts
from fleet_sim.robots import attachments
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.sdf_models import params_of_world, read_world_file
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import SimObjectSpawnParams
from fleet_sim.robots.spawning import remove, spawn_each, spawn_entries
from fleet_sim.robots.template import shape_columns
from fleet_sim.world.commands import BodyId
from fleet_sim.world.schema import KIND_AGENT, KIND_STATIC_BODY, NO_ROW
from fleet_sim.world.shapes import BodyShape
from fleet_sim.world.snapshot import Snapshot
from fleet_sim.world.world import World

log = logging.getLogger("fleet_sim")

_UNKNOWN = (
    "PyBullet does not tell its form; an entity can be made of a body without joints that is one simple shape or a "
    "level plane. Spawn an Agent from a description, or a SimObject of meshes"
)


class Population:
    """Spawns, finds, places and removes entities."""

    def __init__(self, sim: SimulationParts) -> None:
        self._sim, self._world, self._mirror = sim, sim.world, sim.mirror
        self.scenario: Mapping[str, Any] = {}
        """The scenario that the simulation was built from; empty without one. For reading only."""

    # ---- who is there ------------------------------------------------------------------------------------------------

    @property
    def objects(self) -> list[SimObject]:
        """All living entities, agents included, in order of spawning."""
        return self._world.handles.of(self._world.rows)

    @property
    def agents(self) -> list[Agent]:
        """All living agents, in order of spawning."""
        world = self._world
        rows = world.rows[world.kind[world.rows] == KIND_AGENT]
        return world.handles.of(rows)

    def get(self, name_or_id: str | int) -> Any:
        """Return the entity with a name or object id; raises UnknownNameError with the closest names."""
        world = self._world
        if isinstance(name_or_id, BodyId):
            name_or_id = name_or_id.object_id
        row = world.index.row_named(name_or_id) if isinstance(name_or_id, str) else world.index.row_of(name_or_id)
        return world.handles[row]

    # ---- spawning and removing ---------------------------------------------------------------------------------------

    def spawn(self, params: SimObjectSpawnParams, cls: type[SimObject] | None = None) -> Any:
        """Spawn one entity (an Agent from AgentSpawnParams, else a SimObject) and return its handle."""
        return spawn_each(self._world, cls, [params])[0]

    def spawn_all(self, params_list: Sequence[SimObjectSpawnParams]) -> list[Any]:
        """Spawn one entity per entry, in order; on any error none is spawned."""
        return spawn_each(self._world, None, params_list)

    def spawn_robots(self, entries: Sequence[Mapping[str, Any]]) -> list[Agent]:
        """Spawn the robots of a scenario's `robots:` list; raises ConfigError."""
        return spawn_entries(self._world, Agent, entries, path="robots")

    def load_world(self, path: str | Path, skip_models: Collection[str] = ()) -> list[Any]:
        """Spawn the models of an SDF or Gazebo world file at their places, and return them in the order of the file.

        They are what `SimObject.from_sdf` makes of them; `skip_models` names those to leave out. What the file has
        besides models, such as lights and plugins, is named in one warning. With physics a gravity that is not that of
        the simulation raises InvalidValueError, and so does what cannot be read; then nothing is spawned.
        """
        found = read_world_file(path, self._world)
        return self.spawn_all(params_of_world(found, skip_models=skip_models))

    def remove(self, obj: SimObject) -> None:
        """Remove an entity: what it carries is detached, its collisions end. Raises StaleHandleError if it is gone."""
        self.check_ours(obj)
        remove(self._world, np.array([obj.row]))

    def remove_all(self, objects: Iterable[SimObject]) -> None:
        """Remove many entities at once; if one was already removed, raises StaleHandleError and removes none."""
        chosen = list(objects)
        for obj in chosen:
            self.check_ours(obj)
        remove(self._world, np.array([obj.row for obj in chosen], np.int64))

    def remove_rows(self, rows: Rows) -> None:
        """Remove the entities in these rows (N,) of the world's columns, as `world.rows` has them.

        Raises InvalidValueError, and removes none, where a row has no entity.
        """
        world, given = self._world, np.asarray(rows)
        if given.ndim != 1 or (len(given) and not np.issubdtype(given.dtype, np.integer)):
            raise InvalidValueError(f"rows: expected whole numbers of shape (N,), got {brief(rows)}")
        inside_mask = (given >= 0) & (given < world.capacity)
        living_mask = inside_mask & world.alive[np.where(inside_mask, given, 0).astype(np.int64)]
        if not living_mask.all():
            raise InvalidValueError(f"rows: no entity is in row {given[~living_mask][0]}")
        remove(world, given)

    def check_ours(self, obj: object) -> None:
        """Do nothing, as entities are added when spawned. Raises InvalidValueError for one of another simulation."""
        if not isinstance(obj, SimObject):
            raise InvalidValueError(f"expected a SimObject or an Agent, got {obj!r}")
        if obj.world is not self._world:
            raise InvalidValueError(f"{obj!r} belongs to another simulation; spawn a new one here")

    def adopt_body(self, handle: SimObject, body_id: int, mass: float | None, name: str | None) -> tuple[World, int]:
        """Allocate a row for a PyBullet body created by the user; called by the constructor of SimObject."""
        world = self._world
        body_id = as_whole(body_id, "body_id", low=0)
        kilograms = None if mass is None else as_float(mass, "mass in kg", low=0.0)
        self._mirror.check_open()
        shape = adopted_shape(self._mirror.client, body_id) if self._mirror.bodies.exists(body_id) else BodyShape()
        if shape is None:
            raise InvalidValueError(f"PyBullet body {body_id}: {_UNKNOWN}")
        rows = world.allocate([name])
        row = int(rows[0])
        try:
            # Before the columns are filled: this reads the pose and the mass from PyBullet, and fails for a wrong id.
            self._mirror.adopt(row, body_id)
        except BaseException:
            world.release(rows)
            raise
        world.kind[row] = handle.kind
        world.mass[row] = self._mirror.bodies.table.mass[row] if kilograms is None else kilograms
        # All others are moved by their columns only.
        world.dynamic[row] = world.physics and world.mass[row] > 0.0
        for column, value in shape_columns(world, shape).items():
            getattr(world, column)[row] = value
        world.handles[row] = handle
        world.announce(rows)
        return world, row

    def register_static_body(self, body_id: int, name: str | None = None) -> SimObject:
        """Include a PyBullet body in collision checks as STATIC; return its handle.

        Pairs with static bodies are reported when `ignore_static_collision` is off.
        """
        handle = SimObject(body_id, self, pickable=False, mass=0.0, collision_mode=CollisionMode.STATIC, name=name)
        self._world.kind[handle.row] = KIND_STATIC_BODY
        return handle

    # ---- poses in bulk -----------------------------------------------------------------------------------------------

    def get_poses(self, ids: Sequence[int]) -> tuple[Floats, Floats]:
        """Return positions (N, 3) and orientations (N, 4) by object id; raises UnknownNameError (a KeyError)."""
        rows = self._world.index.rows_of(ids)
        return self._world.position[rows], self._world.orientation[rows]

    def set_poses(
        self, ids: Sequence[int], positions: Any, orientations: Any, *, preserve_velocity: bool = True
    ) -> None:
        """Set poses of entities, (N, 3) and (N, 4), in one write, buffered inside a step.

        Raises UnknownNameError (a KeyError) for an unknown id and InvalidValueError (a ValueError) for a wrong shape,
        a number that is not finite or a zero quaternion; the world is then not changed.
        """
        world = self._world
        rows = world.index.rows_of(ids)
        points = as_floats(positions, (len(rows), 3), "positions")
        turns = quaternions.normalized(as_floats(orientations, (len(rows), 4), "orientations"))
        carried = rows[world.parent[rows] != NO_ROW]
        if len(carried):
            raise StateError(f"{world.label(int(carried[0]))!r} is attached and follows its carrier; detach it first")
        world.place(rows, points, turns, preserve_velocity=preserve_velocity)
        # Inside a step it follows when the poses are written.
        if not world.in_step:
            attachments.follow_rows(world, rows)

    def snapshot(self) -> Snapshot:
        """Return a frozen copy of the state of all entities; call it between steps."""
        return self._sim.snapshots.take()
