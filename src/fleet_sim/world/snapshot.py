"""Snapshot: the state of all living entities at one moment, for readers outside the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from threading import Condition
from typing import Any, TypeVar

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Bytes, Floats, Ints, Rows, ranges
from fleet_sim.base.errors import unknown_name
from fleet_sim.base.spatial.shapes import distances_to_lines
from fleet_sim.world.columns import FeatureColumns
from fleet_sim.world.joints import EntityPaths
from fleet_sim.world.schema import KIND_AGENT, NO_ROW, Rgba, colors_given
from fleet_sim.world.shapes import BodyShape, RobotModel
from fleet_sim.world.world import World

LinkColors = Mapping[int, Mapping[int, Rgba]]
"""By the index of an entity and the number of its link."""


@dataclass(frozen=True, eq=False)
class EntityBodies:
    """What all living entities are made of, aligned as a snapshot is; nothing in it ever changes."""

    models: tuple[RobotModel | None, ...]
    """The description of each robot that has one."""
    shapes: tuple[BodyShape | None, ...]
    half_extents: Floats
    """(N, 3) of the collision shape, in m."""
    centres: Floats
    """(N, 3) of the collision shape, in the body frame, in m."""
    motor_mask: Bools
    """(N,) whether its joints are moved by motors."""
    span: slice | None
    """The rows of all, where they are in a row: copying them is then several times as fast."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The state of all living entities at the end of a step; arrays are read-only and aligned by index.

    Poses and velocities are in the world frame, in m, m/s, rad/s and xyzw. Nothing in it ever changes: any number of
    threads may keep it and read it.
    """

    tick: int
    """Number of steps made."""
    time: float
    """Simulation time in s."""
    names: tuple[str, ...]
    object_ids: Ints
    agent_mask: Bools
    positions: Floats
    orientations: Floats
    velocities: Floats
    angular_velocities: Floats
    carriers: Ints
    """(N,) index of the entity that carries each; -1: none."""
    modes: Bytes
    """(N,) the code of each one's ControllerMode."""
    busy_mask: Bools
    """(N,) whether an action is running."""
    blockers: Ints
    """(N,) index of the entity that each stopped in front of; -1: none."""
    path_starts: Ints
    """(N + 1,) the waypoints of entity `i` are those from `path_starts[i]` to before `path_starts[i + 1]`."""
    path_positions: Floats
    """(P, 3) of the waypoints of all paths under way."""
    path_orientations: Floats
    """(P, 4) of the waypoints."""
    joint_starts: Ints
    """(N + 1,) the joints of entity `i` are those from `joint_starts[i]` to before `joint_starts[i + 1]`."""
    joint_positions: Floats
    """(J,) in rad or m, in the order of each robot's movable joints."""
    joint_velocities: Floats
    """(J,) in rad/s or m/s."""
    joint_efforts: Floats
    """(J,) in N m or N, of joints with motors; 0 without one."""
    collisions: Ints
    """(M, 2) indices of the pairs that collided at the last check."""
    colors: Floats
    """(N, 4) the color given to each by `set_color`; -1: that of its shapes."""
    link_colors: LinkColors
    """By index, the colors given to single links; they come before the one given to the whole."""
    features: Mapping[str, Mapping[str, AnyArray]]
    """The columns (N, ...) of each feature in use, by the names of both; `present` tells which entities have it."""
    bodies: EntityBodies
    """What the entities are made of; one object for all snapshots between two spawns or removals."""

    def index_of(self, name: str) -> int:
        """Return the index of the entity called `name`; raises UnknownNameError with the closest names."""
        index = self._index_of_name.get(name)
        if index is None:
            raise unknown_name("object or agent", name, self.names)
        return index

    def joints_of(self, index: int) -> tuple[Floats, Floats]:
        """Return positions (K,) and velocities (K,) of the movable joints of an entity."""
        own = slice(int(self.joint_starts[index]), int(self.joint_starts[index + 1]))
        return self.joint_positions[own], self.joint_velocities[own]

    @cached_property
    def _index_of_name(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}


# How a snapshot is made: what changes all the time is copied, what follows from it can be computed by anybody, later.
# A recording has the first done in the step, into memory that another process reads, and the second over there.


StateArrays = Mapping[str, AnyArray]
"""By the names in STATE."""

ENTITIES, WAYPOINTS, JOINTS, PAIRS = range(4)
STATE: Mapping[str, tuple[int, tuple[int, ...], str]] = {
    "positions": (ENTITIES, (3,), "f8"),
    "orientations": (ENTITIES, (4,), "f8"),
    "velocities": (ENTITIES, (3,), "f8"),
    "angular_velocities": (ENTITIES, (3,), "f8"),
    "parents": (ENTITIES, (), "i8"),
    "blocked_by": (ENTITIES, (), "i8"),
    "path_lengths": (ENTITIES, (), "i8"),
    "path_positions": (WAYPOINTS, (3,), "f8"),
    "path_orientations": (WAYPOINTS, (4,), "f8"),
    "joint_positions": (JOINTS, (), "f8"),
    "joint_velocities": (JOINTS, (), "f8"),
    "joint_efforts": (JOINTS, (), "f8"),
    "pairs": (PAIRS, (2,), "i8"),
    "modes": (ENTITIES, (), "u1"),
    "waiting": (ENTITIES, (), "u1"),
}
"""What changes all the time: by name, what it has a row for, the shape of a row, and the type.

`parents`, `blocked_by` and `pairs` are rows of the world. Bytes come last: one after the other, all are aligned.
"""


_AS_THEY_ARE = tuple(name for name in STATE if name in Snapshot.__dataclass_fields__)


@dataclass(frozen=True, eq=False)
class SnapshotEntities:
    """The entities of snapshots, the same until something is spawned, removed or renamed; aligned with `names`."""

    names: tuple[str, ...]
    object_ids: Ints
    agent_mask: Bools
    bodies: EntityBodies

    @property
    def shown(self) -> dict[str, Any]:
        """The fields of a Snapshot that say which entities it has."""
        names = ("names", "object_ids", "agent_mask", "bodies")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, eq=False)
class EntityRoster(SnapshotEntities):
    """The entities of a world and where they are in its columns; read-only."""

    rows: Rows
    index_of_row: Ints
    """The index of the entity in each row, NO_ROW without one; the last one is for NO_ROW itself."""
    joint_starts: Ints
    joint_slots: Ints


@dataclass(frozen=True, eq=False)
class GivenColors:
    """What is the same in all snapshots until something is painted; read-only."""

    colors: Floats
    link_colors: LinkColors


def take_roster(world: World) -> EntityRoster:
    """Return the roster of the living entities, in the order of `world.rows`."""
    rows = world.rows
    # NO_ROW is -1: as an index it finds the last entry, which is NO_ROW because no entity has that row.
    index_of_row = np.full(world.capacity + 1, NO_ROW, np.int64)
    index_of_row[rows] = np.arange(len(rows))
    return EntityRoster(
        names=tuple(map(world.label, rows.tolist())),
        object_ids=_frozen(world.object_id[rows]),
        agent_mask=_frozen(world.kind[rows] == KIND_AGENT),
        bodies=_take_bodies(world),
        rows=_frozen(rows.copy()),
        index_of_row=_frozen(index_of_row),
        joint_starts=_frozen(np.concatenate([[0], np.cumsum(world.robots.joint_count[rows])])),
        joint_slots=_frozen(world.joints.slots(world.robots, rows)),
    )


def _take_bodies(world: World) -> EntityBodies:
    """Return what the bodies of all entities look like, in the order of `world.rows`."""
    rows, shapes = world.rows, world.shapes
    first = int(rows[0]) if len(rows) else 0
    # Rows without a gap are a slice of columns, which is no copy.
    together = np.array_equal(rows, np.arange(first, first + len(rows)))
    return EntityBodies(
        span=slice(first, first + len(rows)) if together else None,
        models=tuple(map(world.model_of, rows.tolist())),
        shapes=tuple(shapes[number] if number >= 0 else None for number in world.shape_id[rows].tolist()),
        half_extents=_frozen(world.half_extents[rows]),
        centres=_frozen(world.shape_position[rows]),
        motor_mask=_frozen(world.robots.motors[rows]),
    )


def take_colors(world: World) -> GivenColors:
    """Return the colors given to entities and to single links."""
    given = world.look.links[world.rows]
    links = {index: given[index] for index in range(len(given)) if given[index]}
    return GivenColors(_frozen(world.look.rgba[world.rows]), links)


@dataclass(frozen=True, eq=False)
class KnownPaths:
    """The paths of the entities of a roster, as they were; read-only, and not shared with the world."""

    roster: EntityRoster
    lengths: Ints
    positions: Floats
    orientations: Floats


def keep_paths(state: StateArrays, roster: EntityRoster) -> KnownPaths:
    """Return the paths of `state`, which `state_views` has made of the entities of `roster`."""
    # Lengths may be a view of a column; points are copies, or nobody else writes to them.
    points = (_frozen(state[name]) for name in ("path_positions", "path_orientations"))
    return KnownPaths(roster, _frozen(state["path_lengths"].copy()), *points)


def state_views(
    world: World, roster: EntityRoster, pairs: Ints, known: KnownPaths | None = None
) -> dict[str, AnyArray]:
    """Return the arrays of STATE, which may share memory with the world: to be copied before anything changes.

    `pairs` (M, 2) are the rows that collide. Paths are those that are `known` of this roster, if there are any.
    """
    motion, joints = world.motion, world.joints
    slots = roster.joint_slots if len(roster.joint_slots) else slice(0)
    # A slice is a view; indexing by an array copies, which takes several times as long.
    own = roster.rows if roster.bodies.span is None else roster.bodies.span
    paths = known if known is not None and known.roster is roster else _paths(world, roster)
    actions: Any = world.tables["actions"]
    return {
        "positions": world.position[own],
        "orientations": world.orientation[own],
        "velocities": world.velocity[own],
        "angular_velocities": world.angular_velocity[own],
        "parents": world.parent[own],
        "blocked_by": world.routes.blockers(roster.rows, motion.blocked_by[own]),
        "path_lengths": paths.lengths,
        "path_positions": paths.positions,
        "path_orientations": paths.orientations,
        "joint_positions": joints.position[slots],
        "joint_velocities": joints.velocity[slots],
        "joint_efforts": joints.effort[slots],
        "pairs": pairs,
        "modes": motion.control[own],
        "waiting": actions.waiting[own],
    }


def take_features(world: World, roster: EntityRoster) -> dict[str, dict[str, AnyArray]]:
    """Return copies of the columns of features in use."""
    span = roster.bodies.span
    return {
        name: {
            column: _frozen(array[roster.rows] if span is None else array[span].copy())
            for column, _, array in table.columns()
        }
        for name, table in world.tables.items()
        if isinstance(table, FeatureColumns)
    }


def snapshot_of(
    state: StateArrays,
    roster: EntityRoster,
    colors: GivenColors,
    *,
    tick: int,
    time: float,
    features: Mapping[str, Mapping[str, AnyArray]],
) -> Snapshot:
    """Return the snapshot with the arrays `state`, which become read-only and must not be changed any more."""
    index_of_row = roster.index_of_row
    collisions = index_of_row[state["pairs"]]
    path_starts = np.zeros(len(roster.names) + 1, np.int64)
    np.cumsum(state["path_lengths"], out=path_starts[1:])
    as_they_are: dict[str, Any] = {name: _frozen(state[name]) for name in _AS_THEY_ARE}
    return Snapshot(
        tick=tick,
        time=time,
        carriers=_frozen(index_of_row[state["parents"]]),
        busy_mask=_frozen(state["waiting"] != 0),
        blockers=_frozen(index_of_row[state["blocked_by"]]),
        path_starts=_frozen(path_starts),
        joint_starts=roster.joint_starts,
        # Without pairs of an entity that was removed since the last check.
        collisions=_frozen(collisions[(collisions != NO_ROW).all(axis=1)] if len(collisions) else collisions),
        colors=colors.colors,
        link_colors=colors.link_colors,
        features=features,
        **roster.shown,
        **as_they_are,
    )


def _paths(world: World, roster: EntityRoster) -> EntityPaths:
    """Return the paths of all; arrays may be views of columns."""
    motion, pool = world.motion, world.waypoints
    if pool.sources:
        return pool.paths(motion, roster.rows)
    # A sample of a recording has no time to spare: slices are views, and most paths are of one waypoint.
    own = roster.rows if roster.bodies.span is None else roster.bodies.span
    lengths = motion.path_length[own]
    if not pool.live:
        return EntityPaths(lengths, motion.waypoint[own], pool.position[:0], pool.orientation[:0])
    driving = np.flatnonzero(lengths)
    some = lengths[driving]
    places: Ints = motion.path_start[own][driving]
    # Some have several waypoints: all numbers from the start of a path on.
    if len(driving) != int(some.sum()):
        places = ranges(places, some)
    return EntityPaths(lengths, motion.waypoint[own], pool.position[places], pool.orientation[places])


def _frozen(array: AnyArray) -> AnyArray:
    array.flags.writeable = False
    return array


# SnapshotBoard: shares one snapshot at a time with all readers outside the step.


BetweenSteps = Callable[[Callable[[], object]], object]


class Subscription:
    """One reader of snapshots, in any thread but the one that makes the steps; at the end of a `with` block it leaves.

    While somebody is subscribed, the step takes a snapshot at its end, one for all.
    """

    def __init__(self, board: SnapshotBoard) -> None:
        self._board = board
        self._seen: Snapshot | None = None

    @property
    def latest(self) -> Snapshot | None:
        """The newest snapshot; None before the first."""
        return self._board.latest

    def wait(self, timeout: float | None = None) -> Snapshot | None:
        """Return the newest snapshot that this call has not returned before, as soon as there is one.

        Snapshots that came and went meanwhile are left out. Returns None after `timeout` s of real time (None: no
        limit), and once the subscription has ended or the simulation was closed.
        """
        newer = self._board.newer_than(self._seen, self, timeout)
        self._seen = newer or self._seen
        return newer

    def __iter__(self) -> Iterator[Snapshot]:
        """Yield snapshots as they come, until the subscription ends or the simulation is closed."""
        while (snapshot := self.wait()) is not None:
            yield snapshot

    def close(self) -> None:
        """Read no more; may be called again. A `wait` in another thread returns."""
        self._board.unsubscribe(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class SnapshotBoard:
    """The newest snapshot of a simulation, `sim.snapshots`. Without a subscription, steps take none.

    Every method may be called from any thread, but for `take`, `look`, `refresh` and `end_step`, which read the world.
    `pairs()` returns the rows (M, 2) that collide, `between_steps(function)` has a function called while no step is
    under way.
    """

    def __init__(self, world: World, pairs: Callable[[], Ints], between_steps: BetweenSteps) -> None:
        self._world = world
        self._pairs = pairs
        self._between_steps = between_steps
        # Guards what follows; notified when there is a new snapshot, and when a reader leaves.
        self._changed = Condition()
        self.latest: Snapshot | None = None
        """The newest snapshot; None before the first subscription. It is replaced as a whole and never changed."""
        self.readers: tuple[Subscription, ...] = ()
        self._requested: Future[Snapshot] | None = None
        self._roster: EntityRoster | None = None
        self._colors: GivenColors | None = None
        self._names_version = -1
        self._look_version = -1

    def subscribe(self) -> Subscription:
        """Have each step take a snapshot, until the subscription is closed: `with sim.snapshots.subscribe() as ...`.

        The first snapshot comes at once, or after the step that is under way, also while the simulation is paused.
        """
        subscription = Subscription(self)
        with self._changed:
            first = not self.readers
            # Replaced and never changed, so that the step can look at it without the lock.
            self.readers = (*self.readers, subscription)
        # Without the lock held: `between_steps` takes that of the run, and no thread ever holds both.
        if first:
            self._between_steps(self.refresh)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription; one that has ended stays so."""
        with self._changed:
            self.readers = tuple(reader for reader in self.readers if reader is not subscription)
            self._changed.notify_all()

    def request(self) -> Future[Snapshot]:
        """Return the state after everything done to the world so far, for who wants to read once.

        It is taken when no step is under way; all who ask until then share one snapshot.
        """
        with self._changed:
            future, first = self._requested, self._requested is None
            if future is None:
                future = self._requested = Future()
                # Shared, so that none of those who wait can cancel it for the others.
                future.set_running_or_notify_cancel()
        if first:
            self._between_steps(self._answer)
        return future

    def newer_than(
        self, seen: Snapshot | None, subscription: Subscription, timeout: float | None = None
    ) -> Snapshot | None:
        """Wait for a snapshot other than `seen` while `subscription` lasts; returns None where none comes in time."""

        def settled() -> bool:
            return self.latest is not seen or subscription not in self.readers

        with self._changed:
            # It returns at the timeout too, so both conditions are asked once more.
            self._changed.wait_for(settled, timeout)
            return self.latest if self.latest is not seen and subscription in self.readers else None

    def close(self) -> None:
        """End all subscriptions."""
        with self._changed:
            self.readers = ()
            self._changed.notify_all()

    # ---- in the simulation's thread ----------------------------------------------------------------------------------

    def take(self) -> Snapshot:
        """Return a snapshot of this moment."""
        world, (views, roster, colors) = self._world, self.look()
        # Indexing may have copied already, but not always.
        state = {name: view.copy() for name, view in views.items()}
        features = take_features(world, roster)
        return snapshot_of(state, roster, colors, tick=self.tick, time=self.time, features=features)

    @property
    def tick(self) -> int:
        """The number of the step that a snapshot of this moment is of: one under way counts as made."""
        return self._world.clock.tick + self._world.in_step

    @property
    def time(self) -> float:
        """The simulation time in s at the end of that step."""
        return self._world.clock.seconds(self.tick)

    def look(self, known: KnownPaths | None = None) -> tuple[dict[str, AnyArray], EntityRoster, GivenColors]:
        """Return what a snapshot of this moment is made of; the arrays change with the world.

        With `known` paths it has those, unless something was spawned, removed or renamed since: finding them takes a
        while where there is traffic.
        EntityRoster and colors are the same objects as before while nothing of them has changed.
        """
        world = self._world
        if self._roster is None or self._names_version != world.version:
            # Names and bodies are the parts that take Python per entity, and they rarely change.
            self._roster, self._names_version, self._colors = take_roster(world), world.version, None
        if self._colors is None or self._look_version != world.look.version:
            self._colors, self._look_version = take_colors(world), world.look.version
        return state_views(world, self._roster, self._pairs(), known), self._roster, self._colors

    def refresh(self) -> None:
        """Replace the snapshot, if anybody reads it: the world has changed without a step."""
        if self.readers:
            # Before the lock is taken: readers do not wait while the columns are copied.
            snapshot = self.take()
            with self._changed:
                self.latest = snapshot
                self._changed.notify_all()

    def _answer(self) -> None:
        """Take a snapshot for who asked for one; an exception goes to them, too."""
        with self._changed:
            # Reset before the snapshot is taken: who asks from now on gets a later one.
            future, self._requested = self._requested, None
        assert future is not None
        try:
            future.set_result(self.take())
        except Exception as error:
            future.set_exception(error)


# Appearance: what is to be drawn of entities, as a value that any thread may read.


Thing = TypeVar("Thing")


@dataclass(frozen=True, eq=False)
class Appearance:
    """What is to be drawn of N entities; nothing in it changes while it is used."""

    object_ids: Ints
    shape_ids: Ints
    """(N,) index in `shapes`; -1: none."""
    model_ids: Ints
    """(N,) index in `models`; -1: none. What a robot with a model shows is on its links, whatever its shape is."""
    shapes: Sequence[BodyShape]
    models: Sequence[RobotModel]
    rgba: Floats
    """(N, 4) the color given to each as a whole; -1: that of its shapes."""
    link_rgba: AnyArray
    """(N,) None, or a mapping of links to the colors given to them, which come before `rgba`."""

    def __len__(self) -> int:
        return len(self.object_ids)

    def colors(self, indices: Ints, links: Ints) -> Floats:
        """Return the color (K, 4) given to each of `links` (K,) of the entities `indices` (K,); -1 where none was."""
        return colors_given(self.rgba, self.link_rgba, indices, links)


def appearance_of(world: World) -> Appearance:
    """Return the appearance of all living entities of `world`, in the order of `world.rows`."""
    rows = world.rows
    return Appearance(
        object_ids=world.object_id[rows],
        shape_ids=world.shape_id[rows],
        model_ids=world.robots.model[rows],
        shapes=[world.shapes[index] for index in range(len(world.shapes))],
        models=list(world.models),
        rgba=world.look.rgba[rows],
        link_rgba=world.look.links[rows],
    )


def appearance_in(snapshot: Snapshot) -> Appearance:
    """Return the appearance of the entities of `snapshot`."""
    shape_ids, shapes = _numbered(snapshot.bodies.shapes)
    model_ids, models = _numbered(snapshot.bodies.models)
    link_rgba = np.full(len(snapshot.names), None)
    for index, given in snapshot.link_colors.items():
        link_rgba[index] = given
    return Appearance(snapshot.object_ids, shape_ids, model_ids, shapes, models, snapshot.colors, link_rgba)


def looks_alike(one: Snapshot, other: Snapshot) -> bool:
    """Return whether the same is to be drawn of both snapshots, but for poses."""
    same = one.bodies is other.bodies and one.link_colors is other.link_colors
    return same and bool(np.array_equal(one.colors, other.colors))


def _numbered(things: Sequence[Thing | None]) -> tuple[Ints, list[Thing]]:
    """Return the number of each of `things`, -1 for None, and what is numbered."""
    # By identity: entities that are alike share one, and comparing models takes long.
    numbers: dict[int, int] = {}
    found: list[Thing] = []
    ids: Ints = np.full(len(things), -1, np.int64)
    for index, thing in enumerate(things):
        if thing is not None:
            number = numbers.setdefault(id(thing), len(found))
            if number == len(found):
                found.append(thing)
            ids[index] = number
    return ids, found


NO_APPEARANCE = Appearance(NO_ROWS, NO_ROWS, NO_ROWS, (), (), np.empty((0, 4)), np.empty(0, object))
"""Of nothing."""


# What is left of paths, as lines; in recordings, which do not say how far robots have come, by where they are.


NEAR = 0.3
"""How far from the line between two waypoints a robot is taken to be on it, in m."""


@dataclass(frozen=True, eq=False)
class PathsAhead:
    """What is left of the paths of robots: lines between points (L, 2, 3), and the robot that each belongs to (L,)."""

    lines: Floats = field(default_factory=lambda: np.empty((0, 2, 3)))
    robots: Ints = field(default_factory=lambda: NO_ROWS)


def paths_ahead(world: World) -> PathsAhead:
    """Return what is left of the paths of all entities; `robots` are indices of a snapshot."""
    rows = world.rows
    paths = world.waypoints.paths(world.motion, rows)
    return lines_ahead(paths.lengths, paths.nexts, paths.positions, world.position[rows])


def lines_ahead(lengths: Ints, nexts: Ints, waypoints: Floats, positions: Floats) -> PathsAhead:
    """Return the lines that entities at `positions` (N, 3) have ahead of them; the first of each begins at it.

    `lengths`, `nexts` (N,) and `waypoints` (P, 3) are those of EntityPaths.
    """
    left = np.maximum(lengths - nexts, 0)
    driving = np.flatnonzero(left)
    some = left[driving]
    robots = np.repeat(driving, some)
    # The numbers 0, 1, 2 ... of what is left of each path, one after the other.
    number = np.arange(len(robots)) - np.repeat(np.cumsum(some) - some, some)
    firsts = (np.cumsum(lengths) - lengths + nexts)[driving]
    ends = waypoints[np.repeat(firsts, some) + number]
    begins = np.where((number == 0)[:, None], positions[robots], np.roll(ends, 1, axis=0))
    return PathsAhead(np.stack((begins, ends), axis=1), robots)


def recorded_paths_ahead(snapshot: Snapshot) -> PathsAhead:
    """Return the lines that robots have ahead of them in a snapshot of a recording.

    A robot is on the nearest of the lines between its waypoints, on the later one of two; far from all of them, it is
    on its way to the first.
    """
    lengths, waypoints = np.diff(snapshot.path_starts), snapshot.path_positions
    robots = np.repeat(np.arange(len(lengths)), lengths)
    number = np.arange(len(robots)) - snapshot.path_starts[robots]
    inner = np.flatnonzero(number > 0)
    away = distances_to_lines(snapshot.positions[robots[inner]], waypoints[inner - 1], waypoints[inner])
    near = inner[away < NEAR]
    # Nearest last, and of two that are as near the later one, so that it is what remains.
    order = near[np.lexsort((number[near], -np.round(away[away < NEAR], 3), robots[near]))]
    nexts = np.zeros(len(lengths), np.int64)
    nexts[robots[order]] = number[order]
    return lines_ahead(lengths, nexts, waypoints, snapshot.positions)
