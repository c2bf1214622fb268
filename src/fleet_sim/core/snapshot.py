"""Snapshot: the state of all living entities at one moment, for readers outside the step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.core.columns import FeatureColumns
from fleet_sim.core.look import Rgba
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.schema import KIND_AGENT, NO_ROW, MotionColumns
from fleet_sim.core.shapes import BodyShape
from fleet_sim.core.world import World
from fleet_sim.errors import unknown_name

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


def take_bodies(world: World) -> EntityBodies:
    """Return what the living entities of `world` are made of, in the order of `world.rows`."""
    rows, shapes = world.rows, world.shapes
    first = int(rows[0]) if len(rows) else 0
    together = np.array_equal(rows, np.arange(first, first + len(rows)))
    return EntityBodies(
        span=slice(first, first + len(rows)) if together else None,
        models=tuple(map(world.model_of, rows.tolist())),
        shapes=tuple(shapes[number] if number >= 0 else None for number in world.shape_id[rows].tolist()),
        half_extents=_frozen(world.half_extents[rows]),
        centres=_frozen(world.shape_position[rows]),
        motor_mask=_frozen(world.robots.motors[rows]),
    )


def take_link_colors(world: World) -> LinkColors:
    """Return the colours given to single links; nothing in it ever changes."""
    given = world.look.links[world.rows]
    return {index: given[index] for index in range(len(given)) if given[index]}


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
    """(N, 4) the colour given to each by `set_color`; -1: that of its shapes."""
    link_colors: LinkColors
    """By index, the colours given to single links; they come before the one given to the whole."""
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


def take_snapshot(
    world: World, pairs: Ints, names: Sequence[str], bodies: EntityBodies, link_colors: LinkColors
) -> Snapshot:
    """Return the present state of `world`; inside a step it gets the number and the time of the step's end.

    `pairs` (M, 2) are the rows that collide; `names`, `bodies` and `link_colors` are of all living entities, in the
    order of `world.rows`.
    """
    rows, motion = world.rows, world.motion
    index_of_row = _indices_of_rows(world)
    collisions = index_of_row[pairs].reshape(-1, 2)
    slots = world.joints.slots(world.robots, rows)
    path_starts, waypoints = _waypoints(motion, rows)
    # A step counts as made when it has ended.
    tick = world.clock.tick + world.in_step

    def copied(column: AnyArray) -> AnyArray:
        # Indexing by an array copies, a slice does not: nothing here shares memory with the world.
        return _frozen(column[rows] if bodies.span is None else column[bodies.span].copy())

    return Snapshot(
        tick=tick,
        time=world.clock.seconds(tick),
        names=tuple(names),
        object_ids=copied(world.object_id),
        agent_mask=_frozen(world.kind[rows] == KIND_AGENT),
        positions=copied(world.position),
        orientations=copied(world.orientation),
        velocities=copied(world.velocity),
        angular_velocities=copied(world.angular_velocity),
        carriers=_frozen(index_of_row[world.parent[rows]]),
        modes=copied(motion.control),
        busy_mask=_frozen(world.tables["actions"].waiting[rows] != 0),  # type: ignore[attr-defined]  # ActionColumns
        blockers=_frozen(index_of_row[motion.blocked_by[rows]]),
        path_starts=_frozen(path_starts),
        path_positions=_frozen(world.waypoints.position[waypoints]),
        path_orientations=_frozen(world.waypoints.orientation[waypoints]),
        joint_starts=_frozen(np.concatenate([[0], np.cumsum(world.robots.joint_count[rows])])),
        joint_positions=_frozen(world.joints.position[slots]),
        joint_velocities=_frozen(world.joints.velocity[slots]),
        joint_efforts=_frozen(world.joints.effort[slots]),
        # Without pairs of an entity that was removed since the last check.
        collisions=_frozen(collisions[(collisions != NO_ROW).all(axis=1)]),
        colors=copied(world.look.rgba),
        link_colors=link_colors,
        features=_features(world, copied),
        bodies=bodies,
    )


def _indices_of_rows(world: World) -> Ints:
    """Return the index of the entity in each row among those that live, NO_ROW without one, and for NO_ROW itself."""
    # NO_ROW is -1: as an index it finds the last entry, which is NO_ROW because no entity has that row.
    index_of_row = np.full(world.capacity + 1, NO_ROW, np.int64)
    index_of_row[world.rows] = np.arange(len(world.rows))
    return index_of_row


def _features(world: World, copied: Callable[[AnyArray], AnyArray]) -> dict[str, dict[str, AnyArray]]:
    return {
        name: {column: copied(array) for column, _, array in table.columns()}
        for name, table in world.tables.items()
        if isinstance(table, FeatureColumns)
    }


def _waypoints(motion: MotionColumns, rows: Rows) -> tuple[Ints, Ints]:
    """Return where the waypoints of each of `rows` begin among those of all (N + 1,), and their places in the pool."""
    lengths = motion.path_length[rows]
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts, np.arange(starts[-1]) + np.repeat(motion.path_start[rows] - starts[:-1], lengths)


def _frozen(copy: AnyArray) -> AnyArray:
    copy.flags.writeable = False
    return copy
