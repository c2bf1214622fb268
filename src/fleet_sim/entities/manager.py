"""SimObjectManager: a named group of entities, and the ways to spawn them in bulk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakSet

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, Ints, Rows, as_float, as_whole
from fleet_sim.core.world import World
from fleet_sim.entities.entries import spawn_entries
from fleet_sim.entities.grid import GridSpawnParams
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import SimObjectSpawnParams
from fleet_sim.entities.spawning import spawn_each, spawn_groups, spawn_many
from fleet_sim.errors import ConfigError, InvalidValueError, StateError, did_you_mean, named, unknown_name
from fleet_sim.geometry import Pose
from fleet_sim.settings import load_mapping

Handle = TypeVar("Handle", bound=SimObject)


class BaseManager(Generic[Handle]):
    """A group of entities of one type, in order of spawning. Removed entities leave it automatically."""

    default_class: ClassVar[type[SimObject]] = SimObject

    def __init__(self, sim_core: Any = None, object_class: type[Handle] | None = None, name: str | None = None) -> None:
        """Manage entities of `object_class` in the simulation `sim_core`, which may also be set later."""
        self.name = name
        self.object_class: type[Handle] = object_class or self.default_class  # type: ignore[assignment]
        self._handles: list[Handle] = []
        # Weak references: a removed entity is kept only while a checkpoint or the user can bring it back.
        self._removed: WeakSet[Handle] = WeakSet()
        # Row and generation of each of the handles, but of those that were added since the last look.
        self._places: AnyArray = np.zeros((0, 2), np.int32)
        self._version = -1
        self._limit = 256
        self._sim: Any = None
        if sim_core is not None:
            self.set_sim_core(sim_core)

    # ---- the simulation ----------------------------------------------------------------------------------------------

    @property
    def sim_core(self) -> Any:
        """The simulation; raises StateError if none is set."""
        if self._sim is None:
            raise StateError(f"{type(self).__name__} has no simulation yet: pass sim_core or call set_sim_core(sim)")
        return self._sim

    def set_sim_core(self, sim_core: Any) -> None:
        """Set the simulation to spawn in."""
        self._sim = sim_core
        sim_core.register_manager(self, self.name)

    @property
    def world(self) -> World:
        """The world of the simulation."""
        world: World = self.sim_core.world
        return world

    # ---- members -----------------------------------------------------------------------------------------------------

    @property
    def objects(self) -> list[Handle]:
        """The living entities of the group; an entity restored by a reset belongs to it again."""
        if self._sim is not None and self._version != self.world.version:
            self._update()
        # A copy: callers may spawn and remove while they iterate.
        return list(self._handles)

    def _update(self) -> None:
        """Follow what was removed, restored and added to the group since."""
        world = self.world
        added = np.array([handle.place for handle in self._handles[len(self._places) :]], np.int32).reshape(-1, 2)
        self._places = np.concatenate((self._places, added))
        rows, generations = self._places.T
        alive_mask = world.alive[rows] & (world.generation[rows] == generations)
        revived = [handle for handle in self._removed if handle.is_alive]
        if revived or not alive_mask.all():
            self._removed.difference_update(revived)
            self._removed.update(map(self._handles.__getitem__, np.flatnonzero(~alive_mask).tolist()))
            self._handles = [*map(self._handles.__getitem__, np.flatnonzero(alive_mask).tolist()), *revived]
            if revived:
                self._handles.sort(key=lambda handle: handle.object_id)
            self._places = np.array([handle.place for handle in self._handles], np.int32).reshape(-1, 2)
        self._version = world.version

    @property
    def rows(self) -> Rows:
        """The rows of the living entities, in order."""
        if self._sim is None or self._version != self.world.version:
            self.objects  # noqa: B018  brings the rows up to date
        return self._places[:, 0].astype(np.int64)

    def __len__(self) -> int:
        return len(self.objects)

    def __iter__(self) -> Iterator[Handle]:
        return iter(self.objects)

    def __getitem__(self, index: int) -> Handle:
        objects = self.objects
        if not -len(objects) <= index < len(objects):
            raise unknown_name("index", index, [f"0 to {len(objects) - 1}"])
        return objects[index]

    def get_object_count(self) -> int:
        """Return how many entities there are."""
        return len(self)

    def get_object(self, name: str) -> Handle:
        """Return the entity called `name`; raises UnknownNameError."""
        return named("object", name, self.objects)

    def add_object(self, obj: Handle) -> None:
        """Add an entity of the same simulation to the group."""
        if not isinstance(obj, self.object_class):
            raise InvalidValueError(f"this group holds {self.object_class.__name__}, got {obj!r}")
        if obj.world is not self.world:
            raise InvalidValueError(f"{obj!r} belongs to another simulation; spawn a new one here")
        if obj not in self._handles:
            self._adopt([obj])

    def _adopt(self, handles: list[Handle]) -> list[Handle]:
        if len(self._handles) >= self._limit:
            # If `objects` is not read for a long time, removed entities must still be dropped now and then.
            self._limit = 2 * len(self.objects) + 256
        self._handles.extend(handles)
        self._version = -1
        return handles

    # ---- poses -------------------------------------------------------------------------------------------------------

    def get_pose(self, index: int) -> Pose:
        """Return the pose of the entity at `index`."""
        return self[index].get_pose()

    def get_all_poses(self) -> list[Pose]:
        """Return all poses, in order."""
        return [handle.get_pose() for handle in self.objects]

    def get_poses_dict(self) -> dict[int, Pose]:
        """Return all poses by object id."""
        return {handle.object_id: handle.get_pose() for handle in self.objects}

    def set_pose_all(self, factory: Callable[[Handle], Pose]) -> None:
        """Set the pose of every entity to `factory(entity)`."""
        for handle in self.objects:
            handle.set_pose(factory(handle))

    # ---- spawning ----------------------------------------------------------------------------------------------------

    def spawn_objects_batch(self, params_list: Sequence[SimObjectSpawnParams]) -> list[Handle]:
        """Spawn one entity per entry, at the entries' own poses; all or none."""
        return self._adopt(spawn_each(self.world, self.object_class, params_list))

    def spawn_objects_grid(
        self,
        num_objects: int,
        grid_params: GridSpawnParams,
        spawn_params: SimObjectSpawnParams,
        name_prefix: str | None = None,
    ) -> list[Handle]:
        """Spawn `num_objects` equal entities on cells of a grid.

        With `name_prefix` the cells fill along x, then y, then z and the names are `<prefix>_<i>`; without it the
        cells are drawn at random from the simulation's seed. Raises InvalidValueError for more objects than cells.
        """
        prefix = name_prefix if name_prefix is not None else spawn_params.name
        cells = self._cells(num_objects, grid_params, ordered=prefix is not None)
        return self._spawn_on(grid_params.positions(cells), spawn_params, self._names(prefix, num_objects))

    def spawn_grid_mixed(
        self,
        num_objects: int,
        grid_params: GridSpawnParams,
        spawn_params_list: Sequence[tuple[SimObjectSpawnParams, float]],
    ) -> list[Handle]:
        """Fill `num_objects` cells with types drawn by probability; the missing probability to 1 is for empty cells."""
        weights = [as_float(weight, "spawn_grid_mixed: probability") for _, weight in spawn_params_list]
        if not weights or min(weights) < 0.0 or sum(weights) > 1.0 + 1e-9:
            raise InvalidValueError(
                f"spawn_grid_mixed: probabilities of at least 0 that add up to at most 1, got {weights}"
            )
        cells = self._cells(num_objects, grid_params, ordered=False)
        drawn = self.world.random.stream("grid types").random(num_objects)
        # A number beyond the last sum is no type at all: its cell stays empty.
        types = np.searchsorted(np.cumsum(weights), drawn, side="right")
        groups = [cells[types == index] for index in range(len(weights))]
        return self._spawn_groups(grid_params, [params for params, _ in spawn_params_list], groups)

    def spawn_grid_counts(
        self, grid_params: GridSpawnParams, spawn_params_count_list: Sequence[tuple[SimObjectSpawnParams, int]]
    ) -> list[Handle]:
        """Spawn an exact count of each type, on cells drawn at random from the simulation's seed."""
        counts = [count for _, count in spawn_params_count_list]
        if not counts or not all(isinstance(count, int) and count >= 0 for count in counts):
            raise InvalidValueError(
                f"spawn_grid_counts: expected (params, count) pairs with counts of at least 0, got {counts}"
            )
        cells = self._cells(sum(counts), grid_params, ordered=False)
        groups = np.split(cells, np.cumsum(counts)[:-1])
        return self._spawn_groups(grid_params, [params for params, _ in spawn_params_count_list], groups)

    def spawn_from_config(self, config: Sequence[Mapping[str, Any]]) -> list[Handle]:
        """Spawn the entries of a scenario file's list, grids included; all or, on any error (ConfigError), none."""
        return self._adopt(spawn_entries(self.world, self.object_class, config))

    def spawn_from_yaml(self, path: str | FilePath, key: str = "entities") -> list[Handle]:
        """Spawn the entries listed under `key` of a YAML file; raises ConfigError naming the file and the entry."""
        config = load_mapping(path)
        if key not in config:
            raise ConfigError(f"missing.{did_you_mean(key, config)}", source=str(path), path=key)
        return self._adopt(spawn_entries(self.world, self.object_class, config[key], source=str(path), path=key))

    def _cells(self, count: int, grid: GridSpawnParams, *, ordered: bool) -> Ints:
        """Return the numbers (count,) of the cells to spawn on: the first ones, or drawn ones if not `ordered`.

        The same seed draws the same cells first, however many are asked for. Raises InvalidValueError where there are
        too few cells.
        """
        if as_whole(count, "number of objects", low=0) > grid.total_cells:
            raise InvalidValueError(
                f"{count} objects do not fit on a grid of {grid.total_cells} cells; enlarge its ranges"
            )
        if ordered:
            return np.arange(count)
        # Of all cells and then cut, so that the first cells are the same for any number of objects.
        return self.world.random.stream("grid cells").permutation(grid.total_cells)[:count].astype(np.int64)

    def _names(self, prefix: str | None, count: int) -> list[str | None] | None:
        """Return `<prefix>_<i>`, counting on from the names that exist."""
        if prefix is None:
            return None
        first = 0
        while self.world.index.has_name(f"{prefix}_{first}"):
            first += 1
        return [f"{prefix}_{first + index}" for index in range(count)]

    def _spawn_on(
        self, positions: Floats, params: SimObjectSpawnParams, names: list[str | None] | None
    ) -> list[Handle]:
        orientations = np.tile(np.array(params.initial_pose.orientation), (len(positions), 1))
        return self._adopt(spawn_many(self.world, self.object_class, params, positions, orientations, names))

    def _spawn_groups(
        self, grid: GridSpawnParams, params_list: Sequence[SimObjectSpawnParams], groups: Sequence[Ints]
    ) -> list[Handle]:
        """Spawn each of `params_list` on its group of cells of the grid, and return the handles, group by group.

        `params.name` is a prefix; entities of one prefix are numbered on across the groups.
        """
        counts = [len(cells) for cells in groups]
        named = [params.name for params, count in zip(params_list, counts, strict=True) for _ in range(count)]
        fresh = {prefix: iter(self._names(prefix, named.count(prefix)) or ()) for prefix in {*named} - {None}}
        names = [None if prefix is None else next(fresh[prefix]) for prefix in named]
        orientations = np.repeat([params.initial_pose.orientation for params in params_list], counts, axis=0)
        points = grid.positions(np.concatenate(groups))
        pairs = list(zip(params_list, counts, strict=True))
        return self._adopt(spawn_groups(self.world, self.object_class, pairs, points, orientations, names))


class SimObjectManager(BaseManager[Any]):
    """A group of objects of any type; its spawning methods create `object_class` (default SimObject)."""
