"""Objects carried by others: columns of the parent and the offset, followed at the end of phase 1."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.spatial import quaternions


def attach(world: World, child: int, parent: int, position: Floats | None, orientation: Floats | None) -> None:
    """Let `child` follow `parent` at the offset (3,), (4,) in the parent's frame; None keeps its present place.

    Raises InvalidValueError for a cycle and StateError when the child is carried already.
    """
    ancestor = parent
    while ancestor != NO_ROW:
        if ancestor == child:
            raise InvalidValueError(
                f"{world.label(child)!r} cannot be attached to {world.label(parent)!r}: it would carry itself"
            )
        ancestor = int(world.parent[ancestor])
    if world.parent[child] != NO_ROW:
        holder = world.label(int(world.parent[child]))
        raise StateError(f"{world.label(child)!r} is attached to {holder!r} already; detach it first")
    if position is None or orientation is None:
        position, orientation = relative_pose(world, child, parent)
    world.parent[child] = parent
    world.attach_position[child] = position
    world.attach_orientation[child] = orientation
    world.dynamic[child] = False
    place(world, np.array([child]))


def detach(world: World, child: int, *, dynamic: bool) -> None:
    """Let go of `child` where it is; `dynamic` hands it back to the physics engine."""
    world.parent[child] = NO_ROW
    world.parent_link[child] = -1
    world.velocity[child] = 0.0
    world.angular_velocity[child] = 0.0
    world.dynamic[child] = dynamic
    world.touch(np.array([child]))


def relative_pose(world: World, child: int, parent: int) -> tuple[Floats, Floats]:
    """Return the pose of `child` in the frame of `parent`."""
    back = quaternions.conjugate(world.orientation[[parent]])
    offset = quaternions.rotate(back, world.position[[child]] - world.position[[parent]])
    return offset[0], quaternions.multiply(back, world.orientation[[child]])[0]


def place(world: World, children: Rows) -> None:
    """Put `children` where their parents carry them. A parent must be in place before its children."""
    parents = world.parent[children]
    turn = world.orientation[parents]
    world.position[children] = world.position[parents] + quaternions.rotate(turn, world.attach_position[children])
    world.orientation[children] = quaternions.multiply(turn, world.attach_orientation[children])
    world.velocity[children] = world.velocity[parents]
    world.angular_velocity[children] = world.angular_velocity[parents]
    world.touch(children)


def children_of(world: World, rows: Rows) -> Rows:
    """Return the rows carried by `rows`, in order of their ids."""
    carried = np.flatnonzero((world.parent != NO_ROW) & world.alive)
    carried = carried[np.isin(world.parent[carried], rows)]
    return carried[np.argsort(world.object_id[carried], kind="stable")]


def follow(world: World) -> None:
    """Move everything that is carried by something that moved, parents before children."""
    carried = np.flatnonzero(world.parent != NO_ROW)
    while len(carried):
        parents = world.parent[carried]
        waiting_mask = np.isin(parents, carried)
        ready = carried[~waiting_mask]
        place(world, ready[world.moved[world.parent[ready]]])
        carried = carried[waiting_mask]


def follow_rows(world: World, rows: Rows) -> None:
    """Move what is carried by `rows`, and what that carries in turn: for poses set outside the step."""
    children = children_of(world, rows)
    while len(children):
        place(world, children)
        children = children_of(world, children)
