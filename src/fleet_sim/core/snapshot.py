"""Snapshot: the state of all living entities at one moment, for readers outside the step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fleet_sim.arrays import AnyArray, Bools, Bytes, Floats, Ints
from fleet_sim.core.look import Rgba
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.shapes import BodyShape
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
