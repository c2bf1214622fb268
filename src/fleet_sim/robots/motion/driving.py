"""The omnidirectional and the differential law, for one robot after the other: by machine code, or in Python.

An omnidirectional robot drives straight to its goal in any direction and turns on the way. A differential one turns
towards its waypoint, drives straight to it, and at the end turns to the final orientation.
"""

from __future__ import annotations

import math

from fleet_sim.base.arrays import Rows
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.base.params import ControllerMode, MovementDirection, PosePhase
from fleet_sim.base.spatial.rotations import (
    Quaternion,
    Vector,
    atan2,
    dot,
    from_rotation_vector,
    heading,
    multiply,
    norm_of,
    sin_cos,
    to_body,
    to_rotation_vector,
    to_world,
)
from fleet_sim.base.spatial.rotations import cross as kernels_cross
from fleet_sim.robots.motion.path import (
    TINY,
    TOUCH,
    approach,
    can_stop,
    cross,
    next_speed,
    prepare_path,
    stopping_reach,
)
from fleet_sim.robots.motion.rows import (
    BodyArrays,
    Lists,
    MotionArrays,
    PathPoints,
    Steering,
    Twists,
    any_way,
    append,
    clipped,
    is_aligned,
    is_zero,
    law_columns,
    limits_along,
    quaternion_of,
    rows_listed,
    touch,
    vector_of,
    within_axis_accels,
    write_quaternion,
    write_vector,
)
from fleet_sim.robots.motion.rows import along as limit_along
from fleet_sim.world.world import World

# Driving along straight lines from waypoint to waypoint, and turning towards an orientation, one robot at a time.
# Both are the same motion, of a point in space and of a rotation vector: towards a target with a trapezoid of speed.


BROKEN, GOING, THERE = -1, 0, 1
"""What becomes of a turn: none, as its numbers are none or infinite; it goes on; it is at its end."""
_STILL = (0.0, 0.0, 0.0)


@inlined
def drive(
    row: int, dt: float, limited: bool, bodies: BodyArrays, steering: Steering, twists: Twists, points: PathPoints
) -> bool:
    """Move a row one step towards its current waypoint; return whether it stopped there.

    A robot at rest has exactly the waypoint's position, or, with a tolerance, is that near to its last one: at the near
    side, unless it was nearer already or cannot brake so early. Waypoints with a pass speed are driven through, the
    rest of the step on the next segment. The row has its orientation of the step's end already.
    """
    headed = steering.path_start[row] + steering.waypoint[row]
    last = steering.path_start[row] + steering.path_length[row] - 1
    position, velocity = vector_of(bodies.position, row), vector_of(bodies.velocity, row)
    goal = vector_of(points.position, headed)
    delta = (goal[0] - position[0], goal[1] - position[1], goal[2] - position[2])
    tolerance = steering.tolerance[row]
    tolerant = tolerance > 0.0 and headed == last
    if tolerant:
        length = math.sqrt(dot(delta, delta))
        # To the nearest point of the disc of the tolerance, a hair within it, so that rounding leaves nobody outside.
        share = 1.0 - tolerance * (1.0 - 1e-9) / (length if length > TINY else TINY)
        share = share if share > 0.0 else 0.0
        delta = (delta[0] * share, delta[1] * share, delta[2] * share)
    distance = math.sqrt(dot(delta, delta))
    least = distance if distance > TINY else TINY
    direction = (delta[0] / least, delta[1] / least, delta[2] / least)
    limit, accel = limits_along(row, direction, bodies, steering, twists)
    if limited and points.speed_limit[headed] < limit:
        limit = points.speed_limit[headed]
    exit_speed, braking = points.pass_speed[headed], points.braking[headed]
    along, square = dot(velocity, direction), dot(velocity, velocity)
    # Off its segment by more than a thousandth, or on the way back: it has to join it first, so it would reach the
    # corner at another angle than planned, and its path is prepared again in the next step.
    if exit_speed > 0.0 and (square - along * along > 1e-6 * square or along < 0.0):
        steering.path_fresh[row] = True
        exit_speed = 0.0
    speed = next_speed(along, distance, exit_speed, limit, accel, dt, braking)
    wx, wy, wz, sx, sy, sz = approach(direction, velocity, speed, accel, dt)
    stopping = accel
    if steering.limits.axis_limited[row]:
        norm_accel, axis_accels = steering.limits.linear_accel[row], vector_of(twists.linear_accels, row)
        frame = quaternion_of(bodies.orientation, row)
        wx, wy, wz = within_axis_accels(frame, velocity, (wx, wy, wz), norm_accel, axis_accels, dt)
        half = 0.5 * dt
        sx, sy, sz = (velocity[0] + wx) * half, (velocity[1] + wy) * half, (velocity[2] + wz) * half
        # Who drifts sideways stops with what its weakest axis can do.
        if square - along * along > 1e-12 * square:
            stopping = min(accel, any_way(norm_accel, axis_accels))
    after, velocity_after = (position[0] + sx, position[1] + sy, position[2] + sz), (wx, wy, wz)
    before = (after[0] - sx, after[1] - sy, after[2] - sz)
    stopped = False
    if exit_speed == 0.0:
        if distance <= stopping_reach(limit, accel, dt) and can_stop(delta, velocity, stopping, dt):
            stopped = True
            if tolerant:
                goal = (before[0] + delta[0], before[1] + delta[1], before[2] + delta[2])
            after, velocity_after = goal, _STILL
    # A robot that cannot brake to the pass speed by then does not pass the waypoint in this step.
    elif 0.5 * dt * (along + speed) + TOUCH >= distance and (
        along - accel * (braking * dt) <= exit_speed * (1.0 + 1e-6)
    ):
        passed, after, velocity_after = cross(
            points, headed, last, before, direction, distance, along, limit, accel, dt
        )
        steering.waypoint[row] += passed
    write_vector(bodies.position, row, after)
    write_vector(bodies.velocity, row, velocity_after)
    write_vector(steering.body_linear, row, to_body(quaternion_of(bodies.orientation, row), velocity_after))
    # Rows that were at their waypoint already have not moved: their boxes and grid cells stay.
    if distance != 0.0 or after != position:
        touch(bodies, row)
    return stopped


@inlined
def turn_to(row: int, goal: Quaternion, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists) -> int:
    """Turn a row one step the shorter way towards an orientation; return BROKEN, GOING or THERE, at rest.

    A row that is there has its goal bit for bit.
    """
    limits = steering.limits
    state, orientation, spin = _turn(
        quaternion_of(bodies.orientation, row),
        vector_of(bodies.angular_velocity, row),
        goal,
        limits.axis_limited[row],
        limits.angular_limit[row],
        vector_of(twists.angular_limits, row),
        limits.angular_accel[row],
        vector_of(twists.angular_accels, row),
        dt,
    )
    if state != BROKEN:
        _write_turn(row, orientation, spin, bodies, steering)
    return state


@compiled_step
def _turn(
    present: Quaternion,
    spin: Vector,
    goal: Quaternion,
    axis_limited: bool,
    limit: float,
    limits: Vector,
    accel: float,
    accels: Vector,
    dt: float,
) -> tuple[int, Quaternion, Vector]:
    """Return what becomes of a robot that turns to `goal`: BROKEN, GOING or THERE, its orientation and its spin."""
    # A rotation vector is the shorter way round, so a turn is a straight line in these vectors.
    delta = to_rotation_vector(multiply(goal, (-present[0], -present[1], -present[2], present[3])))
    angle = math.sqrt(dot(delta, delta))
    least = angle if angle > TINY else TINY
    axis = (delta[0] / least, delta[1] / least, delta[2] / least)
    norm_accel = accel
    if axis_limited:
        inside = to_body(present, axis)
        limit, accel = limit_along(limit, limits, inside), limit_along(accel, accels, inside)
    # The goal is written as it is, not reached by turning: then equality tells who has arrived.
    if angle <= stopping_reach(limit, accel, dt) and can_stop(delta, spin, accel, dt):
        return THERE, goal, _STILL
    speed = next_speed(dot(spin, axis), angle, 0.0, limit, accel, dt, 1.0)
    wx, wy, wz, sx, sy, sz = approach(axis, spin, speed, accel, dt)
    if axis_limited:
        wx, wy, wz = within_axis_accels(present, spin, (wx, wy, wz), norm_accel, accels, dt)
        half = 0.5 * dt
        sx, sy, sz = (spin[0] + wx) * half, (spin[1] + wy) * half, (spin[2] + wz) * half
    moved = multiply(from_rotation_vector((sx, sy, sz)), present)
    norm = norm_of(moved)
    if norm != norm:
        return BROKEN, present, spin
    return GOING, (moved[0] / norm, moved[1] / norm, moved[2] / norm, moved[3] / norm), (wx, wy, wz)


@inlined
def turn_to_rest(row: int, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists) -> int:
    """Brake the rotation of a row for one step; return BROKEN, GOING or THERE: it has stopped rotating."""
    limits = steering.limits
    state, orientation, spin = brake_turn(
        quaternion_of(bodies.orientation, row),
        vector_of(bodies.angular_velocity, row),
        limits.axis_limited[row],
        limits.angular_accel[row],
        vector_of(twists.angular_accels, row),
        dt,
    )
    if state != BROKEN:
        _write_turn(row, orientation, spin, bodies, steering)
    return state


@compiled_step
def brake_turn(
    present: Quaternion, spin: Vector, axis_limited: bool, accel: float, accels: Vector, dt: float
) -> tuple[int, Quaternion, Vector]:
    speed = math.sqrt(dot(spin, spin))
    least = speed if speed > TINY else TINY
    axis = (spin[0] / least, spin[1] / least, spin[2] / least)
    if axis_limited:
        accel = limit_along(accel, accels, to_body(present, axis))
    left = speed - accel * dt
    left = left if left > 0.0 else 0.0
    after = (axis[0] * left, axis[1] * left, axis[2] * left)
    half = 0.5 * dt
    mean = ((spin[0] + after[0]) * half, (spin[1] + after[1]) * half, (spin[2] + after[2]) * half)
    moved = multiply(from_rotation_vector(mean), present)
    norm = norm_of(moved)
    if norm != norm:
        return BROKEN, present, spin
    turned = (moved[0] / norm, moved[1] / norm, moved[2] / norm, moved[3] / norm)
    return THERE if speed <= accel * dt else GOING, turned, after


@inlined
def _write_turn(row: int, orientation: Quaternion, spin: Vector, bodies: BodyArrays, steering: Steering) -> None:
    write_quaternion(bodies.orientation, row, orientation)
    write_vector(bodies.angular_velocity, row, spin)
    write_vector(steering.body_angular, row, to_body(orientation, spin))
    touch(bodies, row)


# Velocity commands: the body twist follows the commanded one within the limits; arcs are exact.


_IDLE = ControllerMode.IDLE.code
_NOTHING = (0.0, 0.0, 0.0)


def expire_commands(world: World, rows: Rows) -> None:
    """Set expired velocity commands of `rows` to zero."""
    motion = world.motion
    expiry = motion.command_expiry.take(rows)
    expired = rows[(expiry >= 0) & (world.clock.tick >= expiry)]
    if len(expired):
        motion.command_linear[expired] = 0.0
        motion.command_angular[expired] = 0.0
        motion.command_expiry[expired] = -1


@inlined
def follow_velocity(
    row: int, tick: int, sideways: bool, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists
) -> bool:
    """Move a row one step by its velocity command; without `sideways` only linear x and angular z are used.

    An expired command counts as zero. A robot at rest with a zero command becomes idle. Returns False, with the pose as
    it was, for numbers that are none or infinite.
    """
    expiry = twists.command_expiry[row]
    if 0 <= expiry <= tick:
        write_vector(twists.command_linear, row, _NOTHING)
        write_vector(twists.command_angular, row, _NOTHING)
        twists.command_expiry[row] = -1
    linear, angular = vector_of(twists.command_linear, row), vector_of(twists.command_angular, row)
    if not sideways:
        linear, angular = (linear[0], 0.0, 0.0), (0.0, 0.0, angular[2])
    if not move_by_twist(row, linear, angular, dt, bodies, steering, twists):
        return False
    stands = is_zero(vector_of(steering.body_linear, row)) and is_zero(vector_of(steering.body_angular, row))
    if stands and is_zero(linear) and is_zero(angular):
        steering.control[row] = _IDLE
        twists.command_expiry[row] = -1
    return True


@inlined
def move_by_twist(
    row: int, linear: Vector, angular: Vector, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists
) -> bool:
    """Change the body twist of a row towards `linear` and `angular`, and move it by the mean over the step.

    A constant twist moves a body along an exact helix. Returns False, with the row as it was, for broken numbers.
    """
    limits = steering.limits
    old_linear, old_angular = vector_of(steering.body_linear, row), vector_of(steering.body_angular, row)
    new_linear = _next_twist(
        old_linear, linear, dt, limits.linear_limit[row], vector_of(twists.linear_limits, row),
        limits.linear_accel[row], vector_of(twists.linear_accels, row),
    )  # fmt: skip
    new_angular = _next_twist(
        old_angular, angular, dt, limits.angular_limit[row], vector_of(twists.angular_limits, row),
        limits.angular_accel[row], vector_of(twists.angular_accels, row),
    )  # fmt: skip
    frame = quaternion_of(bodies.orientation, row)
    # The mean of both ends, as the twist changes evenly within a step.
    turns, shift = _mean(old_angular, new_angular, dt), _mean(old_linear, new_linear, dt)
    shift = to_world(frame, helix(turns, shift))
    turned = multiply(frame, from_rotation_vector(turns))
    norm = norm_of(turned)
    if norm != norm:
        return False
    position = vector_of(bodies.position, row)
    write_vector(bodies.position, row, (position[0] + shift[0], position[1] + shift[1], position[2] + shift[2]))
    frame = (turned[0] / norm, turned[1] / norm, turned[2] / norm, turned[3] / norm)
    write_quaternion(bodies.orientation, row, frame)
    write_vector(steering.body_linear, row, new_linear)
    write_vector(steering.body_angular, row, new_angular)
    write_vector(bodies.velocity, row, to_world(frame, new_linear))
    write_vector(bodies.angular_velocity, row, to_world(frame, new_angular))
    if not (is_zero(turns) and is_zero(shift)):
        touch(bodies, row)
    return True


@compiled_step
def _mean(old: Vector, new: Vector, dt: float) -> Vector:
    half = 0.5 * dt
    return (old[0] + new[0]) * half, (old[1] + new[1]) * half, (old[2] + new[2]) * half


@compiled_step
def _next_twist(
    old: Vector, wanted: Vector, dt: float, limit: float, limits: Vector, accel: float, accels: Vector
) -> Vector:
    """Return a part of the twist after one step from `old` towards what the limits leave of `wanted`."""
    goal = clipped(wanted, limit, limits)
    change = (goal[0] - old[0], goal[1] - old[1], goal[2] - old[2])
    allowed = clipped(change, accel * dt, (accels[0] * dt, accels[1] * dt, accels[2] * dt))
    # Where nothing was cut, the goal itself: old + (goal - old) may be another number.
    return (
        goal[0] if allowed[0] == change[0] else old[0] + allowed[0],
        goal[1] if allowed[1] == change[1] else old[1] + allowed[1],
        goal[2] if allowed[2] == change[2] else old[2] + allowed[2],
    )


@compiled_step
def helix(turns: Vector, shifts: Vector) -> Vector:
    """Return the displacement, in the starting frame, of a body that moves `shifts` while turning `turns`."""
    # The translation of the exponential map of SE(3): with w the rotation vector, a its angle and s the shift,
    # s + (1 - cos a) / a^2 w x s + (a - sin a) / a^3 w x (w x s). Small angles use the Taylor series.
    square = dot(turns, turns)
    angle = math.sqrt(square)
    if angle < 1e-2:
        first = 0.5 - square * (1.0 / 24.0 - square / 720.0)
        second = 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)
    else:
        # 1 - cos a is computed as 2 sin^2(a / 2), which does not cancel for small angles.
        half_sine, _ = sin_cos(0.5 * angle)
        first = 2.0 * half_sine * half_sine / (angle * angle)
        sine, _ = sin_cos(angle)
        second = (angle - sine) / (angle * angle * angle)
    across = kernels_cross(turns, shifts)
    again = kernels_cross(turns, across)
    return (
        shifts[0] + first * across[0] + second * again[0],
        shifts[1] + first * across[1] + second * again[1],
        shifts[2] + first * across[2] + second * again[2],
    )


IDLE, VELOCITY = ControllerMode.IDLE.code, ControllerMode.VELOCITY.code
ROTATE, FORWARD = PosePhase.ROTATE.code, PosePhase.FORWARD.code
BACKWARD, AUTO = MovementDirection.BACKWARD.code, MovementDirection.AUTO.code
OMNI, DIFFERENTIAL = 1, 2
"""The indices of these laws: `laws.py` registers them first."""
NO_LAW = 0

AHEAD = 1e-9
"""A waypoint less than this (rad) off the heading is straight ahead; nearer than this (m) it has no direction."""
_ENDED, _LEFT, _BROKEN = 0, 1, 2
_AT_REST = (0.0, 0.0, 0.0)


def drive_any_way(world: World, rows: Rows, dt: float) -> Rows:
    """Move `rows`, all of one law, driving and turning in any direction at the same time; return those that arrived."""
    return advance(world, rows, dt, omni=_law_of(world, rows))[0]


def follow_poses(world: World, rows: Rows, dt: float) -> Rows:
    """Move `rows`, all of one law, as a differential base, along the heading; return those that arrived."""
    return advance(world, rows, dt, differential=_law_of(world, rows))[0]


def _law_of(world: World, rows: Rows) -> int:
    """Return the law of `rows`, which is that of each."""
    return int(world.motion.law[rows[0]]) if len(rows) else NO_LAW


def advance(
    world: World, rows: Rows, dt: float, *, omni: int = NO_LAW, differential: int = NO_LAW
) -> tuple[Rows, Rows]:
    """Move those of `rows` that may move and have one of the laws `omni` and `differential` by one step.

    Returns those at the ends of their paths, and those of another law, which are as they were.
    """
    arrays, lists = law_columns(world)
    limited = world.waypoints.limited
    if world.compiled:
        listed = advance_rows(rows, omni, differential, world.clock.tick, dt, limited, arrays, lists)
    else:
        each = rows.tolist()
        listed = advance_rows.in_python(each, omni, differential, world.clock.tick, dt, limited, arrays, lists)

    def refusal(row: int) -> str:
        turn, spin = world.orientation[row].tolist(), world.angular_velocity[row].tolist()
        return f"{world.label(row)} cannot turn: its orientation is {turn}, its spin {spin}"

    return rows_listed(world, rows, listed, lists, refusal)


@compiled_step
def advance_rows(
    rows: Rows, omni: int, differential: int, tick: int, dt: float, limited: bool, arrays: MotionArrays, lists: Lists
) -> int:
    """Do what `advance` does, and list who ended, who is of another law, and whose numbers are none.

    Returns how many are listed. `limited` says whether lines may have limits of speed of their own.
    """
    bodies, steering, twists, points = arrays
    for which in range(3):
        lists.counts[which] = 0
    for row in rows:
        control, law = steering.control[row], steering.law[row]
        if control == IDLE or law == NO_LAW or not bodies.alive[row] or bodies.parent[row] >= 0:
            continue
        if law != omni and law != differential:
            append(lists.left, lists.counts, _LEFT, row)
            continue
        if control == VELOCITY:
            whole = follow_velocity(row, tick, law == omni, dt, bodies, steering, twists)
        elif law == omni:
            whole = _drive_omni(row, dt, limited, bodies, steering, twists, points, lists)
        else:
            whole = _drive_differential(row, dt, limited, bodies, steering, twists, points, lists)
        if not whole:
            append(lists.broken, lists.counts, _BROKEN, row)
    return int(lists.counts[_ENDED] + lists.counts[_LEFT] + lists.counts[_BROKEN])


@inlined
def _drive_omni(
    row: int,
    dt: float,
    limited: bool,
    bodies: BodyArrays,
    steering: Steering,
    twists: Twists,
    points: PathPoints,
    lists: Lists,
) -> bool:
    """Move a row one step along its path; returns False for numbers that are none or infinite.

    Where `align_final` is set, it turns to the last waypoint's orientation on the way to it; orientations of earlier
    waypoints are ignored. On arrival it has exactly the position and orientation of the goal.
    """
    goal = steering.path_start[row] + steering.path_length[row] - 1
    if steering.path_fresh[row]:
        _prepare(row, dt, True, limited, bodies, steering, twists, points)
        # A robot that still turns from before has to come to rest, whatever it heads for.
        spins = not is_zero(vector_of(bodies.angular_velocity, row))
        steering.turning[row] = spins or (steering.align_final[row] and not is_aligned(bodies, points, row, goal))
    last = steering.waypoint[row] == steering.path_length[row] - 1
    # Turned before it drives: `drive` expects the orientation of the end of the step.
    if steering.turning[row]:
        # Only robots that are slow enough on the last stretch aim at the orientation.
        if last and steering.align_final[row] and _is_slow(row, bodies, steering, twists):
            turned = turn_to(row, quaternion_of(points.orientation, goal), dt, bodies, steering, twists)
            if turned == THERE:
                steering.turning[row] = False
        else:
            turned = turn_to_rest(row, dt, bodies, steering, twists)
            # Without a wanted orientation it is done with that.
            if turned == THERE and not steering.align_final[row]:
                steering.turning[row] = False
        if turned == BROKEN:
            return False
    if drive(row, dt, limited, bodies, steering, twists, points):
        if not last:
            steering.waypoint[row] += 1
        elif not steering.turning[row]:
            # Who still turns stays at the goal and arrives when both are done.
            _end_or_turn(row, goal, bodies, steering, points, lists)
    return True


@inlined
def _drive_differential(
    row: int,
    dt: float,
    limited: bool,
    bodies: BodyArrays,
    steering: Steering,
    twists: Twists,
    points: PathPoints,
    lists: Lists,
) -> bool:
    """Move a row one step along its path; returns False for numbers that are none or infinite.

    Lines may climb. The heading is the yaw; roll and pitch do not change until the turn to the final orientation.
    On arrival it has exactly the position of the goal, and its orientation where `align_final` is set.
    """
    goal = steering.path_start[row] + steering.path_length[row] - 1
    if steering.path_fresh[row]:
        # It cannot change direction while driving, so it stops at every corner.
        _prepare(row, dt, False, limited, bodies, steering, twists, points)
        steering.turning[row] = False
        _begin_segment(row, bodies, steering, points)
    # Who ends one phase begins the next one in the next step.
    if steering.turning[row]:
        turned = turn_to(row, quaternion_of(points.orientation, goal), dt, bodies, steering, twists)
        if turned == THERE:
            steering.turning[row] = False
            append(lists.ended, lists.counts, _ENDED, row)
        return turned != BROKEN
    if steering.phase[row] != FORWARD:
        return _rotate(row, dt, bodies, steering, twists, points)
    if drive(row, dt, limited, bodies, steering, twists, points):
        if steering.waypoint[row] != steering.path_length[row] - 1:
            steering.waypoint[row] += 1
            _begin_segment(row, bodies, steering, points)
        else:
            _end_or_turn(row, goal, bodies, steering, points, lists)
    return True


@inlined
def _prepare(
    row: int,
    dt: float,
    cut_corners: bool,
    limited: bool,
    bodies: BodyArrays,
    steering: Steering,
    twists: Twists,
    points: PathPoints,
) -> None:
    """Set the pass speeds of a fresh path, from where the robot is."""
    steering.path_fresh[row] = False
    start, length = steering.path_start[row], steering.path_length[row]
    # A path of one waypoint has no corners.
    if length > 1:
        speed = any_way(steering.limits.linear_limit[row], vector_of(twists.linear_limits, row))
        accel = any_way(steering.limits.linear_accel[row], vector_of(twists.linear_accels, row))
        position, first, last = vector_of(bodies.position, row), start + steering.waypoint[row], start + length - 1
        headed = prepare_path(points, position, first, last, speed, accel, dt, cut_corners, limited)
        steering.waypoint[row] = headed - start


@inlined
def _is_slow(row: int, bodies: BodyArrays, steering: Steering, twists: Twists) -> bool:
    """Return whether a row may turn: with axis limits, only if it is slow enough for every orientation."""
    if not steering.limits.axis_limited[row]:
        return True
    velocity = vector_of(bodies.velocity, row)
    fastest = any_way(steering.limits.linear_limit[row], vector_of(twists.linear_limits, row)) * (1.0 + 1e-9)
    return dot(velocity, velocity) <= fastest * fastest


@inlined
def _end_or_turn(row: int, goal: int, bodies: BodyArrays, steering: Steering, points: PathPoints, lists: Lists) -> None:
    """Let a robot that came to its goal arrive, or begin to turn there."""
    # Compared bit for bit: a turn ends by writing the goal itself.
    if not steering.align_final[row] or is_aligned(bodies, points, row, goal):
        append(lists.ended, lists.counts, _ENDED, row)
    else:
        steering.turning[row] = True


@inlined
def _rotate(row: int, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists, points: PathPoints) -> bool:
    """Brake on the present course to a stop, then turn towards the waypoint; False for numbers that are none."""
    if not is_zero(vector_of(steering.body_linear, row)):
        if not move_by_twist(row, _AT_REST, _AT_REST, dt, bodies, steering, twists):
            return False
        if is_zero(vector_of(steering.body_linear, row)) and is_zero(vector_of(steering.body_angular, row)):
            # Forward or backward is chosen again, as braking moved it.
            _begin_segment(row, bodies, steering, points)
        return True
    present = quaternion_of(bodies.orientation, row)
    headed = steering.path_start[row] + steering.waypoint[row]
    error = _heading_error(
        vector_of(bodies.position, row),
        present,
        vector_of(points.position, headed),
        steering.reverse[row],
        _last_tolerance(row, steering),
    )
    sine, cosine = sin_cos(0.5 * error)
    # Turned about the vertical axis of the world: roll and pitch stay as they are.
    goal = multiply((0.0, 0.0, sine, cosine), present)
    norm = norm_of(goal)
    if norm != norm:
        return False
    goal = (goal[0] / norm, goal[1] / norm, goal[2] / norm, goal[3] / norm)
    turned = turn_to(row, goal, dt, bodies, steering, twists)
    if turned == THERE:
        steering.phase[row] = FORWARD
    return turned != BROKEN


@inlined
def _last_tolerance(row: int, steering: Steering) -> float:
    """Return how near to its waypoint a robot is at it: 0 but at the last one."""
    return steering.tolerance[row] if steering.waypoint[row] == steering.path_length[row] - 1 else 0.0


@inlined
def _begin_segment(row: int, bodies: BodyArrays, steering: Steering, points: PathPoints) -> None:
    """Choose forward or backward, and whether to turn before driving to the current waypoint."""
    steering.reverse[row], ahead = _choose_direction(
        vector_of(bodies.position, row),
        quaternion_of(bodies.orientation, row),
        vector_of(bodies.velocity, row),
        vector_of(bodies.angular_velocity, row),
        vector_of(points.position, steering.path_start[row] + steering.waypoint[row]),
        steering.direction[row],
        _last_tolerance(row, steering),
    )
    steering.phase[row] = FORWARD if ahead else ROTATE


@compiled_step
def _choose_direction(
    position: Vector,
    orientation: Quaternion,
    velocity: Vector,
    spin: Vector,
    goal: Vector,
    direction: int,
    tolerance: float,
) -> tuple[bool, bool]:
    """Return whether a robot goes backward to `goal`, and whether it may drive there without turning first."""
    reverse = direction == BACKWARD
    error = _heading_error(position, orientation, goal, reverse, tolerance)
    if direction == AUTO and abs(error) > 0.5 * math.pi:
        # Now the rear end leads, so the error is measured again.
        reverse = True
        error = _heading_error(position, orientation, goal, reverse, tolerance)
    # It is in line if it is at rest, or drives exactly towards its waypoint without turning.
    delta = (goal[0] - position[0], goal[1] - position[1], goal[2] - position[2])
    speed, distance = math.sqrt(dot(velocity, velocity)), math.sqrt(dot(delta, delta))
    # |v . d| = |v| |d| only where both are parallel.
    off_line = abs(dot(velocity, delta)) < speed * distance * (1.0 - 1e-12)
    return reverse, abs(error) <= AHEAD and is_zero(spin) and not off_line


@compiled_step
def _heading_error(position: Vector, orientation: Quaternion, goal: Vector, reverse: bool, tolerance: float) -> float:
    """Return the angle (rad) by which the leading end of a robot has to turn to point at `goal`."""
    x, y, z = goal[0] - position[0], goal[1] - position[1], goal[2] - position[2]
    flat = x * x + y * y
    # Above or below it, or as near as it was asked for: there is no need to turn.
    if flat <= AHEAD * AHEAD or (tolerance != 0.0 and flat + z * z <= tolerance * tolerance):
        return 0.0
    # The leading end is the rear if it drives backward.
    sign = -1.0 if reverse else 1.0
    sine, cosine = sin_cos(heading(orientation))
    sine, cosine = sine * sign, cosine * sign
    return float(atan2(cosine * y - sine * x, cosine * x + sine * y))
