"""How a snapshot is made: what changes all the time is copied, what follows from it can be computed by anybody, later.

A recording has the first done in the step, into memory that another process reads, and the second over there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.arrays import NO_ROWS, AnyArray, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.core.columns import FeatureColumns
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.snapshot import EntityBodies, LinkColors, Snapshot
from fleet_sim.core.world import World

StateArrays = Mapping[str, AnyArray]
"""What changes all the time, by the names that `state_views` gives it."""


class StateColumns(NamedTuple):
    """The columns that the state of entities is in, until something is spawned or gets a path.

    The entities of a roster are the rows from `first` on. `path_length` and `path_start` are aligned with them from
    `first_path` on; `path_start` is where in `path_position` and `path_orientation` the waypoints of each begin.
    """

    position: Floats
    orientation: Floats
    velocity: Floats
    angular_velocity: Floats
    parent: Ints
    blocked_by: Ints
    control: Bytes
    waiting: Bytes
    first: int
    path_length: Ints
    path_start: Ints
    path_position: Floats
    path_orientation: Floats
    first_path: int


_AS_THEY_ARE = (
    *("positions", "orientations", "velocities", "angular_velocities", "modes"),
    *("path_positions", "path_orientations", "joint_positions", "joint_velocities", "joint_efforts"),
)


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


def state_columns(world: World, roster: EntityRoster) -> StateColumns:
    """Return the columns of the state, copied only where entities are not in a row."""
    motion, pool, span = world.motion, world.waypoints, roster.bodies.span
    actions: Any = world.tables["actions"]
    columns: tuple[Any, ...] = (
        *(world.position, world.orientation, world.velocity, world.angular_velocity, world.parent),
        *(motion.blocked_by, motion.control, actions.waiting),
    )
    if span is None:
        columns, first = tuple([column[roster.rows] for column in columns]), 0
    else:
        first = span.start
    if pool.sources:
        paths = pool.paths(motion, roster.rows)
        starts = np.cumsum(paths.lengths) - paths.lengths
        return StateColumns._make((*columns, first, paths.lengths, starts, paths.positions, paths.orientations, 0))
    lengths, starts = motion.path_length, motion.path_start
    if span is None:
        lengths, starts = lengths[roster.rows], starts[roster.rows]
    position, orientation = pool.position[: pool.used], pool.orientation[: pool.used]
    return StateColumns._make((*columns, first, lengths, starts, position, orientation, first))


def state_views(world: World, roster: EntityRoster, pairs: Ints) -> dict[str, AnyArray]:
    """Return the state as arrays, which may share memory with the world: to be copied before anything changes.

    Each is aligned with the entities, with their waypoints or with their joints. `pairs` (M, 2), `parents` and
    `blocked_by` are rows of the world.
    """
    columns, joints, count = state_columns(world, roster), world.joints, len(roster.names)
    own = slice(columns.first, columns.first + count)
    slots = roster.joint_slots if len(roster.joint_slots) else slice(0)
    with_path = slice(columns.first_path, columns.first_path + count)
    lengths = columns.path_length[with_path]
    places = _places(lengths, columns.path_start[with_path])
    return {
        "positions": columns.position[own],
        "orientations": columns.orientation[own],
        "velocities": columns.velocity[own],
        "angular_velocities": columns.angular_velocity[own],
        "parents": columns.parent[own],
        "blocked_by": columns.blocked_by[own],
        "modes": columns.control[own],
        "waiting": columns.waiting[own],
        "path_lengths": lengths,
        "path_positions": columns.path_position[places],
        "path_orientations": columns.path_orientation[places],
        "joint_positions": joints.position[slots],
        "joint_velocities": joints.velocity[slots],
        "joint_efforts": joints.effort[slots],
        "pairs": pairs,
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
    collisions = index_of_row[state["pairs"]].reshape(-1, 2)
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
        collisions=_frozen(collisions[(collisions != NO_ROW).all(axis=1)]),
        colors=colors.colors,
        link_colors=colors.link_colors,
        features=features,
        **roster.shown,
        **as_they_are,
    )


def _places(lengths: Ints, starts: Ints) -> Ints:
    """Return the places of all waypoints of paths that have `lengths` and begin at `starts`, path by path."""
    total = int(lengths.sum())
    if not total:
        return NO_ROWS
    # All numbers from the start of a path on, as many as it has waypoints.
    return np.arange(total) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)


def _frozen(array: AnyArray) -> AnyArray:
    array.flags.writeable = False
    return array
