"""Snapshot: the state of all living entities at one moment, for readers outside the step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Floats, Ints
from fleet_sim.core.appearance import NO_APPEARANCE, Appearance
from fleet_sim.core.columns import FeatureColumns
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.errors import unknown_name


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
    joint_starts: Ints
    """(N + 1,) the joints of entity `i` are those from `joint_starts[i]` to before `joint_starts[i + 1]`."""
    joint_positions: Floats
    """(J,) in rad or m, in the order of each robot's movable joints."""
    joint_velocities: Floats
    """(J,) in rad/s or m/s."""
    collisions: Ints
    """(M, 2) indices of the pairs that collided at the last check."""
    colors: Floats
    """(N, 4) the colour given to each by `set_color`; -1: that of its shapes."""
    features: Mapping[str, Mapping[str, AnyArray]]
    """The columns (N, ...) of each feature in use, by the names of both; `present` tells which entities have it."""
    appearance: Appearance = NO_APPEARANCE
    """What is to be drawn of each; the same object in all snapshots until something is spawned, removed or coloured."""

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


def take_snapshot(world: World, pairs: Ints, names: Sequence[str], appearance: Appearance) -> Snapshot:
    """Return the present state of `world`; inside a step it gets the number and the time of the step's end.

    `pairs` (M, 2) are the rows that collide; `names` and `appearance` are those of all living entities, in the order of
    `world.rows`.
    """
    rows = world.rows
    # NO_ROW is -1: as an index it finds the last entry, which is NO_ROW because no entity has that row.
    index_of_row = np.full(world.capacity + 1, NO_ROW, np.int64)
    index_of_row[rows] = np.arange(len(rows))
    collisions = index_of_row[pairs].reshape(-1, 2)
    slots = world.joints.slots(world.robots, rows)
    # A step counts as made when it has ended.
    tick = world.clock.tick + world.in_step
    # Indexing by an array copies, so nothing here shares memory with the world.
    return Snapshot(
        tick=tick,
        time=world.clock.seconds(tick),
        names=tuple(names),
        object_ids=_frozen(world.object_id[rows]),
        agent_mask=_frozen(world.kind[rows] == KIND_AGENT),
        positions=_frozen(world.position[rows]),
        orientations=_frozen(world.orientation[rows]),
        velocities=_frozen(world.velocity[rows]),
        angular_velocities=_frozen(world.angular_velocity[rows]),
        carriers=_frozen(index_of_row[world.parent[rows]]),
        joint_starts=_frozen(np.concatenate([[0], np.cumsum(world.robots.joint_count[rows])])),
        joint_positions=_frozen(world.joints.position[slots]),
        joint_velocities=_frozen(world.joints.velocity[slots]),
        # Without pairs of an entity that was removed since the last check.
        collisions=_frozen(collisions[(collisions != NO_ROW).all(axis=1)]),
        colors=_frozen(world.look.rgba[rows]),
        features={
            name: {column: _frozen(array[rows]) for column, _, array in table.columns()}
            for name, table in world.tables.items()
            if isinstance(table, FeatureColumns)
        },
        appearance=appearance,
    )


def _frozen(copy: AnyArray) -> AnyArray:
    copy.flags.writeable = False
    return copy
