"""The documented names of a simulation that are about what is in its world: entities, sensors, collisions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar, overload

from fleet_sim.arrays import Floats, Rows
from fleet_sim.collision.system import CollisionSystem
from fleet_sim.config.modes import SpatialHashCellSizeMode
from fleet_sim.config.params import SimulationParams
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.errors import did_you_mean
from fleet_sim.facade.collisions import CollisionQueries, Pair, scene_bounds
from fleet_sim.facade.population import Population
from fleet_sim.facade.recording import RunRecording, start_recording
from fleet_sim.facade.view import View
from fleet_sim.sensors.sensor import Sensor
from fleet_sim.sensors.system import SensorSystem
from fleet_sim.settings.fields import fields_of

_PACKAGE = __name__.partition(".")[0]


class Assignments:
    """Refuses assignments that nothing would read: slips of names, settings, and parts that other parts hold already.

    Classes that users derive may have attributes of their own.
    """

    _parts: frozenset[str] = frozenset()

    def _settle(self) -> None:
        """Everything is built; its names are taken from now on."""
        self._parts = frozenset(vars(self))

    def __setattr__(self, name: str, value: object) -> None:
        """Raises AttributeError that says what to do instead."""
        cls = type(self)
        if self._parts and not name.startswith("_") and not hasattr(cls, name):
            if name in self._parts:
                raise AttributeError(f"{name!r} is made when a simulation is built, and other parts use it: it stays")
            if name in fields_of(SimulationParams):
                raise AttributeError(f"a simulation has no attribute {name!r}; it is a setting: sim.params.{name}")
            if cls.__module__.partition(".")[0] == _PACKAGE:
                public = [key for key in dir(self) if not key.startswith("_")]
                hint = did_you_mean(name, public).partition(" Known:")[0]
                own = "Values of your own belong in variables, or in a class derived from it"
                raise AttributeError(f"a simulation has no attribute {name!r}.{hint} {own}")
        super().__setattr__(name, value)


Handle = TypeVar("Handle", bound=SimObject)


class WorldNames(Assignments):
    """Methods about what is in the world: one line each, which calls the part that does the work."""

    world: World
    collisions: CollisionSystem
    sensors: SensorSystem
    collision_queries: CollisionQueries
    population: Population
    view: View

    # ---- recordings --------------------------------------------------------------------------------------------------

    def record(self, path: str | Path, **settings: Any) -> RunRecording:
        """Record from now on until the handle's `close()`, or until the end of `with sim.record("run.mcap"):`.

        `rate=10.0` in Hz of simulated time (None: each step); `on_full="wait"`, or "drop", where writing is slower than
        the run. See docs/recordings.md. Raises InvalidValueError where nothing can be written and
        MissingDependencyError without the extra `record`.
        """
        return start_recording(self, path, settings)

    # ---- entities ----------------------------------------------------------------------------------------------------

    @property
    def sim_objects(self) -> list[SimObject]:
        """All living entities, agents included, in order of spawning."""
        return self.population.objects

    @property
    def agents(self) -> list[Agent]:
        """All living agents, in order of spawning."""
        return self.population.agents

    def get_object(self, name_or_id: str | int) -> Any:
        """Return the entity with a name or object id; raises UnknownNameError with the closest names."""
        return self.population.get(name_or_id)

    @overload
    def spawn(self, params: AgentSpawnParams) -> Agent: ...

    @overload
    def spawn(self, params: SimObjectSpawnParams) -> SimObject: ...

    @overload
    def spawn(self, params: SimObjectSpawnParams, cls: type[Handle]) -> Handle: ...

    def spawn(self, params: SimObjectSpawnParams, cls: type[SimObject] | None = None) -> SimObject:
        """Spawn one entity (an Agent from AgentSpawnParams, else a SimObject) and return its handle."""
        return self.population.spawn(params, cls)

    def spawn_all(self, params_list: Sequence[SimObjectSpawnParams]) -> list[Any]:
        """Spawn one entity per entry, in order; on any error none is spawned."""
        return self.population.spawn_all(params_list)

    def spawn_robots_from_config(self, entries: Sequence[Mapping[str, Any]]) -> list[Agent]:
        """Spawn the robots of a scenario's `robots:` list; raises ConfigError."""
        return self.population.spawn_robots(entries)

    def load_world(self, path: str | Path, skip_models: Collection[str] = ()) -> list[Any]:
        """Spawn the models of an SDF or Gazebo world file at their places, and return them in the order of the file.

        They are what `SimObject.from_sdf` makes of them; `skip_models` names those to leave out. What the file has
        besides models, such as lights and plugins, is named in one warning. With physics a gravity that is not that of
        the simulation raises InvalidValueError, and so does what cannot be read; then nothing is spawned.
        """
        return self.population.load_world(path, skip_models)

    def batch_spawn(self) -> AbstractContextManager[None]:
        """Spawn many entities with drawing of the window suspended until the end of the block."""
        return self.view.quiet()

    def add_object(self, obj: SimObject) -> None:
        """Do nothing, as entities are added when spawned. Raises InvalidValueError for one of another simulation."""
        self.population.check_ours(obj)

    def remove_object(self, obj: SimObject) -> None:
        """Remove an entity: what it carries is detached, its collisions end. Raises StaleHandleError if it is gone."""
        self.population.remove(obj)

    def remove_objects(self, objects: Iterable[SimObject]) -> None:
        """Remove many entities at once; if one was already removed, raises StaleHandleError and removes none."""
        self.population.remove_all(objects)

    def remove_rows(self, rows: Rows) -> None:
        """Remove the entities in these rows (N,) of the world's columns, as `world.rows` has them.

        Raises InvalidValueError, and removes none, where a row has no entity.
        """
        self.population.remove_rows(rows)

    def adopt_body(self, handle: SimObject, body_id: int, mass: float | None, name: str | None) -> tuple[World, int]:
        """Allocate a row for a PyBullet body created by the user; called by the constructor of SimObject."""
        return self.population.adopt_body(handle, body_id, mass, name)

    def register_static_body(self, body_id: int, name: str | None = None) -> SimObject:
        """Include a PyBullet body in collision checks as STATIC; return its handle.

        Pairs with static bodies are reported when `ignore_static_collision` is off.
        """
        return self.population.register_static_body(body_id, name)

    def get_poses(self, ids: Sequence[int]) -> tuple[Floats, Floats]:
        """Return positions (N, 3) and orientations (N, 4) by object id; raises UnknownNameError (a KeyError)."""
        return self.population.get_poses(ids)

    def set_poses(
        self, ids: Sequence[int], positions: Any, orientations: Any, *, preserve_velocity: bool = True
    ) -> None:
        """Set poses of entities, (N, 3) and (N, 4), in one write, buffered inside a step.

        Raises UnknownNameError (a KeyError) for an unknown id and InvalidValueError (a ValueError) for a wrong shape,
        a number that is not finite or a zero quaternion; the world is then not changed.
        """
        self.population.set_poses(ids, positions, orientations, preserve_velocity=preserve_velocity)

    def get_snapshot(self) -> Snapshot:
        """Return a frozen copy of the state of all entities; call it between steps."""
        return self.population.snapshot()

    # ---- sensors -----------------------------------------------------------------------------------------------------

    def add_sensor(self, spec: Any, owner: SimObject | str | None = None, **settings: Any) -> Sensor:
        """Add a sensor to the entity `owner` (a handle or a name), or fixed in the world, and return it.

        `spec` is the name of a kind with its parameters as `settings`, a mapping as in a scenario file, or the
        parameters of a kind, such as LidarParams. Raises ConfigError for an invalid spec, UnknownNameError for an
        unknown owner or link, and DuplicateNameError if its owner already has a sensor of that name.
        """
        return self.sensors.add(spec, self.get_object(owner) if isinstance(owner, str) else owner, **settings)

    def get_sensor(self, name: str) -> Sensor:
        """Return a sensor by its label: `<owner>/<name>`, or the name of one fixed in the world.

        Raises UnknownNameError.
        """
        return self.sensors.labelled(name)

    def remove_sensor(self, sensor: Sensor) -> None:
        """Remove a sensor; raises StateError if it was already removed."""
        self.sensors.remove([sensor])

    # ---- collisions --------------------------------------------------------------------------------------------------

    @property
    def collision_count(self) -> int:
        """Number of collisions that have started so far."""
        return self.collisions.count

    def get_active_collision_pairs(self) -> list[Pair]:
        """Return the pairs that collided at the last check."""
        return self.collision_queries.active_pairs()

    def check_collisions(self) -> tuple[list[Pair], dict[str, float]]:
        """Return (pairs colliding now, times in ms), whatever the check rate; events are not affected."""
        return self.collision_queries.check()

    def filter_aabb_pairs(
        self, ignore_static: bool | None = None, moved_objects: Iterable[SimObject] | None = None
    ) -> list[Pair]:
        """Return the pairs whose AABBs are within the collision margin; with `moved_objects` only theirs."""
        return self.collision_queries.near_pairs(ignore_static, moved_objects)

    def get_aabbs(self) -> dict[int, tuple[Floats, Floats]]:
        """Return (lower (3,), upper (3,)) of every entity by object id, in m."""
        return self.collision_queries.aabbs()

    def compute_scene_bounds(self) -> tuple[Floats, Floats]:
        """Return (lower (3,), upper (3,)) of all entities of finite size; zeros for an empty world."""
        return scene_bounds(self.world)

    def get_self_collisions(self, robot: SimObject | str) -> list[tuple[str, str]]:
        """Return the pairs of links, by name, of a robot with `self_collision` that touched at the last check.

        Raises StateError for a robot without it.
        """
        return self.collision_queries.touching_links(robot)

    def set_collision_pair(self, first: SimObject | str, second: SimObject | str, enabled: bool | None) -> None:
        """Let two entities never collide (False), or do so whatever their groups and masks (True); None: as those say.

        Events, blocking, avoidance and the engine follow it. It ends with one of the two, is saved in checkpoints,
        goes back with `reset`, and stays when the engine is rebuilt. True cannot make static, disabled or carried
        entities collide. Raises InvalidValueError, and UnknownNameError for a name.
        """
        self.collision_queries.set_pair(first, second, enabled)

    def set_collision_check_frequency(self, frequency: float | None) -> None:
        """Check `frequency` times per simulated second; None: in each step, 0: never."""
        self.collision_queries.set_frequency(frequency)

    def set_collision_spatial_hash_cell_size_mode(
        self, mode: SpatialHashCellSizeMode | str, cell_size: float | None = None
    ) -> float | None:
        """Set how the grid's cell size is chosen; return it in m, None until an automatic mode's first check.

        `cell_size` in m is that of the mode constant; automatic modes compute theirs. Results do not depend on it, only
        the time of a check does. Raises InvalidValueError for an unknown mode, and for constant without a size above 0.
        `params` keep what the simulation began with.
        """
        return self.collisions.broad.set_cell_size_mode(mode, cell_size)
