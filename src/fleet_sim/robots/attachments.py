"""Attachments of carried objects: columns with parent, link and offset; poses are updated at the end of phase 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.world.schema import KIND_OBJECT, NO_ROW
from fleet_sim.world.shapes import BASE
from fleet_sim.world.world import World

OVERLAP = 0.002
"""Overlap (m) that an engine resolves without throwing anything."""


def link_index(world: World, row: int, link: int | str) -> int:
    """Return the index of a link of `row`, given by index or name.

    Raises UnknownNameError, or InvalidValueError for anything but the base of a body made from shapes.
    """
    model = world.model_of(row)
    if model is not None:
        return model.link_index(link)
    if link != BASE:
        raise InvalidValueError(f"{world.label(row)!r} has no link {link!r}; it has only its base link ({BASE})")
    return BASE


def attach(
    world: World, child: int, parent: int, position: Floats | None, orientation: Floats | None, link: int = BASE
) -> None:
    """Attach `child` to `link` of `parent` at the offset (3,), (4,) in that link's frame; None keeps its pose.

    Raises InvalidValueError for a cycle and StateError if the child is already carried.
    """
    ancestor = parent
    # Carriers may be carried themselves, so the whole chain upwards is looked at.
    while ancestor != NO_ROW:
        if ancestor == child:
            raise InvalidValueError(
                f"{world.label(child)!r} cannot be attached to {world.label(parent)!r}: it would carry itself"
            )
        ancestor = int(world.parent[ancestor])
    if world.parent[child] != NO_ROW:
        holder = world.label(int(world.parent[child]))
        raise StateError(f"{world.label(child)!r} is already attached to {holder!r}; detach it first")
    if position is None or orientation is None:
        position, orientation = relative_pose(world, child, parent, link)
    world.may_carry = True
    world.own("parent_link", "attach_position", "attach_orientation")
    world.parent[child] = parent
    world.parent_link[child] = link
    world.attach_position[child] = position
    world.attach_orientation[child] = orientation
    # It follows its carrier exactly, so the engine must not move it as well.
    world.dynamic[child] = False
    place(world, np.array([child]))


def take(
    world: World, child: int, parent: int, link: int, offset: tuple[Sequence[float], Sequence[float]] | None
) -> bool:
    """Attach `child` to `link` of `parent`, also from another of its links; return False where it may not be taken.

    `offset` is its pose in the frame of the link; None keeps its pose in the world.
    """
    holder = int(world.parent[child])
    if holder not in (NO_ROW, parent) or not (holder == parent or world.pickable[child]):
        return False
    # It may go over from another link of this parent, and `attach` refuses what is carried.
    world.parent[child] = NO_ROW
    if offset is None:
        attach(world, child, parent, None, None, link)
    else:
        attach(world, child, parent, np.array(offset[0]), np.array(offset[1]), link)
        follow_rows(world, np.array([child]))
    return True


def out_of_reach(world: World, child: int, parent: int, link: int, reach: float | None) -> str:
    """Return that `child` is farther from `link` of `parent` than `reach` m, or "" where it is not; None: no limit."""
    if reach is None:
        return ""
    frame = world.link_poses(np.array([parent]), np.array([link]))[0][0]
    x, y, z = (world.position[child] - frame).tolist()
    distance = float(np.sqrt(x * x + y * y + z * z))
    if distance <= reach:
        return ""
    return (
        f"{world.label(child)!r} is {distance:.3f} m away from the link that is to take it, and `reach` is {reach:g} m"
    )


def detach(world: World, child: int, *, dynamic: bool) -> None:
    """Detach `child` at its present pose; with `dynamic` the physics engine moves it again.

    What an engine moves may be put down into its carrier: both pass through each other until they are apart.
    """
    if dynamic or world.dynamic[world.parent[child]]:
        world.own("parting_from")
        world.parting_from[child] = world.parent[child]
        world.collision_rules.changed()
    world.parent[child] = NO_ROW
    if world.owns("parent_link"):
        world.parent_link[child] = BASE
    # What is put down does not slide on with the velocity of its carrier.
    world.velocity[child] = 0.0
    world.angular_velocity[child] = 0.0
    world.dynamic[child] = dynamic
    world.touch(np.array([child]))


def part(world: World, distances: Callable[[Ints, float], Floats]) -> None:
    """Let what was put down and its carrier collide again where they are apart; call it before the engine's step.

    `distances` returns those (M,) of pairs (M, 2) of rows up to a limit, negative where they overlap.
    """
    children = np.flatnonzero(world.parting_from != NO_ROW) if world.owns("parting_from") else NO_ROWS
    if not len(children):
        return
    pairs = np.stack((world.parting_from[children], children), axis=1)
    done_mask = distances(pairs, 0.0) > -OVERLAP
    # What is carried again is exempt as such.
    done_mask |= world.parent[children] != NO_ROW
    if done_mask.any():
        world.parting_from[children[done_mask]] = NO_ROW
        world.collision_rules.changed()


def release_all(world: World, rows: Rows) -> None:
    """Detach entities that are about to be removed from what they carry and from what carries them."""
    for child in children_of(world, rows).tolist():
        detach(world, child, dynamic=world.physics and bool(world.mass[child] > 0.0))
    world.parent[rows] = NO_ROW
    if world.owns("parting_from"):
        world.parting_from[np.isin(world.parting_from, rows)] = NO_ROW
        world.parting_from[rows] = NO_ROW


def relative_pose(world: World, child: int, parent: int, link: int = BASE) -> tuple[Floats, Floats]:
    """Return the pose of `child` in the frame of `link` of `parent`."""
    frame = world.link_poses(np.array([parent]), np.array([link]))
    position, orientation = quaternions.relative(*frame, world.position[[child]], world.orientation[[child]])
    return position[0], orientation[0]


def place(world: World, children: Rows) -> None:
    """Update the poses of `children` from their parents, whose poses must be up to date."""
    if not len(children):
        return
    parents, links = world.parent[children], world.parent_link[children]
    frames, orientations = world.link_poses(parents, links)
    arms = quaternions.rotate(orientations, world.attach_position[children])
    world.position[children] = frames + arms
    world.orientation[children] = quaternions.multiply(orientations, world.attach_orientation[children])
    # A rigid body: the velocity of a point is v + w x r.
    spins = world.angular_velocity[parents]
    world.velocity[children] = world.velocity[parents] + quaternions.cross_rows(spins, arms)
    world.angular_velocity[children] = spins
    on_link = children[links != BASE]
    # A link also moves by its joints, which the velocity of the base does not show.
    if len(on_link):
        world.velocity[on_link], world.angular_velocity[on_link] = world.links.link_velocities(
            world.parent[on_link], world.parent_link[on_link], world.position[on_link]
        )
    world.touch(children)


def children_of(world: World, rows: Rows) -> Rows:
    """Return the rows carried by `rows`, in order of their ids."""
    carried = np.flatnonzero((world.parent != NO_ROW) & world.alive)
    carried = carried[np.isin(world.parent[carried], rows)]
    return carried[np.argsort(world.object_id[carried], kind="stable")]


def follow(world: World) -> None:
    """Update the poses of everything carried by something that moved, parents before children."""
    if not world.may_carry:
        return
    carried = (world.parent != NO_ROW).nonzero()[0]
    world.may_carry = len(carried) > 0
    while len(carried):
        parents = world.parent[carried]
        # Whose carrier is itself carried waits for a later round.
        carried_mask = np.zeros(len(world.parent), np.bool_)
        carried_mask[carried] = True
        waiting_mask = carried_mask[parents]
        ready = carried[~waiting_mask]
        place(world, ready[_astir_mask(world, ready)])
        carried = carried[waiting_mask]


def _astir_mask(world: World, children: Rows) -> Bools:
    """Return which of `children` have a parent that moved, or a velocity, which may have to become zero."""
    parents = world.parent[children]
    mask: Bools = world.moved[parents] | (world.robots.joints_moved[parents] & (world.parent_link[children] != BASE))
    mask |= (world.velocity[children] != 0.0).any(axis=1) | (world.angular_velocity[children] != 0.0).any(axis=1)
    return mask


def follow_rows(world: World, rows: Rows) -> None:
    """Update the poses of everything carried by `rows`, directly or indirectly: for poses set outside the step."""
    children = children_of(world, rows)
    while len(children):
        place(world, children)
        children = children_of(world, children)


def nearest_free(world: World, row: int, centre: Floats, radius: float, *, flat: bool) -> int:
    """Return the row of the free pickable object nearest to `centre` (3,), within `radius` m, but for `row`.

    With `flat` heights do not count. Of several as near, the one spawned first; NO_ROW where there is none.
    """
    free_mask = world.alive & world.pickable & (world.parent == NO_ROW) & (world.kind == KIND_OBJECT)
    free_mask[row] = False
    rows = np.flatnonzero(free_mask)
    offset = world.position[rows] - centre
    if flat:
        offset[:, 2] = 0.0
    squares = (offset * offset).sum(axis=1)
    if not len(rows) or squares.min() > radius * radius:
        return NO_ROW
    return int(rows[np.lexsort((world.object_id[rows], squares))[0]])


# The room that a robot takes on the floor.


_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
_ROUND = (ShapeKind.CYLINDER, ShapeKind.CAPSULE)
_SHAPELESS = (ShapeKind.NONE, ShapeKind.PLANE)


def footprint_radius(world: World, row: int) -> float:
    """Return the radius (m) of the disc about the robot's position that holds it and all that it carries.

    It does so however the robot turns about the vertical axis; 0 for a robot without a collision shape.
    """
    outlines = [_outline(world, member, world.position[row]) for member in _group(world, row)]
    return max(float(trig.hypot(points[:, 0], points[:, 1]).max()) + radius for points, radius in outlines)


def footprint_box(world: World, row: int) -> tuple[float, float]:
    """Return half of the length and of the width (m) of the box about the robot's position, along its own axes, that
    holds it and all that it carries; 0 for a robot without a collision shape."""
    sine, cosine = trig.sin_cos_of(quaternions.yaw_of(world.orientation, row))
    length = width = 0.0
    for member in _group(world, row):
        points, radius = _outline(world, member, world.position[row])
        x, y = points[:, 0], points[:, 1]
        length = max(length, float(np.abs(cosine * x + sine * y).max()) + radius)
        width = max(width, float(np.abs(cosine * y - sine * x).max()) + radius)
    return length, width


def _group(world: World, row: int) -> list[int]:
    """Return `row` and all that it carries; what is carried may carry something itself."""
    rows = np.array([row])
    group = [row]
    while len(rows := children_of(world, rows)):
        group += rows.tolist()
    return group


def _outline(world: World, row: int, middle: Floats) -> tuple[Floats, float]:
    """Return points (K, 2) of the shape of `row` about the vertical axis through `middle` (3,), and a radius in m:
    the shape is within discs of that radius about them, or between those."""
    kind = world.shape_kind[row]
    if kind in _SHAPELESS:
        return np.zeros((1, 2)), 0.0
    orientation = world.orientation[row][None]
    offset = world.position[row] + quaternions.rotate(orientation, world.shape_position[row][None])[0] - middle
    orientation = quaternions.multiply(orientation, world.shape_orientation[row][None])
    upright = abs(quaternions.rotate(orientation, np.array([[0.0, 0.0, 1.0]]))[0, 2]) > 1.0 - 1e-9
    # Tilted cylinders and capsules count as the boxes around them: a little too large is safe.
    if kind == ShapeKind.SPHERE or (kind in _ROUND and upright):
        return offset[None, :2], float(world.radius[row])
    corners = offset + quaternions.rotate(np.repeat(orientation, 8, axis=0), _CORNERS * world.half_extents[row])
    return corners[:, :2], 0.0
