"""Paths: the speeds at which waypoints may be passed, and passing several of them within one step.

At a corner the direction of the velocity jumps, so the robot passes it slowly enough that the change stays within the
acceleration limit times one step. Half of the limit is reserved for corners, half for changes of speed near them.
Waypoints on a straight line do not slow a robot down.
"""

from __future__ import annotations

import math

from fleet_sim.kernels import compiled_step
from fleet_sim.kernels.turns import Vector, dot
from fleet_sim.motion.limits import UNLIMITED
from fleet_sim.motion.profile import next_speed
from fleet_sim.motion.rows import PathPoints, vector_of

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
