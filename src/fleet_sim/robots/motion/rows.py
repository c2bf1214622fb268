"""What the laws of motion read and write: columns of rows, and their limits along directions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.base.spatial.quaternions import gather, vector_index
from fleet_sim.base.spatial.rotations import Quaternion, Vector, to_body, to_world
from fleet_sim.world.columns import Scalars, named_columns, numbers_of
from fleet_sim.world.schema import MotionColumns
from fleet_sim.world.world import World

Columns = TypeVar("Columns", bound=tuple[Any, ...])


class BodyArrays(NamedTuple):
    """Columns of the world."""

    alive: Bools
    parent: Ints
    position: Floats
    orientation: Floats
    velocity: Floats
    angular_velocity: Floats
    moved: Bools
    bullet_behind: Bools
    bounds_behind: Bools


class SpeedLimits(NamedTuple):
    """Columns of the limits of motion, of the norm of velocities; where `axis_limited` axes have limits besides."""

    axis_limited: Bools
    linear_limit: Floats
    linear_accel: Floats
    angular_limit: Floats
    angular_accel: Floats


class Steering(NamedTuple):
    """Columns of motion."""

    control: Bytes
    law: Bytes
    path_start: Ints
    path_length: Ints
    waypoint: Ints
    path_fresh: Bools
    align_final: Bools
    tolerance: Floats
    direction: Bytes
    phase: Bytes
    reverse: Bools
    turning: Bools
    body_linear: Floats
    body_angular: Floats
    limits: SpeedLimits


class Twists(NamedTuple):
    """Columns of motion that velocity commands need besides."""

    command_linear: Floats
    command_angular: Floats
    command_expiry: Ints
    linear_limits: Floats
    linear_accels: Floats
    angular_limits: Floats
    angular_accels: Floats


class PathPoints(NamedTuple):
    """The waypoints of all paths."""

    position: Floats
    orientation: Floats
    speed_limit: Floats
    pass_speed: Floats
    braking: Floats


class MotionArrays(NamedTuple):
    """All that the laws read and write of robots, besides columns of their own."""

    bodies: BodyArrays
    steering: Steering
    twists: Twists
    points: PathPoints


class Lists(NamedTuple):
    """Rows found: at the end of their path, of another law, and those whose numbers are none or infinite.

    `counts` says how many each list holds.
    """

    ended: Rows
    left: Rows
    broken: Rows
    counts: Ints


class LawColumns:
    """The columns of one world as its laws take them, and their lists, kept until a table grows.

    Machine code gets the arrays. Python gets views of their memory, whose numbers it reads in less than half the time.
    """

    def __init__(self) -> None:
        self._made_of: tuple[Scalars, Scalars, bool] | None = None
        self._points: object = None

    def of(self, world: World) -> tuple[MotionArrays, Lists]:
        """Return the columns and the lists of `world`."""
        made_of = world.scalars, world.motion.scalars, world.compiled
        pool = world.waypoints
        if made_of != self._made_of:
            self._made_of, self._points = made_of, None
            self._arrays, self._lists = _motion_arrays(world), _new_lists(world.capacity)
            if not world.compiled:
                self._arrays, self._lists = numbers_of(self._arrays), numbers_of(self._lists)
        # Waypoints have a table of their own, which grows by itself.
        if pool.position is not self._points:
            self._points, points = pool.position, named_columns(PathPoints, pool)
            self._arrays = self._arrays._replace(points=points if world.compiled else numbers_of(points))
        return self._arrays, self._lists


_COLUMNS: WeakKeyDictionary[World, LawColumns] = WeakKeyDictionary()


def law_columns(world: World) -> tuple[MotionArrays, Lists]:
    """Return what laws read and write of `world`, for machine code or for Python, whichever it uses."""
    columns = _COLUMNS.get(world)
    if columns is None:
        columns = _COLUMNS[world] = LawColumns()
    return columns.of(world)


def rows_listed(
    world: World, rows: Rows, listed: int, lists: Lists, refusal: Callable[[int], str]
) -> tuple[Rows, Rows]:
    """Return which of `rows`, just moved by a law, are at the ends of their paths, and which it left as they were.

    `listed` says how many are in `lists`. Raises InvalidValueError with `refusal(row)` for one with broken numbers.
    """
    if not world.in_step and world.has_part("bodies"):
        # Inside a step the engine's view is updated once, later.
        world.touch(rows[world.moved[rows]])
    if not listed:
        return NO_ROWS, NO_ROWS
    ended, left, broken = list(lists.counts)
    if broken:
        raise InvalidValueError(refusal(lists.broken[0]))
    return np.array(lists.ended[:ended]), np.array(lists.left[:left])


def _motion_arrays(world: World) -> MotionArrays:
    """Return the columns that the laws work on; they are valid until a table of `world` grows."""
    motion = world.motion
    own = {name: getattr(motion, name) for name in Steering._fields if name != "limits"}
    return MotionArrays(
        named_columns(BodyArrays, world),
        Steering(**own, limits=named_columns(SpeedLimits, motion)),
        named_columns(Twists, motion),
        named_columns(PathPoints, world.waypoints),
    )


def _new_lists(capacity: int) -> Lists:
    """Return empty lists with room for `capacity` rows each."""
    ended, left, broken = (np.empty(capacity, np.int64) for _ in range(3))
    return Lists(ended, left, broken, np.zeros(3, np.int64))


@inlined
def vector_of(column: Floats, row: int) -> Vector:
    return column[row, 0], column[row, 1], column[row, 2]


@inlined
def quaternion_of(column: Floats, row: int) -> Quaternion:
    return column[row, 0], column[row, 1], column[row, 2], column[row, 3]


@inlined
def write_vector(column: Floats, row: int, vector: Vector) -> None:
    column[row, 0], column[row, 1], column[row, 2] = vector


@inlined
def write_quaternion(column: Floats, row: int, q: Quaternion) -> None:
    column[row, 0], column[row, 1], column[row, 2], column[row, 3] = q


@inlined
def touch(bodies: BodyArrays, row: int) -> None:
    """Do what `World.touch` does inside a step."""
    bodies.moved[row] = bodies.bullet_behind[row] = bodies.bounds_behind[row] = True


@inlined
def is_aligned(bodies: BodyArrays, points: PathPoints, row: int, point: int) -> bool:
    """Return whether a row has the orientation of a waypoint, bit for bit."""
    return (
        points.orientation[point, 0] == bodies.orientation[row, 0]
        and points.orientation[point, 1] == bodies.orientation[row, 1]
        and points.orientation[point, 2] == bodies.orientation[row, 2]
        and points.orientation[point, 3] == bodies.orientation[row, 3]
    )


@inlined
def append(rows: Rows, counts: Ints, which: int, row: int) -> None:
    """Append a row to a list whose length is `counts[which]`."""
    rows[counts[which]] = row
    counts[which] += 1


@compiled_step
def is_zero(vector: Vector) -> bool:
    """Return whether all components are 0."""
    return vector[0] == 0.0 and vector[1] == 0.0 and vector[2] == 0.0


# Speed and acceleration limits along directions. A limit applies to the norm, to each body axis, or to both.
# Components of a direction below `NEGLIGIBLE` are ignored, so that a robot that cannot move sideways is not stopped
# by rounding.


# A direction with a smaller component does not use that axis: rounding must not make its limit count.
NEGLIGIBLE = 1e-9
UNLIMITED = 1e12


@compiled_step
def along(norm_limit: float, axis_limits: Vector, direction: Vector) -> float:
    """Return the largest factor of a unit `direction` in the body's frame that meets the limits."""
    least = norm_limit
    for axis in range(3):
        size = abs(direction[axis])
        if size > NEGLIGIBLE:
            least = min(least, axis_limits[axis] / size)
    return least


@compiled_step
def any_way(norm_limit: float, axis_limits: Vector) -> float:
    """Return the limit that holds in every direction; axes that cannot move (limit 0) are ignored."""
    # A differential base has a lateral limit of 0, which must not stop it along its heading.
    least = norm_limit
    for axis in range(3):
        if axis_limits[axis] > 0.0:
            least = min(least, axis_limits[axis])
    return least


@inlined
def limits_along(
    row: int, direction: Vector, bodies: BodyArrays, steering: Steering, twists: Twists
) -> tuple[float, float]:
    """Return the limits of speed and acceleration of a row along a unit `direction` in the world.

    While a robot turns as it drives, the limit of its weakest axis applies too, as its body axes rotate in the step.
    """
    speed, accel = steering.limits.linear_limit[row], steering.limits.linear_accel[row]
    if steering.limits.axis_limited[row]:
        speeds, accels = vector_of(twists.linear_limits, row), vector_of(twists.linear_accels, row)
        inside = to_body(quaternion_of(bodies.orientation, row), direction)
        weakest_speed, weakest_accel = any_way(speed, speeds), any_way(accel, accels)
        speed, accel = along(speed, speeds, inside), along(accel, accels, inside)
        if steering.turning[row]:
            speed, accel = min(speed, weakest_speed), min(accel, weakest_accel)
    return speed, accel


@compiled_step
def clipped(vector: Vector, norm_limit: float, axis_limits: Vector) -> Vector:
    """Return a body `vector` clipped to the limits: first the norm, which keeps the direction, then each axis."""
    x, y, z = vector
    size = math.sqrt(x * x + y * y + z * z)
    if size > norm_limit:
        # Divided first: along an axis that gives the limit itself.
        x, y, z = x / size * norm_limit, y / size * norm_limit, z / size * norm_limit
    return within(x, axis_limits[0]), within(y, axis_limits[1]), within(z, axis_limits[2])


@compiled_step
def within(number: float, limit: float) -> float:
    """Return a number cut to at most `limit` either way."""
    # Of numbers that are equal the second is taken, as NumPy does: it may be a zero of the other sign.
    number = number if number > -limit else -limit
    return number if number < limit else limit


@compiled_step
def within_axis_accels(
    frame: Quaternion, before: Vector, after: Vector, norm_accel: float, axis_accels: Vector, dt: float
) -> Vector:
    """Return a world velocity `after`, moved back towards `before` where an axis of `frame` changes too fast."""
    # The tiny excess accepts changes at the limit despite the rounding of the rotation.
    room = dt * (1.0 + 1e-9)
    change = to_body(frame, (after[0] - before[0], after[1] - before[1], after[2] - before[2]))
    most = (axis_accels[0] * room, axis_accels[1] * room, axis_accels[2] * room)
    allowed = clipped(change, norm_accel * room, most)
    if allowed[0] == change[0] and allowed[1] == change[1] and allowed[2] == change[2]:
        return after
    back = to_world(frame, allowed)
    return before[0] + back[0], before[1] + back[1], before[2] + back[2]


def _any_way(norm_limits: Floats, axis_limits: Floats) -> Floats:
    """Return limits (N,) that hold in every direction; axes that cannot move (limit 0) are ignored."""
    # A differential base has a lateral limit of 0, which must not stop it along its heading.
    usable = np.where(axis_limits > 0.0, axis_limits, np.inf)
    return np.minimum(np.minimum(usable[0], usable[1]), np.minimum(usable[2], norm_limits))


def linear_any_way(motion: MotionColumns, rows: Rows) -> tuple[Floats, Floats]:
    """Return linear speed and acceleration limits (N,) that hold in every direction."""
    index = vector_index(rows)
    return (
        _any_way(motion.linear_limit[rows], gather(motion.linear_limits, index)),
        _any_way(motion.linear_accel[rows], gather(motion.linear_accels, index)),
    )


def angular_any_way(motion: MotionColumns, rows: Rows) -> tuple[Floats, Floats]:
    """Return angular speed and acceleration limits (N,) that hold about every axis."""
    index = vector_index(rows)
    return (
        _any_way(motion.angular_limit[rows], gather(motion.angular_limits, index)),
        _any_way(motion.angular_accel[rows], gather(motion.angular_accels, index)),
    )
