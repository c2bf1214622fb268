"""The law of cars, and the feature `ackermann`: no arc tighter than they can steer; curves and the speed along them.

To a goal a car drives a shortest curve of arcs and straight lines (`reeds_shepp`, `dubins`). Between pieces it stops
where it has to steer, unless steering takes no time. Arcs are exact: a car is put at the end of a chord from where its
piece began, so that rounding does not add up from step to step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.base.params import ControllerMode, MovementDirection
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.rotations import atan2, heading, multiply, norm_of, sin_cos
from fleet_sim.robots.motion.car_curves import PIECES, Curves, dubins, reeds_shepp, to_point
from fleet_sim.robots.motion.path import TOUCH, can_stop, next_speed, stopping_reach
from fleet_sim.robots.motion.rows import (
    UNLIMITED,
    BodyArrays,
    Lists,
    MotionArrays,
    Steering,
    Twists,
    append,
    law_columns,
    quaternion_of,
    rows_listed,
    touch,
    within,
    write_quaternion,
    write_vector,
)
from fleet_sim.world.columns import FeatureColumns, Scalars, column, named_columns, numbers_of
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.world import World

# The columns of robots that are steered like cars.


ACKERMANN = "ackermann"
"""Name of the feature, of its table, and of the law."""


class AckermannColumns(FeatureColumns):
    """What each car can steer, how it is steered, and the curve that it drives to its current waypoint."""

    wheelbase: Floats = column(float, default=0.5, unit="m", writer="spawning")
    min_radius: Floats = column(float, default=1.0, unit="m", writer="spawning", doc="of the tightest arc")
    steering_rate: Floats = column(float, default=1.0, unit="rad/s", writer="spawning", doc="inf: at once")

    steering: Floats = column(float, unit="rad", writer="motion", doc="of the middle of the front axle, left positive")

    lengths: Floats = column(float, (PIECES,), unit="m", writer="motion", doc="of the curve's pieces, negative: back")
    curvatures: Floats = column(float, (PIECES,), unit="1/m", writer="motion", doc="of the pieces, left positive")
    exits: Floats = column(float, (PIECES,), unit="m/s", writer="motion", doc="speed at which a piece is left")
    pieces: Bytes = column(np.uint8, writer="motion", doc="pieces of the curve")
    piece: Bytes = column(np.uint8, writer="motion", doc="the one being driven")
    done: Floats = column(float, unit="m", writer="motion", doc="driven of it")
    exact: Bools = column(bool, writer="motion", doc="the curve ends at the waypoint itself, not a tolerance before")
    start: Floats = column(float, (2,), unit="m", frame="world", writer="motion", doc="of the piece: x, y")
    start_turn: Floats = column(float, (4,), frame="world", writer="motion", doc="orientation at its start")
    left_at: Floats = column(float, (2,), unit="m", frame="world", writer="motion", doc="where the law left the car")
    left_turn: Floats = column(float, (4,), frame="world", writer="motion", doc="and its orientation there")


# Planning: the curve of each car to its current waypoint, of up to five pieces, arcs and lines.


BACKWARD, AUTO = MovementDirection.BACKWARD.code, MovementDirection.AUTO.code

SHORTEST = 1e-9
"""Pieces shorter than this, in m, are not driven."""


def plan_curves(world: World, table: AckermannColumns, rows: Rows) -> None:
    """Plan the curves of `rows` from where they are to their current waypoints.

    With their final orientation, where it is the last waypoint and that is asked for; all others are passed with any
    heading, on an arc and a straight line. Shortest curves: ahead, back, or both, by the direction of the path.
    """
    motion, pool = world.motion, world.waypoints
    headed = motion.path_start[rows] + motion.waypoint[rows]
    last_mask = motion.waypoint[rows] == motion.path_length[rows] - 1
    aligned_mask = last_mask & motion.align_final[rows]
    radii = table.min_radius[rows]
    heading = quaternions.yaws(world.orientation[rows])
    turn = quaternions.wrapped(quaternions.yaws(pool.orientation[headed]) - heading)
    # What two headings differ by rounding is no turn: a car that does not reverse would drive a circle for it.
    turn = np.where(np.abs(turn) < SHORTEST, 0.0, turn)
    delta = pool.position[headed, :2] - world.position[rows, :2]
    sine, cosine = trig.sin_cos(heading)
    # In the frame of the car, in radii: curves are computed for a radius of 1.
    x = (cosine * delta[:, 0] + sine * delta[:, 1]) / radii
    y = (cosine * delta[:, 1] - sine * delta[:, 0]) / radii
    curves = _curves(x, y, turn, aligned_mask, motion.direction[rows])
    lengths = curves.lengths * radii[:, None]
    lengths = np.where(np.abs(lengths) < SHORTEST, 0.0, lengths)
    distance = np.sqrt(delta[:, 0] * delta[:, 0] + delta[:, 1] * delta[:, 1])
    # There already: a circle to the same place is no way.
    lengths[(distance < SHORTEST) & (~aligned_mask | (turn == 0.0))] = 0.0
    lengths, curvatures, counts = _packed(lengths, curves.turns / radii[:, None])
    exact_mask = _stop_short(lengths, curvatures, counts, last_mask, aligned_mask, distance, motion.tolerance[rows])
    table.lengths[rows], table.curvatures[rows], table.pieces[rows] = lengths, curvatures, counts
    table.exact[rows] = exact_mask
    table.piece[rows], table.done[rows] = 0, 0.0
    table.start[rows], table.start_turn[rows] = world.position[rows, :2], world.orientation[rows]


def _curves(x: Floats, y: Floats, turn: Floats, aligned_mask: Bools, directions: Bytes) -> Curves:
    """Return the shortest curves to goals at x, y (N,) and `turn` (N,), in units of the smallest radius.

    Without `aligned_mask` the heading at the goal is free; `directions` says which ways each may drive.
    """
    lengths, turns = np.zeros((len(x), PIECES)), np.zeros((len(x), PIECES))
    auto_mask, back_mask = directions == AUTO, directions == BACKWARD
    ahead_mask = ~auto_mask & ~back_mask
    for mask, kind in (
        (aligned_mask & auto_mask, "both"),
        (aligned_mask & ahead_mask, "ahead"),
        (aligned_mask & back_mask, "back"),
        (~aligned_mask & auto_mask, (1.0, -1.0)),
        (~aligned_mask & ahead_mask, (1.0,)),
        (~aligned_mask & back_mask, (-1.0,)),
    ):
        at = np.flatnonzero(mask)
        if not len(at):
            continue
        if isinstance(kind, tuple):
            found = to_point(x[at], y[at], kind)
        elif kind == "both":
            found = reeds_shepp(x[at], y[at], turn[at])
        elif kind == "ahead":
            found = dubins(x[at], y[at], turn[at])
        else:
            # As ahead to the mirror image of the goal, driven back.
            mirrored = dubins(-x[at], y[at], -turn[at])
            found = Curves(-mirrored.lengths, mirrored.turns)
        lengths[at], turns[at] = found
    return Curves(lengths, turns)


def _packed(lengths: Floats, curvatures: Floats) -> tuple[Floats, Floats, Ints]:
    """Return pieces (N, 5) without empty ones between, and how many there are."""
    # Empty pieces go to the end, the others keep their order.
    order = np.argsort(lengths == 0.0, axis=1, kind="stable")
    packed = np.take_along_axis(lengths, order, axis=1)
    return packed, np.take_along_axis(curvatures, order, axis=1), np.count_nonzero(packed, axis=1)


def _stop_short(
    lengths: Floats,
    curvatures: Floats,
    counts: Ints,
    last_mask: Bools,
    aligned_mask: Bools,
    distance: Floats,
    tolerances: Floats,
) -> Bools:
    """Take the tolerance off the ends of curves to last waypoints; return which (N,) still end at the waypoint."""
    exact_mask = np.ones(len(lengths), np.bool_)
    tolerant_mask = last_mask & (tolerances > 0.0)
    if not np.count_nonzero(tolerant_mask):
        return exact_mask
    # Near enough already, and with any heading: no curve.
    counts[tolerant_mask & ~aligned_mask & (distance <= tolerances)] = 0
    ends = np.maximum(counts - 1, 0)
    at = np.arange(len(lengths))
    # Off an arc the heading would be another one than asked for.
    short_mask = tolerant_mask & (counts > 0) & (~aligned_mask | (curvatures[at, ends] == 0.0))
    sizes = np.abs(lengths[at, ends])
    kept = np.maximum(sizes - tolerances * (1.0 - 1e-9), 0.0)
    lengths[at[short_mask], ends[short_mask]] = np.copysign(kept, lengths[at, ends])[short_mask]
    exact_mask[tolerant_mask & ((counts == 0) | short_mask)] = False
    counts[short_mask & (kept == 0.0)] -= 1
    return exact_mask


_IDLE, _VELOCITY = ControllerMode.IDLE.code, ControllerMode.VELOCITY.code
_ENDED, _ASTRAY, _BROKEN = 0, 1, 2
_NOTHING = (0.0, 0.0, 0.0)


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


_CARS: WeakKeyDictionary[World, tuple[tuple[Scalars, bool], Cars]] = WeakKeyDictionary()
"""The columns of each world with cars, and what they are valid for."""


def drive_cars(world: World, rows: Rows, dt: float) -> Rows:
    """Move `rows` like cars by `dt` seconds, with the middle of the rear axle as origin; return those that arrived.

    Arrived rows have exactly the position of the goal, and its heading where `align_final` is set. Their height,
    roll and pitch do not change. Where a car is not where the law left it, its path is planned again from there.
    """
    table = _table_of(world)
    ended, astray = _advance(world, table, rows, dt, False)
    if not len(astray):
        return ended
    plan_curves(world, table, astray)
    world.motion.path_fresh[astray] = False
    more, _ = _advance(world, table, astray, dt, True)
    return np.concatenate((ended, more))


def _table_of(world: World) -> AckermannColumns:
    """Return the table of cars; raises StateError where the feature is not in use."""
    table = world.tables.get(ACKERMANN)
    if not isinstance(table, AckermannColumns):
        raise StateError(f"the feature {ACKERMANN!r} is not in use; spawn robots with it, or call use({ACKERMANN!r})")
    return table


def _advance(world: World, table: AckermannColumns, rows: Rows, dt: float, planned: bool) -> tuple[Rows, Rows]:
    """Move `rows` by one step; return those at the ends of their paths, and those that have to be planned for."""
    arrays, lists = law_columns(world)
    valid_for = table.scalars, world.compiled
    known = _CARS.get(world)
    if known is None or known[0] != valid_for:
        own = named_columns(Cars, table)
        known = _CARS[world] = valid_for, own if world.compiled else numbers_of(own)
    limited, tick = world.waypoints.limited, world.clock.tick
    if world.compiled:
        listed = advance_cars(rows, planned, tick, dt, limited, arrays, known[1], lists)
    else:
        listed = advance_cars.in_python(rows.tolist(), planned, tick, dt, limited, arrays, known[1], lists)

    def refusal(row: int) -> str:
        twist = world.motion.body_linear[row].tolist(), world.orientation[row].tolist()
        return f"{world.label(row)} cannot drive: its velocity and orientation are {twist}"

    return rows_listed(world, rows, listed, lists, refusal)


@compiled_step
def advance_cars(
    rows: Rows, planned: bool, tick: int, dt: float, limited: bool, arrays: MotionArrays, cars: Cars, lists: Lists
) -> int:
    """Move `rows` by one step; list those that ended their path, those astray, as they were, and broken numbers.

    Nobody is astray where all were `planned` for just now. Returns how many are listed.
    """
    bodies, steering, twists, _ = arrays
    for which in range(3):
        lists.counts[which] = 0
    for row in rows:
        if steering.control[row] == _VELOCITY:
            whole = _follow_velocity(row, tick, dt, bodies, steering, twists, cars)
        elif planned or not (steering.path_fresh[row] or _is_moved(row, bodies, cars)):
            if planned:
                _set_exits(row, limited, arrays, cars)
            whole = _follow_curve(row, dt, limited, arrays, cars, lists)
        else:
            append(lists.left, lists.counts, _ASTRAY, row)
            whole = True
        if not whole:
            append(lists.broken, lists.counts, _BROKEN, row)
    return int(lists.counts[_ENDED] + lists.counts[_ASTRAY] + lists.counts[_BROKEN])


@inlined
def _follow_velocity(
    row: int, tick: int, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists, cars: Cars
) -> bool:
    """Drive a row at the speed commanded, on the arc that speed and turning commanded give, as far as it can steer.

    From rest it steers before it drives. A command to turn without driving steers nothing and moves nothing. An expired
    command counts as zero.
    """
    expiry = twists.command_expiry[row]
    if 0 <= expiry <= tick:
        write_vector(twists.command_linear, row, _NOTHING)
        write_vector(twists.command_angular, row, _NOTHING)
        twists.command_expiry[row] = -1
    wanted, spin = twists.command_linear[row, 0], twists.command_angular[row, 2]
    angle = cars.steering[row]
    # With no wanted speed the wheels stay as they are.
    if wanted != 0.0:
        # A car does not turn on the spot: the turning speed becomes a curvature (1/m), as tight as the wheels allow.
        angle = atan2(cars.wheelbase[row] * within(spin / wanted, 1.0 / cars.min_radius[row]), 1.0)
    if not _roll(row, wanted, angle, True, dt, bodies, steering, twists, cars):
        return False
    if wanted == 0.0 and steering.body_linear[row, 0] == 0.0:
        steering.control[row] = _IDLE
        twists.command_expiry[row] = -1
    return True


@inlined
def _roll(
    row: int,
    wanted: float,
    goal: float,
    steer_first: bool,
    dt: float,
    bodies: BodyArrays,
    steering: Steering,
    twists: Twists,
    cars: Cars,
) -> bool:
    """Steer a row by one step towards the angle `goal`, then drive on the arc that this gives at the speed `wanted`.

    With `steer_first` one at rest stays there until it is steered. Returns False for broken numbers.
    """
    angle = _changed(cars.steering[row], goal, cars.steering_rate[row], dt)
    sine, cosine = sin_cos(angle)
    # tan(angle) / wheelbase: the curvature of the wheels by now. Rounding must not turn tighter than the car can.
    bend = within(sine / (cosine * cars.wheelbase[row]), 1.0 / cars.min_radius[row])
    speed, accel = _limits(row, bend, steering, twists)
    old = steering.body_linear[row, 0]
    aim = 0.0 if steer_first and old == 0.0 and angle != goal else wanted
    new = _changed(old, within(aim, speed), accel, dt)
    way = (old + new) * (0.5 * dt)
    if not _place(row, bodies.position[row, 0], bodies.position[row, 1], bodies.orientation, way, bend, bodies):
        return False
    cars.steering[row] = angle
    _give_twist(row, new, bend, bodies, steering)
    if way != 0.0:
        touch(bodies, row)
    return True


@inlined
def _follow_curve(row: int, dt: float, limited: bool, arrays: MotionArrays, cars: Cars, lists: Lists) -> bool:
    """Move a row one step along its curve; returns False for broken numbers."""
    bodies, steering, twists, _ = arrays
    piece = min(int(cars.piece[row]), PIECES - 1)
    any_left = cars.piece[row] < cars.pieces[row]
    # Pieces that are driven backward have negative lengths.
    sign = -1.0 if cars.lengths[row, piece] < 0.0 else 1.0
    speed, rate = steering.body_linear[row, 0], cars.steering_rate[row]
    angle = atan2(cars.wheelbase[row] * cars.curvatures[row, piece], 1.0)
    steered = cars.steering[row] == angle or rate == math.inf
    whole, ended = True, False
    if speed != 0.0 and not (any_left and steered and speed * sign >= 0.0):
        # It brakes with the wheels as they are; the path is planned again from where it is then.
        whole = _roll(row, 0.0, cars.steering[row], False, dt, bodies, steering, twists, cars)
        steering.path_fresh[row] = True
    elif not any_left:
        ended = True
    elif not steered:
        # Wheels with a limited rate are turned at rest, where one piece ends and one of another curvature begins.
        cars.steering[row] = _changed(cars.steering[row], angle, rate, dt)
        _rest(row, bodies, steering)
    else:
        cars.steering[row] = angle
        state = _drive_piece(row, dt, limited, arrays, cars)
        whole = state != _BROKEN
        if state == _ENDED:
            ended = cars.piece[row] + 1 == cars.pieces[row]
            if not ended:
                _begin_next(row, bodies, cars)
    if ended and _end(row, arrays, cars):
        append(lists.ended, lists.counts, _ENDED, row)
    # To see in the next step whether somebody else has moved it.
    for axis in range(2):
        cars.left_at[row, axis] = bodies.position[row, axis]
    for axis in range(4):
        cars.left_turn[row, axis] = bodies.orientation[row, axis]
    return whole


@inlined
def _drive_piece(row: int, dt: float, limited: bool, arrays: MotionArrays, cars: Cars) -> int:
    """Drive a row, which is steered for its piece, one step along its curve; return _ENDED at rest at an end.

    One that is too fast to stop there passes the end, and its path is to be planned again. _BROKEN: broken numbers.
    """
    bodies, steering, twists, points = arrays
    piece = cars.piece[row]
    length, leaving = cars.lengths[row, piece], cars.exits[row, piece]
    sign = -1.0 if length < 0.0 else 1.0
    along, left = steering.body_linear[row, 0] * sign, abs(length) - cars.done[row]
    line_limit = math.inf
    if limited:
        line_limit = points.speed_limit[steering.path_start[row] + steering.waypoint[row]]
    limit, accel = _limits(row, cars.curvatures[row, piece], steering, twists)
    limit = min(limit, line_limit)
    # Not below 0: on a curve a car does not go back.
    new = max(next_speed(along, left, leaving, limit, accel, dt, 1.0), 0.0)
    stops = leaving == 0.0 and left <= stopping_reach(limit, accel, dt)
    stops = stops and can_stop((left, 0.0, 0.0), (along, 0.0, 0.0), accel, dt)
    if stops:
        # It is at the end of the piece bit for bit, not where a sum ends.
        new, way, done = 0.0, left, abs(length)
    else:
        way = (along + new) * (0.5 * dt)
        done = cars.done[row] + way
    if leaving > 0.0 and way + TOUCH >= left:
        new, done = _pass_pieces(row, along, sign, line_limit, dt, bodies, steering, twists, cars)
        piece = cars.piece[row]
        length, leaving = cars.lengths[row, piece], cars.exits[row, piece]
        cars.steering[row] = atan2(cars.wheelbase[row] * cars.curvatures[row, piece], 1.0)
    bend = cars.curvatures[row, piece]
    cars.done[row] = done
    # Beyond the end of a piece that it has to stop at: from there it plans again.
    steering.path_fresh[row] = done > abs(length) and leaving == 0.0
    if not _place(row, cars.start[row, 0], cars.start[row, 1], cars.start_turn, done * sign, bend, bodies):
        return _BROKEN
    _give_twist(row, new * sign, bend, bodies, steering)
    if way != 0.0 or stops:
        touch(bodies, row)
    return _ENDED if stops else _ASTRAY


@inlined
def _pass_pieces(
    row: int,
    along: float,
    sign: float,
    line_limit: float,
    dt: float,
    bodies: BodyArrays,
    steering: Steering,
    twists: Twists,
    cars: Cars,
) -> tuple[float, float]:
    """Let a row pass the ends of pieces in one step; return its speed then, and how far it is on the last one.

    Its new piece begins where the one before ends. It leaves each piece not faster than it may be left.
    """
    # From where it is on its piece: the part that it has driven is behind the start.
    begun, new = 0.0 - cars.done[row], math.inf
    for _ in range(PIECES):
        piece = cars.piece[row]
        size, leaving, bend = abs(cars.lengths[row, piece]), cars.exits[row, piece], cars.curvatures[row, piece]
        limit, accel = _limits(row, bend, steering, twists)
        end = begun + size
        reachable = max(next_speed(along, end, leaving, min(limit, line_limit), accel, dt, 1.0), 0.0)
        capped = min(new, reachable, leaving)
        if not leaving > 0.0 or not (along + capped) * (0.5 * dt) + TOUCH >= end:
            new = min(new, reachable)
            break
        new = capped
        _place(row, cars.start[row, 0], cars.start[row, 1], cars.start_turn, size * sign, bend, bodies)
        _begin_next(row, bodies, cars)
        begun = end
    return new, max((along + new) * (0.5 * dt) - begun, 0.0)


@inlined
def _set_exits(row: int, limited: bool, arrays: MotionArrays, cars: Cars) -> None:
    """Set the speeds at which pieces are left: not 0 where the next one may be driven without a stop."""
    _, steering, twists, points = arrays
    line_limit = math.inf
    if limited:
        line_limit = points.speed_limit[steering.path_start[row] + steering.waypoint[row]]
    leaving = 0.0
    cars.exits[row, PIECES - 1] = 0.0
    # From the last piece back: each may be left as fast as the next one allows.
    for piece in range(PIECES - 2, -1, -1):
        onward = piece + 1
        length, bend = cars.lengths[row, onward], cars.curvatures[row, onward]
        speed, accel = _limits(row, bend, steering, twists)
        before, _ = _limits(row, cars.curvatures[row, piece], steering, twists)
        reachable = math.sqrt(leaving * leaving + 2.0 * min(accel, UNLIMITED) * abs(length))
        leaving = 0.0
        steered = cars.steering_rate[row] == math.inf or cars.curvatures[row, piece] == bend
        if cars.lengths[row, piece] * length > 0.0 and steered and onward < cars.pieces[row]:
            leaving = min(speed, before, line_limit, reachable)
        cars.exits[row, piece] = leaving


@inlined
def _begin_next(row: int, bodies: BodyArrays, cars: Cars) -> None:
    """Begin the next piece where a row is, at the end of the one before."""
    cars.piece[row] += 1
    cars.done[row] = 0.0
    for axis in range(2):
        cars.start[row, axis] = bodies.position[row, axis]
    write_quaternion(cars.start_turn, row, quaternion_of(bodies.orientation, row))


@inlined
def _end(row: int, arrays: MotionArrays, cars: Cars) -> bool:
    """Put a row at the end of its curve exactly there; return whether that is the last waypoint of its path."""
    bodies, steering, _, points = arrays
    headed = steering.path_start[row] + steering.waypoint[row]
    last = steering.waypoint[row] == steering.path_length[row] - 1
    # Curves that lead to the goal itself end with its numbers, without the rounding of the drive.
    if cars.exact[row]:
        for axis in range(2):
            bodies.position[row, axis] = points.position[headed, axis]
        if last and steering.align_final[row]:
            write_quaternion(bodies.orientation, row, quaternion_of(points.orientation, headed))
    _rest(row, bodies, steering)
    touch(bodies, row)
    if not last:
        steering.waypoint[row] += 1
        steering.path_fresh[row] = True
    return last


@inlined
def _is_moved(row: int, bodies: BodyArrays, cars: Cars) -> bool:
    """Return whether a row is not where the law left it, bit for bit."""
    moved = False
    for axis in range(2):
        moved |= bodies.position[row, axis] != cars.left_at[row, axis]
    for axis in range(4):
        moved |= bodies.orientation[row, axis] != cars.left_turn[row, axis]
    return moved


@inlined
def _limits(row: int, bend: float, steering: Steering, twists: Twists) -> tuple[float, float]:
    """Return the limits of speed and acceleration on an arc."""
    speed = min(steering.limits.linear_limit[row], twists.linear_limits[row, 0])
    accel = min(steering.limits.linear_accel[row], twists.linear_accels[row, 0])
    size = abs(bend)
    # On an arc the car turns as fast as it drives: the limits of turning hold too.
    if size > 0.0:
        speed = min(speed, min(steering.limits.angular_limit[row], twists.angular_limits[row, 2]) / size)
        accel = min(accel, min(steering.limits.angular_accel[row], twists.angular_accels[row, 2]) / size)
    return speed, accel


@compiled_step
def _changed(present: float, wanted: float, rate: float, dt: float) -> float:
    """Return an angle or a speed changed towards `wanted` as far as `rate` permits."""
    most = rate * dt
    change = wanted - present
    # Not by adding, which would miss the end by rounding.
    return wanted if abs(change) <= most else present + within(change, most)


@inlined
def _place(row: int, x: float, y: float, turns: Floats, way: float, bend: float, bodies: BodyArrays) -> bool:
    """Put a row where it is after `way` m on an arc of curvature `bend` from x, y and the orientation in `turns`.

    Returns False, with the row as it was, for broken numbers.
    """
    turn = quaternion_of(turns, row)
    half = 0.5 * (way * bend)
    sine, cosine = sin_cos(half)
    # An arc of angle 2 * half has a chord of sin(half) / half times its length, along the heading half-way.
    chord = way * (sine / half if half != 0.0 else 1.0)
    ahead_sine, ahead_cosine = sin_cos(heading(turn) + half)
    # About the vertical axis: z and w are the sine and cosine of half the angle.
    turned = multiply((0.0, 0.0, sine, cosine), turn)
    norm = norm_of(turned)
    if norm != norm:
        return False
    bodies.position[row, 0] = x + chord * ahead_cosine
    bodies.position[row, 1] = y + chord * ahead_sine
    write_quaternion(bodies.orientation, row, (turned[0] / norm, turned[1] / norm, turned[2] / norm, turned[3] / norm))
    return True


@inlined
def _give_twist(row: int, speed: float, bend: float, bodies: BodyArrays, steering: Steering) -> None:
    """Write what it means for a row to drive at `speed` on an arc: twists in the body and in the world."""
    sine, cosine = sin_cos(heading(quaternion_of(bodies.orientation, row)))
    write_vector(steering.body_linear, row, (speed, 0.0, 0.0))
    write_vector(steering.body_angular, row, (0.0, 0.0, speed * bend))
    write_vector(bodies.velocity, row, (speed * cosine, speed * sine, 0.0))
    write_vector(bodies.angular_velocity, row, (0.0, 0.0, speed * bend))


@inlined
def _rest(row: int, bodies: BodyArrays, steering: Steering) -> None:
    write_vector(steering.body_linear, row, _NOTHING)
    write_vector(steering.body_angular, row, _NOTHING)
    write_vector(bodies.velocity, row, _NOTHING)
    write_vector(bodies.angular_velocity, row, _NOTHING)


# The settings under `ackermann:`, in the spawn entry of a robot.


MOST = 1e4
"""Upper limit of lengths: beyond it rounding would be seen."""


@dataclass
class AckermannSettings(Checked):
    """What a robot with `motion_mode: ackermann` can steer. Its origin is the middle of the rear axle."""

    wheelbase: float = setting(0.5, low=1e-3, high=MOST, unit="m", doc="From the rear axle to the front axle.")
    min_turning_radius: float = setting(
        1.0, low=1e-3, high=MOST, unit="m", doc="Radius of the tightest arc, of the middle of the rear axle."
    )
    max_steering_rate: float | None = setting(
        1.0,
        low=1e-3,
        high=1e3,
        unit="rad/s",
        doc="How fast the front wheels are steered; null: at once, so that arcs follow each other without a stop.",
    )


class AckermannFeature(Feature[AckermannSettings, AckermannColumns]):
    """Steering: `ackermann:` in the spawn entry of a robot with `motion_mode: ackermann`."""

    doc = "What a robot with motion_mode ackermann can steer."
    settings = AckermannSettings
    table = AckermannColumns

    def values(self, settings: AckermannSettings) -> Mapping[str, Any]:
        """Return the columns of a car with `settings`, its wheels straight ahead."""
        rate = settings.max_steering_rate
        return {
            "wheelbase": settings.wheelbase,
            "min_radius": settings.min_turning_radius,
            "steering_rate": np.inf if rate is None else rate,
            "steering": 0.0,
            "pieces": 0,
        }

    def start(self, host: FeatureHost, table: AckermannColumns) -> World:
        """Return the world, for `enter`; the law of motion does the rest."""
        return host.world

    def enter(self, part: World, table: AckermannColumns, rows: Rows) -> None:
        """Refuse robots that do not drive as cars, or that ask for what cars cannot do."""
        for row in rows.tolist():
            reason = _hindrance(part, row)
            if reason:
                table.clear_rows(rows)
                raise InvalidValueError(f"ackermann: {part.label(row)!r} {reason}")
        # Goals in the plane: a car neither climbs nor leans.
        part.motion.planar[rows] = part.motion.whole_steps[rows] = True


def _hindrance(world: World, row: int) -> str:
    """Return why a robot cannot be steered like a car, "" where it can."""
    law = world.laws.names()[int(world.motion.law[row])]
    # Law 0 is a car on a fixed base, which is allowed to stand there.
    if world.motion.law[row] and law != ACKERMANN:
        return f"has motion_mode {law!r}; steering is for motion_mode: {ACKERMANN}"
    if world.motion.avoidance[row] > 0.0:
        return "avoids others (avoidance), which needs robots that turn on the spot or move aside; set avoidance: 0"
    if world.dynamic[row]:
        return "is moved by the physics engine, which has no law for cars; give it a mass of 0"
    return ""


FEATURE = AckermannFeature()
