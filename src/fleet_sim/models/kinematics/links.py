"""WorldLinks: the link poses of a world's robots, computed once per change and cached; and where wheels are."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.quaternions import cross
from fleet_sim.base.spatial.shapes import ROUND_KINDS, ShapeKind
from fleet_sim.models.kinematics.tree import ORIGIN, Forward, Tree, orientations, tree_of
from fleet_sim.models.meshes.loading import mesh_extents
from fleet_sim.models.profile import Structure
from fleet_sim.world.shapes import BASE, FIXED, REVOLUTE, Geometry, LinkGeometry, RobotModel, half_extents_of
from fleet_sim.world.world import World

# Bounding boxes of robots at their present joint values, in the frames of their bases; many robots at once.


CHUNK = 256
"""Robots computed at once, few enough that the temporary arrays stay in the processor's cache."""
ROUND = 1e-6
"""How far a round shape may be off its axis, by its radius, and lean, in rad: files round their numbers."""

_UP = np.array([[0.0, 0.0, 1.0]])


class BodyBoxes(NamedTuple):
    """G boxes, each part of a body: centres (3, G) in the frame of the body, and half axes (3, 3, G), in columns."""

    bodies: Ints
    centres: Floats
    half_axes: Floats


def robot_boxes(boxes: BodyBoxes, frames: Floats) -> tuple[Floats, Floats]:
    """Return centres and half extents, (N, 3) and (N, 3), of the boxes around robots in the frames of their bases.

    `frames` (3, 4, B + 1, N) are those of all bodies, see `Forward`. Without collision shapes a box has size 0.
    """
    count = frames.shape[3]
    centres, halves = np.zeros((count, 3)), np.zeros((count, 3))
    if not len(boxes.bodies):
        return centres, halves
    # In pieces that stay in the cache.
    for start in range(0, count, CHUNK):
        part = slice(start, min(start + CHUNK, count))
        chosen = frames[:, :, boxes.bodies, part]
        axes, origins = chosen[:, :ORIGIN], chosen[:, ORIGIN]
        centre, extent = origins.copy(), np.zeros(origins.shape)
        for axis in range(3):
            centre += axes[:, axis] * boxes.centres[axis][:, None]
            side = axes[:, 0] * boxes.half_axes[0, axis][:, None]
            side += axes[:, 1] * boxes.half_axes[1, axis][:, None]
            side += axes[:, 2] * boxes.half_axes[2, axis][:, None]
            # The extent of a rotated box along an axis is the sum of its half axes' absolute components.
            extent += np.abs(side)
        lower, upper = (centre - extent).min(axis=1).T, (centre + extent).max(axis=1).T
        centres[part], halves[part] = 0.5 * (lower + upper), 0.5 * (upper - lower)
    return centres, halves


def model_box(model: RobotModel, values: Floats) -> tuple[Floats, Floats]:
    """Return centre and half extents, (3,) and (3,), of the box around a robot with joint values (M,)."""
    frames = Forward(tree_of(model)).frames(values[None])
    centre, half = robot_boxes(body_boxes(model), frames)
    return centre[0], half[0]


@lru_cache(maxsize=256)
def body_boxes(model: RobotModel) -> BodyBoxes:
    """Return the boxes of the collision shapes of `model`; raises InvalidValueError for unusable meshes and planes."""
    tree, count = tree_of(model), len(model.collisions)
    bodies, centres, half_axes = np.zeros(count, np.int64), np.zeros((3, count)), np.zeros((3, 3, count))
    for index, (link, geometry) in enumerate((part.link, part.geometry) for part in model.collisions):
        offset, half = _box(geometry)
        position, orientation = quaternions.compose(
            tree.link_position[[link]],
            tree.link_orientation[[link]],
            np.array([geometry.position]),
            np.array([geometry.orientation]),
        )
        # The columns are the half axes: the box's axes in the body's frame, each as long as half the box.
        body, axes = int(tree.link_body[link]), quaternions.to_matrices(orientation)[0] * half
        centre = position[0] + quaternions.rotate(orientation, offset[None])[0]
        if body != BASE and _is_round(tree, link, geometry):
            # A wheel fills the same room however it is turned: its box is part of what carries it.
            frame = tree.still[:, :, body, 0] + tree.cosine[:, :, body, 0]
            x, y, z, origin = frame.T
            centre = x * centre[0] + y * centre[1] + z * centre[2] + origin
            axes = x[:, None] * axes[0] + y[:, None] * axes[1] + z[:, None] * axes[2]
            body = int(tree.parents[body])
        bodies[index], centres[:, index], half_axes[:, :, index] = body, centre, axes
    return BodyBoxes(bodies, centres, half_axes)


def round_mask(model: RobotModel) -> Bools:
    """Return which joints (J,) turn nothing but what is round about their axis: turning them changes no outline."""
    tree = tree_of(model)
    # A joint that turns anything else than round shapes changes the outline.
    mask = model.joint_types == REVOLUTE
    for part in model.collisions:
        body = int(tree.link_body[part.link])
        if body != BASE and not _is_round(tree, part.link, part.geometry):
            mask[model.movable[tree.slots[body]]] = False
    # What is below another joint is moved about with it.
    for body in tree.parents[tree.parents != BASE].tolist():
        mask[model.movable[tree.slots[body]]] = False
    return np.asarray(mask)


def _is_round(tree: Tree, link: int, geometry: Geometry) -> bool:
    """Return whether a shape is round about the axis of the joint that moves its body, which is not the base."""
    body = int(tree.link_body[link])
    if geometry.kind not in ROUND_KINDS or not tree.turning[body, 0]:
        return False
    position, orientation = quaternions.compose(
        tree.link_position[[link]],
        tree.link_orientation[[link]],
        np.array([geometry.position]),
        np.array([geometry.orientation]),
    )
    # The joint turns about the origin of its body: the shape has to be on that axis, and along it.
    axis = tree.axis[:, body, 0]
    off = np.abs(np.cross(axis, position[0])).max()
    lean = np.abs(np.cross(axis, quaternions.rotate(orientation, _UP)[0])).max()
    return bool(off <= ROUND * geometry.radius and (geometry.kind == ShapeKind.SPHERE or lean <= ROUND))


def mesh_box(geometry: Geometry) -> tuple[Floats, Floats]:
    """Return centre (3,), in the body frame, and half extents (3,) of the box around a mesh.

    The box has the orientation of the geometry. Raises InvalidValueError for a file that cannot be read.
    """
    offset, half = _mesh_box(geometry)
    turned = quaternions.rotate(np.array([geometry.orientation]), offset[None])[0]
    return np.asarray(geometry.position + turned), half


def _mesh_box(geometry: Geometry) -> tuple[Floats, Floats]:
    corners = np.array(mesh_extents(geometry.mesh_path)) * geometry.mesh_scale
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    return 0.5 * (lower + upper), 0.5 * (upper - lower)


def _box(geometry: Geometry) -> tuple[Floats, Floats]:
    """Return centre and half extents of the box around a geometry, in its own frame."""
    if geometry.kind == ShapeKind.MESH:
        return _mesh_box(geometry)
    if geometry.kind == ShapeKind.PLANE:
        raise InvalidValueError("a plane is unbounded and has no box; robots collide with finite shapes")
    return np.zeros(3), np.array(half_extents_of(geometry))


# Earlier than any step, and far enough from the end of int64 for subtractions.
_NEVER = -(2**62)


class WorldLinks:
    """The links of all robots of a world (a RobotLinks).

    Body frames are cached together with the joint values they were computed from, so they cannot be out of date. When
    the frames of one robot are computed, so are those of all robots of its model that were queried in this or the last
    step: code that queries robot by robot shares one computation.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._shelves: dict[int, _Shelf] = {}

    def link_poses(self, rows: Rows, links: Ints) -> tuple[Floats, Floats]:
        """Return the world poses (N, 3), (N, 4) of one link per row; -1 is the base.

        Raises InvalidValueError for a link that the robot in a row does not have.
        """
        world = self._world
        positions, orientations = self.poses_in_base(rows, links)
        return quaternions.compose(world.position[rows], world.orientation[rows], positions, orientations)

    def poses_in_base(self, rows: Rows, links: Ints) -> tuple[Floats, Floats]:
        """Return the poses of one link per row in the frame of its robot's base."""
        positions, orientations = np.zeros((len(rows), 3)), np.tile(quaternions.IDENTITY, (len(rows), 1))
        for number, members in self._by_model(rows, links):
            positions[members], orientations[members] = self._shelf(number).link_frames(rows[members], links[members])
        return positions, orientations

    def link_velocities(self, rows: Rows, links: Ints, points: Floats) -> tuple[Floats, Floats]:
        """Return linear velocities (N, 3) of world `points` (N, 3) fixed to one link per row, and angular ones (N, 3).

        Both are in the world frame and include the velocities of the base and of the joints.
        """
        world = self._world
        linear, angular = world.velocity[rows], world.angular_velocity[rows]
        linear = linear + quaternions.cross_rows(angular, points - world.position[rows])
        for number, members in self._by_model(rows, links):
            chosen = rows[members]
            turn, place = world.orientation[chosen], world.position[chosen]
            inside = quaternions.rotate(quaternions.conjugate(turn), points[members] - place)
            sweep, spin = self._shelf(number).link_velocities(chosen, links[members], inside)
            linear[members] += quaternions.rotate(turn, sweep)
            angular[members] += quaternions.rotate(turn, spin)
        return linear, angular

    def body_frames(self, rows: Rows) -> tuple[Floats, Ints]:
        """Return the frames (3, 4, B + 1, R) of the bodies of robots of one model, see `Forward`, and their columns.

        Robot `rows[n]` is in column n of the second (N,). The arrays change with the next call.
        """
        return self._shelf(int(self._world.robots.model[rows[0]])).body_frames(rows)

    def refresh_boxes(self) -> Rows:
        """Update half extents and shape positions of the boxes of robots whose joints moved.

        Returns their rows. Raises InvalidValueError for a mesh that cannot be read.
        """
        world = self._world
        behind = world.robots.boxes_behind
        rows = behind.nonzero()[0]
        if not len(rows):
            return rows
        behind[rows] = False
        rows = rows[world.alive[rows] & (world.robots.joint_count[rows] > 0)]
        if not len(rows):
            # np.unique would load numpy.ma, megabytes of code, also for a fleet without joints.
            return rows
        numbers = world.robots.model[rows]
        for number in np.unique(numbers).tolist():
            self._shelf(number).refresh_boxes(rows[numbers == number])
        return rows

    def _by_model(self, rows: Rows, links: Ints) -> list[tuple[int, Ints]]:
        """Return (model number, indices into `rows` with it) for all rows whose link is not the base."""
        moving_mask = links != BASE
        numbers = self._world.robots.model[rows]
        groups = []
        for number in np.unique(numbers[moving_mask]).tolist():
            members = np.flatnonzero(moving_mask & (numbers == number))
            count = self._world.models[number].num_joints if number >= 0 else 0
            bad = members[(links[members] >= count) | (links[members] < BASE)]
            if len(bad):
                label = self._world.label(int(rows[bad[0]]))
                has = f"links -1 (base) to {count - 1}" if count else "only its base (-1)"
                raise InvalidValueError(f"{label!r} has no link {int(links[bad[0]])}; it has {has}")
            groups.append((number, members))
        return groups

    def _shelf(self, number: int) -> _Shelf:
        shelf = self._shelves.get(number)
        if shelf is None:
            shelf = self._shelves[number] = _Shelf(self._world, self._world.models[number])
        return shelf


class _Shelf:
    """The cached body frames of the robots of one model that were ever queried, by place."""

    def __init__(self, world: World, model: RobotModel) -> None:
        self._world, self._model = world, model
        tree = self._tree = tree_of(model)
        self._forward = Forward(tree)
        self._place_of_row: Ints = np.full(world.capacity, -1, np.int64)
        self._used = 0
        self._rows: Rows = np.empty(0, np.int64)
        self._asked: Ints = np.empty(0, np.int64)
        self._values: Floats = np.empty((0, len(tree.slots)))
        self._frames: Floats = np.empty((3, 4, len(tree.slots) + 1, 0))

    def body_frames(self, rows: Rows) -> tuple[Floats, Ints]:
        """Return the frames of all robots that were ever queried, and the places (N,) of `rows` among them."""
        places = self._fresh(rows)
        return self._frames, places

    def link_frames(self, rows: Rows, links: Ints) -> tuple[Floats, Floats]:
        """Return the pose of one link per row in the base frame, (N, 3) and (N, 4)."""
        places, tree = self._fresh(rows), self._tree
        bodies = tree.link_body[links]
        body = int(bodies[0])
        # The frames of robots with consecutive places are a view.
        alike = bool((bodies == body).all())
        frames = self._frames[:, :, body, _span(places)] if alike else self._frames[:, :, bodies, places]
        return quaternions.compose(
            frames[:, ORIGIN].T, orientations(frames), tree.link_position[links], tree.link_orientation[links]
        )

    def link_velocities(self, rows: Rows, links: Ints, points: Floats) -> tuple[Floats, Floats]:
        """Return the velocity of `points` and the angular velocity of the link due to the joints, in the base frame."""
        places, tree, joints = self._fresh(rows), self._tree, self._world.joints
        linear, angular = np.zeros((3, len(rows))), np.zeros((3, len(rows)))
        points, bodies = np.ascontiguousarray(points.T), tree.link_body[links]
        starts = self._world.robots.joint_start[rows]
        for body in np.unique(bodies).tolist():
            on = _span(np.flatnonzero(bodies == body))
            at, places_of = _span(places[on]), points[:, on]
            # Walk from the link to the base and add the contribution of each joint on the way.
            while body != BASE:
                frame = self._frames[:, :, body, at]
                axes = frame[:, 0] * tree.axis[0, body] + frame[:, 1] * tree.axis[1, body]
                axes += frame[:, 2] * tree.axis[2, body]
                axes *= joints.velocity[starts[on] + tree.slots[body]]
                if tree.turning[body, 0]:
                    angular[:, on] += axes
                    # A slide moves all points alike, a hinge each by its arm.
                    axes = cross(axes, places_of - frame[:, ORIGIN])
                linear[:, on] += axes
                body = int(tree.parents[body])
        return linear.T, angular.T

    def refresh_boxes(self, rows: Rows) -> None:
        """Compute the boxes of `rows` and write them to the columns."""
        world, places = self._world, self._fresh(rows)
        frames = self._frames[..., _span(places)]
        world.shape_position[rows], world.half_extents[rows] = robot_boxes(body_boxes(self._model), frames)
        world.shape_centred[rows] = False

    def _fresh(self, rows: Rows) -> Ints:
        """Return the places (N,) of `rows`, after updating their frames to the present joint values."""
        places = self._placed(rows)
        now = self._world.clock.tick
        self._asked[places] = now
        # Compared by value, so that nobody who writes joint values has to say so.
        if (self._joint_values(rows) != self._values[places]).any():
            recent = np.flatnonzero(self._asked[: self._used] >= now - 1)
            # A robot of this model may have been removed since, and its row be used by a different model.
            same_mask = self._world.robots.model[self._rows[recent]] == self._world.robots.model[rows[0]]
            recent = recent[same_mask]
            values = self._joint_values(self._rows[recent])
            old_mask = (values != self._values[recent]).any(axis=1)
            self._compute(recent[old_mask], values[old_mask])
        return places

    def _compute(self, places: Ints, values: Floats) -> None:
        frames = self._forward.frames(values, compiled=self._world.casts_compiled(len(values)))
        chosen = _span(places)
        self._values[chosen] = values
        self._frames[..., chosen] = frames

    def _joint_values(self, rows: Rows) -> Floats:
        starts = self._world.robots.joint_start[rows]
        return self._world.joints.position[starts[:, None] + np.arange(len(self._tree.slots))]

    def _placed(self, rows: Rows) -> Ints:
        """Return the places (N,) of `rows` (N,) on the shelf; rows that have none get one."""
        if self._world.capacity > len(self._place_of_row):
            grown = np.full(self._world.capacity, -1, np.int64)
            grown[: len(self._place_of_row)] = self._place_of_row
            self._place_of_row = grown
        places = self._place_of_row[rows]
        if (places < 0).any():
            new = np.unique(rows[places < 0])
            self._reserve(self._used + len(new))
            fresh = np.arange(self._used, self._used + len(new))
            self._place_of_row[new], self._rows[fresh] = fresh, new
            self._used += len(new)
            places = self._place_of_row[rows]
        return places

    def _reserve(self, count: int) -> None:
        """Make room for `count` robots; what is kept of those on the shelf stays."""
        have = len(self._rows)
        if count <= have:
            return
        more = max(2 * have, count) - have
        self._rows = np.concatenate((self._rows, np.zeros(more, np.int64)))
        self._asked = np.concatenate((self._asked, np.full(more, _NEVER)))
        # NaN equals nothing: new places are computed at their first use.
        self._values = np.concatenate((self._values, np.full((more, self._values.shape[1]), np.nan)))
        bodies = self._values.shape[1]
        frames = np.zeros((3, 4, bodies + 1, more))
        # The last body is the base: the identity.
        frames[[0, 1, 2], [0, 1, 2], bodies] = 1.0
        self._frames = np.concatenate((self._frames, frames), axis=3)


def _span(index: Ints) -> Ints | slice:
    """Return `index` (N,), not empty, as a slice if it is consecutive: slices are much faster than index arrays."""
    first, count = int(index[0]), len(index)
    if int(index[-1]) - first == count - 1 and bool((np.diff(index) == 1).all()):
        return slice(first, first + count)
    return index


log = logging.getLogger(__name__)

LEVEL = 0.9
"""Smallest component in the plane of a wheel's axis, and smallest upward component of the axis of what steers it."""
ALIKE = 0.1
"""How much the two half widths of a wheel's mesh may differ, as a fraction of the larger one."""

UNSTEERED = -1
"""In place of the joint that steers a wheel: there is none."""


@dataclass(frozen=True, eq=False)
class WheelPlaces:
    """The K wheels of a model that roll on the ground, and the S joints that steer them; joints by number among those
    that move.

    `at` (K, 2) is where a wheel is and `heading` (K, 2) the unit vector in which it rolls when its joint turns
    positively, both in the base frame with all joints at 0. `steered_by` (K,) indexes `steering` (S,), or is UNSTEERED.
    `steering_sign` (S,) is 1 where a positive angle steers to the left, else -1. Turning an `even` wheel changes the
    outline of nothing.
    """

    wheels: Ints
    at: Floats
    heading: Floats
    radii: Floats
    even: Bools
    steered_by: Ints
    steering: Ints
    steering_at: Floats
    steering_sign: Floats

    @property
    def cornered(self) -> bool:
        """Whether there are four wheels with sideways axes, one in each quadrant, as on mecanum bases."""
        if len(self.wheels) != 4 or bool((self.steered_by != UNSTEERED).any()):
            return False
        quadrants = set(zip(np.sign(self.at[:, 0]).tolist(), np.sign(self.at[:, 1]).tolist(), strict=True))
        return bool((np.abs(self.heading[:, 0]) > LEVEL).all()) and len(quadrants) == 4 and bool(self.at.all())


@lru_cache(maxsize=256)
def find_places(model: RobotModel, radius: float = 0.0, separation: float = 0.0) -> WheelPlaces:
    """Return the wheels of `model` with a level axis that are attached to its base, directly or below what steers them.

    A `radius` and a `separation` of left and right wheels in m take the place of what the description says; 0 leaves
    that to it. A wheel below any other moving joint does not count, nor does one whose radius is not known.
    """
    structure = Structure(model)
    positions, orientations = structure.frames
    axes = quaternions.rotate(orientations, model.axes) if model.num_joints else np.zeros((0, 3))
    wheels, steering = _find_wheels(model, structure, axes, radius)
    joints = np.array([joint for joint, _, _, _ in wheels], np.int64)
    at = positions[joints, :2].reshape(-1, 2)
    # Wheels on the middle line stay on it.
    if separation:
        at[:, 1] = np.sign(at[:, 1]) * 0.5 * separation
    return WheelPlaces(
        wheels=model.slots[joints],
        at=at,
        heading=np.array([heading for _, heading, _, _ in wheels]).reshape(-1, 2),
        radii=np.array([size for _, _, size, _ in wheels]),
        even=round_mask(model)[joints],
        steered_by=np.array([steered_by for _, _, _, steered_by in wheels], np.int64),
        steering=model.slots[np.array(steering, np.int64)],
        steering_at=positions[steering, :2].reshape(-1, 2),
        steering_sign=np.sign(axes[steering, 2]),
    )


_Wheel = tuple[int, tuple[float, float], float, int]
"""The joint of a wheel, where it heads, its radius in m, and the number of what steers it."""


def _find_wheels(
    model: RobotModel, structure: Structure, axes: Floats, radius: float
) -> tuple[list[_Wheel], list[int]]:
    """Return the wheels that roll, and the joints that steer some; warns of wheels whose radius is not known."""
    found: list[_Wheel] = []
    unknown: list[str] = []
    steering: list[int] = []
    for joint in np.flatnonzero(structure.wheel_mask).tolist():
        # The moving joints between it and the base.
        above = [link for link in list(model.chain(joint))[1:] if model.joint_types[link] != FIXED]
        level = math.sqrt(axes[joint, 0] * axes[joint, 0] + axes[joint, 1] * axes[joint, 1])
        if level < LEVEL or len(above) > 1 or any(not _steers(model, axes, link) for link in above):
            continue
        size = radius or _radius(model, joint)
        if not size:
            unknown.append(model.joint_names[joint])
            continue
        steered_by = UNSTEERED
        if above:
            steering += [] if above[0] in steering else above
            steered_by = steering.index(above[0])
        # A wheel rolls ahead where its axis points to the left.
        heading = (axes[joint, 1] / level, -axes[joint, 0] / level)
        found.append((joint, heading, size, steered_by))
    if unknown:
        log.warning("%s: wheels of unknown radius do not turn (give wheel_radius): %s", model.name, ", ".join(unknown))
    return found, steering


def _steers(model: RobotModel, axes: Floats, joint: int) -> bool:
    return bool(model.joint_types[joint] == REVOLUTE) and abs(float(axes[joint, 2])) >= LEVEL


def _radius(model: RobotModel, joint: int) -> float:
    """Return the radius of the wheel that `joint` turns, 0 if nothing of it tells: as it collides, else as it looks."""
    for pieces in (model.collisions, model.visuals):
        radius = max((_radius_of(piece.geometry, model.axes[joint]) for piece in _of(pieces, joint)), default=0.0)
        if radius:
            return radius
    return 0.0


def _of(pieces: tuple[LinkGeometry, ...], link: int) -> list[LinkGeometry]:
    return [piece for piece in pieces if piece.link == link]


def _radius_of(shape: Geometry, axis: Floats) -> float:
    """Return the radius of a round shape, or of a mesh that is as wide as high across `axis` (3,), else 0."""
    if shape.kind in ROUND_KINDS:
        return shape.radius
    if shape.kind != ShapeKind.MESH:
        return 0.0
    # The axis in the frame of the mesh, which has to be as wide as high across it.
    inside = quaternions.rotate(quaternions.conjugate(np.array([shape.orientation])), axis[None])[0]
    along = int(np.argmax(np.abs(inside)))
    if abs(inside[along]) < LEVEL:
        return 0.0
    try:
        _, half_extents = mesh_box(shape)
    except InvalidValueError:
        # Whoever needs the mesh itself says what is wrong with it.
        return 0.0
    low, high = sorted(np.delete(half_extents, along).tolist())
    return high if high - low <= ALIKE * high else 0.0
