"""How a snapshot is made: what changes all the time is copied, what follows from it can be computed by anybody, later.

A recording has the first done in the step, into memory that another process reads, and the second over there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Floats, Ints, Rows, ranges
from fleet_sim.core.columns import FeatureColumns
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.snapshot import EntityBodies, LinkColors, Snapshot
from fleet_sim.core.waypoints import EntityPaths
from fleet_sim.core.world import World

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
        "blocked_by": motion.blocked_by[own],
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
