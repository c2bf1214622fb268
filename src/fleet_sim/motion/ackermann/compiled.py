"""The law of cars in one pass over its rows, with the bits of the law on arrays.

It has the two usual cases: a velocity command, and the inside of a piece of a curve. Planning, ends of pieces and odd
numbers are left to `law.py`.
"""

from __future__ import annotations

import math
from typing import NamedTuple
from weakref import WeakKeyDictionary

from fleet_sim.arrays import Bools, Bytes, Floats, Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.columns import Scalars, named_columns
from fleet_sim.core.world import World
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.kernels.turns import atan2, heading, multiply, norm_of, sin_cos
from fleet_sim.motion.ackermann.columns import AckermannColumns
from fleet_sim.motion.path import TOUCH
from fleet_sim.motion.profile import ROUNDING, SLACK, TINY, next_speed
from fleet_sim.motion.rows import (
    BodyArrays,
    Lists,
    MotionArrays,
    PathPoints,
    Steering,
    Twists,
    motion_arrays,
    new_lists,
    quaternion_of,
    touch,
    write_quaternion,
    write_vector,
)

_IDLE, _VELOCITY = ControllerMode.IDLE.code, ControllerMode.VELOCITY.code


class Cars(NamedTuple):
    """Columns of cars."""

    wheelbase: Floats
    min_radius: Floats
    steering_rate: Floats
    steering: Floats
    lengths: Floats
    curvatures: Floats
    exits: Floats
    pieces: Bytes
    piece: Bytes
    done: Floats
    exact: Bools
    start: Floats
    start_turn: Floats
    left_at: Floats
    left_turn: Floats


class CompiledCars:
    """Moves cars of one world by compiled code, but for those that have to be planned for or pass a piece."""

    def __init__(self, table: AckermannColumns) -> None:
        self._table = table
        self._tables: tuple[Scalars | None, ...] = (None, None, None)

    @staticmethod
    def of(world: World, table: AckermannColumns) -> CompiledCars:
        """Return the one of a world."""
        if world not in _COMPILED or _COMPILED[world]._table is not table:
            _COMPILED[world] = CompiledCars(table)
        return _COMPILED[world]

    def advance(self, world: World, rows: Rows, dt: float) -> tuple[Rows, Rows]:
        """Move `rows` by one step; return those left as they were, and those at the end of their paths."""
        tables = world.scalars, world.motion.scalars, self._table.scalars
        # A table that has grown has other arrays.
        if tables != self._tables:
            self._tables = tables
            self._arrays = motion_arrays(world)
            self._cars = named_columns(Cars, self._table)
            self._lists = new_lists(world.capacity)
        lists, pool = self._lists, world.waypoints
        # Waypoints have a table of their own, which grows by itself.
        arrays = self._arrays._replace(points=named_columns(PathPoints, pool))
        advance_cars(rows, world.clock.tick, dt, pool.limited, arrays, self._cars, lists)
        ended, left, _ = lists.counts.tolist()
        return lists.left[:left].copy(), lists.ended[:ended].copy()


_COMPILED: WeakKeyDictionary[World, CompiledCars] = WeakKeyDictionary()


@compiled_step
def advance_cars(
    rows: Rows,
    tick: int,
    dt: float,
    limited: bool,
    arrays: MotionArrays,
    cars: Cars,
    lists: Lists,
) -> None:
    """Move `rows` by one step; list those that ended their path, and those left as they were."""
    bodies, steering, twists, _ = arrays
    lists.counts[:] = 0
    for row in rows:
        if steering.control[row] == _VELOCITY:
            done = _follow_velocity(row, tick, dt, bodies, steering, twists, cars)
        else:
            done = _follow_curve(row, dt, limited, arrays, cars)
        if not done:
            lists.left[lists.counts[1]] = row
            lists.counts[1] += 1


@inlined
def _follow_velocity(
    row: int, tick: int, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists, cars: Cars
) -> bool:
    """Do what `law.follow_velocities` does; False, with the row as it was, for commands that expire and odd numbers."""
    expiry = twists.command_expiry[row]
    wanted, spin = twists.command_linear[row, 0], twists.command_angular[row, 2]
    old = steering.body_linear[row, 0]
    if 0 <= expiry <= tick or not (abs(wanted) < math.inf and abs(spin) < math.inf and abs(old) < math.inf):
        return False
    wheelbase, tightest = cars.wheelbase[row], 1.0 / cars.min_radius[row]
    angle = cars.steering[row]
    # With no wanted speed the wheels stay as they are.
    if wanted != 0.0:
        # A car does not turn on the spot: the turning speed becomes a curvature (1/m), as tight as the wheels allow.
        bend = _within(spin / wanted, tightest)
        angle = atan2(wheelbase * bend, 1.0)
    goal, angle = angle, _changed(cars.steering[row], angle, cars.steering_rate[row], dt)
    sine, cosine = sin_cos(angle)
    # tan(angle) / wheelbase: the curvature that the wheels give by now.
    bend = _within(sine / (cosine * wheelbase), tightest)
    speed, accel = _limits(row, bend, steering, twists)
    # At rest it waits until the wheels are turned.
    aim = 0.0 if old == 0.0 and angle != goal else wanted
    new = _changed(old, _within(aim, speed), accel, dt)
    way = (old + new) * (0.5 * dt)
    x, y = bodies.position[row, 0], bodies.position[row, 1]
    if not _place(row, x, y, bodies.orientation, way, bend, bodies):
        return False
    cars.steering[row] = angle
    _give_twist(row, new, bend, bodies, steering)
    if way != 0.0:
        touch(bodies, row)
    if wanted == 0.0 and new == 0.0:
        steering.control[row] = _IDLE
        twists.command_expiry[row] = -1
    return True


@inlined
def _follow_curve(row: int, dt: float, limited: bool, arrays: MotionArrays, cars: Cars) -> bool:
    """Do what `law.follow_poses` does within a piece; False, with the row as it was, for all else."""
    bodies, steering, twists, points = arrays
    piece = cars.piece[row]
    # A new path is planned first, and a car that somebody has moved is on no curve.
    if steering.path_fresh[row] or piece >= cars.pieces[row] or _is_moved(row, bodies, cars):
        return False
    length, bend, leaving = cars.lengths[row, piece], cars.curvatures[row, piece], cars.exits[row, piece]
    # Pieces that are driven backward have negative lengths.
    sign = -1.0 if length < 0.0 else 1.0
    speed = steering.body_linear[row, 0]
    angle = atan2(cars.wheelbase[row] * bend, 1.0)
    # Wheels with a limited rate are turned at rest, where one piece ends and one of another curvature begins.
    if cars.steering[row] != angle and cars.steering_rate[row] != math.inf:
        if speed != 0.0:
            return False
        cars.steering[row] = _changed(cars.steering[row], angle, cars.steering_rate[row], dt)
        _rest(row, bodies, steering)
        return True
    along, left = speed * sign, abs(length) - cars.done[row]
    headed = steering.path_start[row] + steering.waypoint[row]
    limit, accel = _limits(row, bend, steering, twists)
    if limited and points.speed_limit[headed] < limit:
        limit = points.speed_limit[headed]
    if not (0.0 <= along < math.inf and accel > 0.0):
        return False
    new = next_speed(along, left, leaving, limit, accel, dt, 1.0)
    new = new if new > 0.0 else 0.0
    stopped = leaving == 0.0 and _can_stop(left, along, limit, accel, dt)
    way = left if stopped else (along + new) * (0.5 * dt)
    done = abs(length) if stopped else cars.done[row] + way
    # The end of a piece, of a curve and of a path are looked at on arrays.
    if stopped or (leaving > 0.0 and way + TOUCH >= left) or done > abs(length):
        return False
    # From the beginning of the piece, not from the last step: rounding does not add up.
    x, y = cars.start[row, 0], cars.start[row, 1]
    if not _place(row, x, y, cars.start_turn, done * sign, bend, bodies):
        return False
    cars.steering[row], cars.done[row] = angle, done
    _give_twist(row, new * sign, bend, bodies, steering)
    if way != 0.0:
        touch(bodies, row)
    # To see in the next step whether somebody else has moved it.
    for axis in range(2):
        cars.left_at[row, axis] = bodies.position[row, axis]
    for axis in range(4):
        cars.left_turn[row, axis] = bodies.orientation[row, axis]
    return True


@inlined
def _is_moved(row: int, bodies: BodyArrays, cars: Cars) -> bool:
    # By equality: nothing else writes the same bits.
    moved = False
    for axis in range(2):
        moved |= bodies.position[row, axis] != cars.left_at[row, axis]
    for axis in range(4):
        moved |= bodies.orientation[row, axis] != cars.left_turn[row, axis]
    return moved


@inlined
def _limits(row: int, bend: float, steering: Steering, twists: Twists) -> tuple[float, float]:
    """Return the limits of speed and acceleration on an arc, as `planning.limits_of`."""
    speed = min(steering.limits.linear_limit[row], twists.linear_limits[row, 0])
    accel = min(steering.limits.linear_accel[row], twists.linear_accels[row, 0])
    size = abs(bend)
    # On an arc the limits of turning count too: speed is turning speed / curvature.
    if size > 0.0:
        speed = min(speed, min(steering.limits.angular_limit[row], twists.angular_limits[row, 2]) / size)
        accel = min(accel, min(steering.limits.angular_accel[row], twists.angular_accels[row, 2]) / size)
    return speed, accel


@compiled_step
def _within(number: float, limit: float) -> float:
    # Of numbers that are equal the second is taken, as NumPy does: it may be a zero of the other sign.
    number = number if number > -limit else -limit
    return number if number < limit else limit


@compiled_step
def _changed(present: float, wanted: float, rate: float, dt: float) -> float:
    """Return what `driving.changed` does."""
    most = rate * dt
    change = wanted - present
    return wanted if abs(change) <= most else present + _within(change, most)


@compiled_step
def _can_stop(left: float, along: float, limit: float, accel: float, dt: float) -> bool:
    """Return what `driving._can_stop` does."""
    by_accel, by_limit = accel * (0.5 * dt * dt * SLACK), limit * (dt * SLACK)
    if not left <= min(by_accel, by_limit):
        return False
    most = accel * dt
    rates = along * along / max(most * most, TINY)
    offset = left - along * (0.5 * dt)
    spare = 0.25 * dt * most * max(1.0 - rates, 0.0) + ROUNDING * dt * min(most, 1.0)
    return rates <= SLACK and offset * offset <= spare * spare


@inlined
def _place(row: int, x: float, y: float, turns: Floats, way: float, bend: float, bodies: BodyArrays) -> bool:
    """Do what `driving.place` does; False, with the row as it was, for odd numbers."""
    turn = quaternion_of(turns, row)
    half = 0.5 * (way * bend)
    sine, cosine = sin_cos(half)
    # An arc of angle 2 * half has a chord of sin(half) / half times its length, along the heading half-way.
    chord = way * (sine / half if half != 0.0 else 1.0)
    ahead_sine, ahead_cosine = sin_cos(heading(turn) + half)
    # About the vertical axis: z and w are the sine and cosine of half the angle.
    turned = multiply((0.0, 0.0, sine, cosine), turn)
    norm = norm_of(turned)
    if norm != norm or not abs(chord) < math.inf:
        return False
    bodies.position[row, 0] = x + chord * ahead_cosine
    bodies.position[row, 1] = y + chord * ahead_sine
    write_quaternion(bodies.orientation, row, (turned[0] / norm, turned[1] / norm, turned[2] / norm, turned[3] / norm))
    return True


@inlined
def _give_twist(row: int, speed: float, bend: float, bodies: BodyArrays, steering: Steering) -> None:
    """Do what `driving.give_twists` does."""
    sine, cosine = sin_cos(heading(quaternion_of(bodies.orientation, row)))
    write_vector(steering.body_linear, row, (speed, 0.0, 0.0))
    write_vector(steering.body_angular, row, (0.0, 0.0, speed * bend))
    write_vector(bodies.velocity, row, (speed * cosine, speed * sine, 0.0))
    write_vector(bodies.angular_velocity, row, (0.0, 0.0, speed * bend))


@inlined
def _rest(row: int, bodies: BodyArrays, steering: Steering) -> None:
    write_vector(steering.body_linear, row, (0.0, 0.0, 0.0))
    write_vector(steering.body_angular, row, (0.0, 0.0, 0.0))
    write_vector(bodies.velocity, row, (0.0, 0.0, 0.0))
    write_vector(bodies.angular_velocity, row, (0.0, 0.0, 0.0))
