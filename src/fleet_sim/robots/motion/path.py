"""Paths: the speeds at which waypoints may be passed, and passing several of them within one step.

At a corner the direction of the velocity jumps, so the robot passes it slowly enough that the change stays within the
acceleration limit times one step. Half of the limit is reserved for corners, half for changes of speed near them.
Waypoints on a straight line do not slow a robot down.
"""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.spatial.rotations import Vector, dot
from fleet_sim.robots.motion.rows import UNLIMITED, PathPoints, vector_of

# The trapezoidal speed profile as state feedback: computes the next step's speed from the speed and the distance.
# Within a step speed changes linearly, so a step of `dt` covers `(v + v') / 2 * dt`. Accelerating, cruising and
# braking follow the ideal trapezoid exactly. A step within which the ideal changes phase uses a single slope instead,
# so a move from rest to rest ends at most two steps after the ideal time, rounded up to whole steps. The end is
# reached exactly: the robot stops in the first step in which it can.


# Keeps divisors from being 0, and is far below any real length.
TINY = 1e-300
# Comparisons allow this much, so that rounding does not make a robot miss what it can just reach.
SLACK = 1.0 + 1e-9
# Room around the point of even braking for rounding: the share of what one step of acceleration, at most 1 m/s, covers.
ROUNDING = 1e-9


@compiled_step
def next_speed(
    speed: float, distance: float, exit_speed: float, limit: float, accel: float, dt: float, braking: float
) -> float:
    """Return the speed after one step towards an end point `distance` ahead, to be passed at `exit_speed`.

    Guaranteed: not above `limit` (unless slowing down from above it), a change of at most `accel * dt`, and, where the
    present speed allows it, slow enough that braking at `braking * accel` reaches the exit speed at the end. The speed
    may be negative (moving away); `accel` may be infinite, and without any the speed stays. SI units.
    """
    # The fastest next speed w from which braking at rate s still reaches the exit speed e satisfies
    # w^2 - e^2 = 2 s (d - (v + w) dt / 2). Its root is written as A / (sqrt(A / s + dt^2 / 4) + dt / 2) with
    # A = 2 d - v dt + e^2 / s: no cancellation for small A, and finite for infinite s.
    slowing = accel * braking
    if not slowing > 0.0:
        return speed
    ahead = 2.0 * distance
    ahead -= speed * dt
    if exit_speed != 0.0:
        ahead += exit_speed * exit_speed / slowing
    ahead = ahead if ahead > 0.0 else 0.0
    root = ahead / slowing
    root += 0.25 * dt * dt
    root = math.sqrt(root)
    root += 0.5 * dt
    ahead /= root
    change = accel * dt
    ahead = ahead if ahead < limit else limit
    ahead = ahead if ahead < speed + change else speed + change
    # The lower bound comes last: who is too fast to stop in time brakes with all there is, and no more.
    return ahead if ahead > speed - change else speed - change


def next_speeds(
    speeds: Floats, distances: Floats, exit_speed: float, limits: Floats, accels: Floats, dt: float
) -> Floats:
    """Return what `next_speed` returns for each of some (N,), for what is few and no robot."""
    each = zip(speeds.tolist(), distances.tolist(), limits.tolist(), accels.tolist(), strict=True)
    alone = next_speed.in_python
    return np.array([alone(speed, way, exit_speed, limit, accel, dt, 1.0) for speed, way, limit, accel in each])


@compiled_step
def approach(
    direction: Vector, velocity: Vector, speed: float, accel: float, dt: float
) -> tuple[float, float, float, float, float, float]:
    """Return the velocity after one step towards a target in unit `direction`, wanted with `speed`; and the way made.

    `velocity` may have any direction: the part across is braked to zero. The total change is at most `accel * dt`.
    """
    wx, wy, wz = direction[0] * speed, direction[1] * speed, direction[2] * speed
    cx, cy, cz = wx - velocity[0], wy - velocity[1], wz - velocity[2]
    size = cx * cx + cy * cy + cz * cz
    most = accel * dt
    # Only velocities across the direction can exceed the limit here; those along it are limited already.
    if size > most * most * SLACK:
        share = most / math.sqrt(size)
        wx, wy, wz = velocity[0] + cx * share, velocity[1] + cy * share, velocity[2] + cz * share
    half = 0.5 * dt
    return wx, wy, wz, (velocity[0] + wx) * half, (velocity[1] + wy) * half, (velocity[2] + wz) * half


@compiled_step
def stopping_reach(limit: float, accel: float, dt: float) -> float:
    """Return the largest distance of a target at which a robot can stop within one step."""
    by_accel, by_limit = accel * (0.5 * dt * dt * SLACK), limit * (dt * SLACK)
    return by_accel if by_accel < by_limit else by_limit


@compiled_step
def can_stop(delta: Vector, velocity: Vector, accel: float, dt: float) -> bool:
    """Return whether a robot can stop exactly `delta` away within one step, starting with `velocity`.

    With an acceleration of at most `accel`, these are targets in a ball around the point reached by even braking; the
    ball is the smaller, the more of the acceleration the braking itself needs.
    """
    most = accel * dt
    square = most * most
    rates = dot(velocity, velocity) / (square if square > TINY else TINY)
    half = 0.5 * dt
    # Where it would be after half a step at this speed: what is left has to be made by the change.
    offset = (delta[0] - velocity[0] * half, delta[1] - velocity[1] * half, delta[2] - velocity[2] * half)
    rest = 1.0 - rates
    spare = 0.25 * dt * most * (rest if rest > 0.0 else 0.0) + ROUNDING * dt * (most if most < 1.0 else 1.0)
    return rates <= SLACK and dot(offset, offset) <= spare * spare


STRAIGHT = 1e-9
"""Directions that differ by less than this (rad) are one straight line."""
COINCIDENT = 1e-12
"""Waypoints closer together than this (m) are one point."""
TOUCH = 1e-9
"""A step that ends this close (m) before a waypoint has passed it: so near, the waypoint gives no direction."""


@compiled_step
def prepare_path(
    points: PathPoints,
    position: Vector,
    first: int,
    last: int,
    speed: float,
    accel: float,
    dt: float,
    cut_corners: bool,
    limited: bool,
) -> int:
    """Set the pass speeds of the waypoints `first` to `last` for a robot at `position`; return which it heads for.

    With `cut_corners` robots pass corners at the speed the acceleration limit allows; without, they stop at them.
    `speed` and `accel` are limits that hold in every direction, `limited` whether lines may have limits of their own.
    """
    # Waypoints at the present position are skipped, but never the last one.
    while first < last and _is_at(points, first, position):
        first += 1
    if first == last:
        return first
    speed, accel = min(speed, UNLIMITED), min(accel, UNLIMITED)
    points.pass_speed[last], points.braking[last] = 0.0, 1.0
    square, braking = 0.0, 1.0
    ahead, ahead_length = _segment(points, vector_of(points.position, last - 1), last)
    # The leg ahead that has a length, and how many waypoints before it are at its first point.
    leg, repeats = ahead_length, 0
    for at in range(last - 1, first - 1, -1):
        begin = position if at == first else vector_of(points.position, at - 1)
        here, length = _segment(points, begin, at)
        turn = (ahead[0] - here[0], ahead[1] - here[1], ahead[2] - here[2])
        chord = math.sqrt(dot(turn, turn))
        is_corner = chord > STRAIGHT and leg > COINCIDENT and length > COINCIDENT
        cap = speed
        if is_corner:
            cap = min(_corner_speed(chord, min(length, leg), accel, dt), speed) if cut_corners else 0.0
        if limited:
            # Slow enough for the line that ends here and for the one that begins.
            cap = min(cap, min(points.speed_limit[at], points.speed_limit[at + 1]))
        # Half of the acceleration is for the corner, the other half for braking before it.
        share = 0.5 if is_corner else braking
        # Not faster than the robot can brake on the segment that follows: v^2 = v_next^2 + 2 a s.
        square = min(cap * cap, square + 2.0 * accel * share * ahead_length)
        if is_corner:
            braking = 0.5 if cut_corners else 1.0
        points.pass_speed[at], points.braking[at] = math.sqrt(square), braking
        if is_corner:
            # Those that follow at the same point are passed as slowly.
            for other in range(at + 1, at + 1 + repeats):
                points.pass_speed[other] = min(points.pass_speed[other], points.pass_speed[at])
        # A segment without length has no direction: the next corner is measured against the last one that has.
        if length > COINCIDENT:
            repeats, ahead, leg = 0, here, length
        else:
            repeats += 1
        ahead_length = length
    return first


@compiled_step
def _is_at(points: PathPoints, at: int, position: Vector) -> bool:
    x, y, z = vector_of(points.position, at)
    near = abs(x - position[0]) <= COINCIDENT and abs(y - position[1]) <= COINCIDENT
    return near and abs(z - position[2]) <= COINCIDENT


@compiled_step
def _segment(points: PathPoints, begin: Vector, end: int) -> tuple[Vector, float]:
    """Return unit direction and length of the segment from a place to a waypoint."""
    x, y, z = vector_of(points.position, end)
    x, y, z = x - begin[0], y - begin[1], z - begin[2]
    length = math.sqrt(x * x + y * y + z * z)
    safe = length if length > 0.0 else 1.0
    return (x / safe, y / safe, z / safe), length


@compiled_step
def _corner_speed(chord: float, shortest: float, accel: float, dt: float) -> float:
    """Return the speed at which a corner may be passed.

    `chord` is the distance between the unit directions before and after, `shortest` the shorter segment.
    Where several corners may fall into one step, they share the change of velocity that a single one may use.
    """
    # The change of velocity in one step is speed times chord.
    single = accel * (0.5 * dt) / max(chord, STRAIGHT)
    if shortest < (single + accel * dt) * dt:
        return min(0.5 * single, math.sqrt(0.5 * single * shortest / dt))
    return single


@compiled_step
def cross(
    points: PathPoints,
    headed: int,
    last: int,
    position: Vector,
    direction: Vector,
    distance: float,
    along: float,
    limit: float,
    accel: float,
    dt: float,
) -> tuple[int, Vector, Vector]:
    """Move a robot, whose step leads beyond the waypoint `headed`, along the following segments for the rest of it.

    Return how many waypoints it passes, where it is then, and its velocity. The new speed respects the pass speed of
    every waypoint passed, and still allows braking for the next one. The robot is at `position`, `distance` before the
    waypoint in `direction`, and `along` is its speed.
    """
    speed = min(along + accel * (points.braking[headed] * dt), limit)
    passed, begin, end = 0, 0.0, distance
    # A step may pass several waypoints.
    while True:
        onto = headed + passed
        capped = min(speed, points.pass_speed[onto])
        if onto >= last or not 0.5 * dt * (along + capped) + TOUCH >= end:
            break
        speed = capped
        passed += 1
        begin = end
        end += _segment(points, vector_of(points.position, onto), onto + 1)[1]
    onto = headed + passed
    reachable = next_speed(along, end, points.pass_speed[onto], limit, accel, dt, points.braking[onto])
    speed = min(speed, reachable)
    travel = max(0.5 * dt * (along + speed) - begin, 0.0)
    if passed:
        position = vector_of(points.position, onto - 1)
        onward, length = _segment(points, position, onto)
        # Two equal waypoints have no line between them: the robot goes on as it came.
        if length > 0.0:
            direction = onward
    x, y, z = position
    return (
        passed,
        (x + direction[0] * travel, y + direction[1] * travel, z + direction[2] * travel),
        (direction[0] * speed, direction[1] * speed, direction[2] * speed),
    )
