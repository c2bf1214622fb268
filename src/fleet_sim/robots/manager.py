"""SimObjectManager and AgentManager: named groups of entities, their goals, and ways to spawn them in bulk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakSet

import numpy as np

from fleet_sim.base.arrays import AnyArray, Floats, Ints, Rows, as_float, as_whole
from fleet_sim.base.errors import ConfigError, InvalidValueError, StateError, did_you_mean, named, unknown_name
from fleet_sim.base.geometry import Pose, pose_arrays
from fleet_sim.base.settings import load_mapping
from fleet_sim.robots import drive
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.arm import move_end_effectors
from fleet_sim.robots.joint_arguments import JointNumbers
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.robots.spawning import GridSpawnParams, spawn_each, spawn_entries, spawn_groups, spawn_many
from fleet_sim.world.joints import DEFAULT_FORCE
from fleet_sim.world.user_code import CallbackList
from fleet_sim.world.world import World

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


# AgentManager: a group of agents, their goals and callbacks.


Self = TypeVar("Self", bound="AgentManager")


class AgentManager(BaseManager[Agent]):
    """A fleet. Agents are updated by the simulation's step; the manager commands goals and answers queries."""

    default_class: ClassVar[type[SimObject]] = Agent

    def __init__(
        self,
        sim_core: Any = None,
        object_class: type[Agent] | None = None,
        name: str | None = None,
        update_frequency: float = 10.0,
    ) -> None:
        """`update_frequency` in Hz of simulated time is the rate of callbacks registered without one of their own."""
        self.update_frequency = update_frequency
        self._callbacks: CallbackList | None = None
        super().__init__(sim_core, object_class, name)

    @property
    def agents(self) -> list[Agent]:
        """The living agents, in order of spawning."""
        return self.objects

    # ---- goals -------------------------------------------------------------------------------------------------------

    def set_goal_pose(self, agent_index: int, goal: Pose) -> None:
        """Send the agent at `agent_index`, from 0, to `goal`."""
        self[as_whole(agent_index, "agent_index", low=0)].set_goal_pose(goal)

    def set_goal_pose_by_object_id(self, object_id: int, goal: Pose) -> None:
        """Send the agent with `object_id` to `goal`; raises UnknownNameError."""
        self._one("object id", object_id, lambda agent: agent.object_id).set_goal_pose(goal)

    def set_goal_pose_by_body_id(self, body_id: int, goal: Pose) -> None:
        """Send the agent with the PyBullet body `body_id` to `goal`; raises UnknownNameError."""
        # Not the handle's `body_id`, after which PyBullet would keep up with every agent that was asked.
        self._one("body id", body_id, lambda agent: agent.world.bodies.body_id(agent.row)).set_goal_pose(goal)

    def set_goal_pose_all(self, factory: Callable[[Agent], Pose | None]) -> None:
        """Send every agent to `factory(agent)`, in one write; None does not change the agent."""
        # Asked once per agent and before anything is written: the factory may look at where others are.
        chosen = [(agent, goal) for agent in self.agents if (goal := factory(agent)) is not None]
        if not chosen:
            return
        for agent, _ in chosen:
            # All are checked before the first one is commanded.
            agent.require_mobile()
        world = self.world
        rows, lengths = np.array([agent.row for agent, _ in chosen]), np.ones(len(chosen), np.int64)
        positions, orientations = pose_arrays([goal for _, goal in chosen])
        for row, (_, body) in drive.goals_inside(world, rows, lengths, positions, orientations).items():
            raise InvalidValueError(f"agent {world.label(row)!r}: {drive.inside_text(world, 0, body)}")
        for row in world.actions.busy(rows).tolist():
            # Only of the busy ones: asking thousands of idle robots would take longer than the write.
            world.actions.cancel_base(row, "a new goal was set")
        drive.start_paths(world, rows, lengths, positions, orientations)

    def set_joints_targets_all(
        self, targets_factory: Callable[[Agent], JointNumbers | None], max_force: float = DEFAULT_FORCE
    ) -> None:
        """Command the joints of every agent to `targets_factory(agent)`, a list or a mapping; None: no change."""
        for agent in self.agents:
            targets = targets_factory(agent)
            if targets is not None:
                agent.set_joints_targets(targets, max_force)

    def move_end_effectors(
        self,
        target_positions: Any,
        target_orientations: Any = None,
        agents: Sequence[Agent] | None = None,
        end_effector_link: int | str | None = None,
        max_force: float = DEFAULT_FORCE,
        tolerance: float | None = None,
    ) -> list[bool]:
        """Send the end effectors of `agents` (None: all) to positions (N, 3), orientations (N, 4); return which can.

        As `Agent.move_end_effector`, with robots of one model solved in one call.
        """
        chosen = self.agents if agents is None else list(agents)
        return move_end_effectors(
            chosen, target_positions, target_orientations, end_effector_link, max_force, tolerance
        )

    def stop_all(self) -> None:
        """Stop every agent at once and cancel its actions."""
        for agent in self.agents:
            agent.stop()

    def add_action_all(self, factory: Callable[[Agent], Any]) -> None:
        """Append `factory(agent)` to every agent's queue."""
        for agent in self.agents:
            agent.add_action(factory(agent))

    def add_action_sequence_all(self, factory: Callable[[Agent], Iterable[Any]]) -> None:
        """Append all of `factory(agent)` to every agent's queue."""
        for agent in self.agents:
            agent.add_action_sequence(factory(agent))

    def get_moving_count(self) -> int:
        """Return how many agents have a goal they have not reached, or a velocity."""
        return int(drive.moving_mask(self.world, self.rows).sum()) if len(self) else 0

    def get_moving_agents(self) -> list[Agent]:
        """Return the agents that are moving."""
        return [agent for agent in self.agents if agent.is_moving]

    def get_stopped_agents(self) -> list[Agent]:
        """Return the agents that are not moving."""
        return [agent for agent in self.agents if not agent.is_moving]

    def _one(self, kind: str, wanted: int, key: Callable[[Agent], int]) -> Agent:
        for agent in self.agents:
            if key(agent) == wanted:
                return agent
        raise unknown_name(kind, wanted, ())

    # ---- callbacks ---------------------------------------------------------------------------------------------------

    def register_callback(
        self: Self, callback: Callable[[Self, float], object], frequency: float | None = None
    ) -> None:
        """Call `callback(manager, dt)` in phase 1 at `frequency` Hz (default: the manager's update_frequency)."""
        if self._callbacks is None:
            # Made at the first use: most managers have no callbacks.
            self._callbacks = CallbackList(self.world.clock, self.world.guard)
        self._callbacks.add(callback, self.update_frequency if frequency is None else frequency, "manager callback")

    def unregister_callback(self, callback: Callable[..., object]) -> bool:
        """Stop calling `callback`; returns whether it was registered."""
        return self._callbacks is not None and self._callbacks.remove(callback)

    @property
    def has_callbacks(self) -> bool:
        """Whether any callback is registered."""
        return bool(self._callbacks)

    def run_callbacks(self) -> None:
        """Call the callbacks that are due; the simulation does this in each step."""
        if self._callbacks is not None:
            self._callbacks.run(self)

    # ---- aliases -----------------------------------------------------------------------------------------------------

    def spawn_agents_grid(
        self,
        num_agents: int,
        grid_params: GridSpawnParams,
        spawn_params: AgentSpawnParams,
        name_prefix: str | None = None,
    ) -> list[Agent]:
        """Same as `spawn_objects_grid`."""
        return self.spawn_objects_grid(num_agents, grid_params, spawn_params, name_prefix)

    def spawn_agents_grid_mixed(
        self, num_agents: int, grid_params: GridSpawnParams, spawn_params_list: Sequence[tuple[AgentSpawnParams, float]]
    ) -> list[Agent]:
        """Same as `spawn_grid_mixed`."""
        return self.spawn_grid_mixed(num_agents, grid_params, spawn_params_list)

    def spawn_agent_grid_counts(
        self, grid_params: GridSpawnParams, spawn_params_count_list: Sequence[tuple[AgentSpawnParams, int]]
    ) -> list[Agent]:
        """Same as `spawn_grid_counts`."""
        return self.spawn_grid_counts(grid_params, spawn_params_count_list)
