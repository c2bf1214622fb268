"""Avoidance of robots that cannot move sideways: each chooses speeds (v, w) that it can drive, one after the other.

Each takes the cheapest way whose reservation is clear of all others': of the new ones of robots that
have chosen, and of where the rest would brake to a stop. Braking is always clear, so robots that all choose like this
never touch, whatever the costs are. A robot that drives backward is one that looks the other way, with speeds of the
other sign.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.kernels import compiled, is_usable
from fleet_sim.base.params import MovementDirection
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.rotations import atan2, sin_cos
from fleet_sim.robots.motion.rows import angular_any_way, linear_any_way
from fleet_sim.world.clock import uniforms
from fleet_sim.world.world import World

# Robots that drive along their heading and turn: where a way of driving leads in the next seconds, and when it hits.
# After the velocity obstacles of Fiorini and Shiller (1998), but found by driving: each way is followed with the
# limits of the robot, so that no disc has to be enlarged for what a differential robot cannot do.


STEPS = 8
"""A way is followed in so many steps for the robot's horizon, or in steps of the simulation where these are longer."""
NEVER = 1e9
TRACK, STAND_AND_TURN, BACK_OFF = 0, 1, 2
"""Ways to drive: turn towards a direction while driving, stop and turn first as the law does, and drive backwards."""

_BRAKING, _TURNING = 0.8, 0.7
"""Shares of the limits that a way plans with, so that following it later does not overshoot."""
_BACKWARDS = 0.4
_HIT, _LEFT, _TURN = 3.0, 0.05, 0.5
"""Seconds that a way costs: a hit at once, per horizon; for passing on the left; share of the turn that is left over.
Found by sweeps over a hall of 100 robots. Without the preference for the right two that meet dither."""
_DELAY, _WIDE, _SLOW = 0.5, 1.5, 0.3
"""Seconds that each slow robot costs which stands in the line from the end of a way to the goal; how wide that line is
in contact distances; below which share of the top speed it is slow. This leads robots around a jam, not into it."""


class Unicycles(NamedTuple):
    """Bodies (N,), and the neighbours of each: `other[begin[n]:begin[n + 1]]`. Those `steered` plan.

    SI units, world frame. `v`, `w` are speeds along and about the body, `yaw` the direction of the end that leads,
    `tx`, `ty` waypoints.
    """

    steered: Bools
    x: Floats
    y: Floats
    yaw: Floats
    v: Floats
    w: Floats
    vx: Floats
    vy: Floats
    radius: Floats
    speed: Floats
    accel: Floats
    spin: Floats
    spin_accel: Floats
    horizon: Floats
    tx: Floats
    ty: Floats
    begin: Ints
    other: Ints


class StandingBoxes(NamedTuple):
    """Rectangles that stand: those near body n are `begin[n]` to `begin[n + 1]`: middles, axes and halves."""

    begin: Ints
    x: Floats
    y: Floats
    cosine: Floats
    sine: Floats
    half_x: Floats
    half_y: Floats


class NearBodies(NamedTuple):
    """Neighbours of one robot, (M, 5): place and velocity relative to it and to the world, and distance to keep."""

    values: Floats
    number: int


@compiled
def wrap(angle: float) -> float:
    """Return an angle between -pi and pi."""
    return angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))


@compiled
def toward(old: float, wanted: float, most: float) -> float:
    """Return `wanted`, or what is `most` from `old` on the way to it."""
    return min(max(wanted, old - most), old + most)


@compiled
def command(
    crowd: Unicycles, i: int, way: int, aim: float, speed: float, yaw: float, v: float, w: float, dt: float
) -> tuple[float, float]:
    """Return the speeds (v, w) one step later of robot `i` that goes a way in direction `aim`."""
    accel, spin_accel = crowd.accel[i] * dt, crowd.spin_accel[i] * dt
    if way == BACK_OFF:
        return toward(v, -_BACKWARDS * crowd.speed[i], accel), toward(w, 0.0, spin_accel)
    error = wrap(aim - yaw)
    size = abs(error)
    # The root is the speed from which it can still stop at the direction; with the last it does not pass it in a step.
    turning = min(crowd.spin[i], math.sqrt(2.0 * _TURNING * crowd.spin_accel[i] * size), size / dt)
    # Slower the more it points elsewhere, and not at all beyond a right angle: it would drive away.
    ahead = max(0.0, sin_cos(size)[1])
    return toward(v, speed * ahead, accel), toward(w, math.copysign(turning, error), spin_accel)


@compiled
def top_speed(crowd: Unicycles, i: int, share: float, distance: float, dt: float) -> float:
    """Return the speed from which a robot can stop at its waypoint, at most `share` of its limit."""
    return min(crowd.speed[i] * share, math.sqrt(2.0 * _BRAKING * crowd.accel[i] * distance), distance / dt)


@compiled
def to_box(boxes: StandingBoxes, k: int, x: float, y: float) -> float:
    """Return the distance of a point from a rectangle; 0 inside."""
    dx, dy = x - boxes.x[k], y - boxes.y[k]
    along = abs(dx * boxes.cosine[k] + dy * boxes.sine[k]) - boxes.half_x[k]
    aside = abs(dy * boxes.cosine[k] - dx * boxes.sine[k]) - boxes.half_y[k]
    along, aside = max(along, 0.0), max(aside, 0.0)
    return math.sqrt(along * along + aside * aside)


@compiled
def room(crowd: Unicycles, boxes: StandingBoxes, i: int, k: int) -> float:
    """Return the distance that a robot keeps from a box: less where it is, or where its waypoint is, nearer."""
    now = to_box(boxes, k, crowd.x[i], crowd.y[i])
    goal = to_box(boxes, k, crowd.tx[i], crowd.ty[i])
    # A little less than now: who stands nearer already has to be able to leave.
    return min(crowd.radius[i] + 0.01, 0.999 * now, 0.999 * goal)


@compiled
def first_hit(near: NearBodies, x: float, y: float, to_x: float, to_y: float, begin: float, span: float) -> float:
    """Return when a robot that moves from one place to another in `span` s touches a neighbour; NEVER if not."""
    found = NEVER
    for k in range(near.number):
        vx, vy, keep = near.values[k, 2], near.values[k, 3], near.values[k, 4]
        ax, ay = near.values[k, 0] + vx * begin - x, near.values[k, 1] + vy * begin - y
        ex, ey = vx * span - (to_x - x), vy * span - (to_y - y)
        # Both move along lines, so the squared distance is a parabola in time; its least is at `share` of the step.
        square = ex * ex + ey * ey
        share = min(1.0, max(0.0, -(ax * ex + ay * ey) / square)) if square > 0.0 else 0.0
        ux, uy = ax + share * ex, ay + share * ey
        if ux * ux + uy * uy < keep * keep:
            found = min(found, begin + share * span)
    return found


@compiled
def follow(
    crowd: Unicycles, boxes: StandingBoxes, near: NearBodies, i: int, way: int, offset: float, share: float, dt: float
) -> tuple[float, float]:
    """Drive a way for the robot's horizon: return what it costs in s, and when it hits something (or NEVER).

    The direction is `offset` rad to the left of the waypoint. Neighbours keep their velocities. The cost is the time
    that is needed from where the way ends, more for a hit, the sooner the more.
    """
    horizon = crowd.horizon[i]
    h = max(dt, horizon / STEPS)
    x, y, yaw, v, w = crowd.x[i], crowd.y[i], crowd.yaw[i], crowd.v[i], crowd.w[i]
    dx, dy = crowd.tx[i] - x, crowd.ty[i] - y
    aim, hit, aligned = atan2(dy, dx) + offset, NEVER, way != STAND_AND_TURN
    steps = max(1, math.ceil(horizon / h - 1e-9))
    for step in range(steps):
        dx, dy = crowd.tx[i] - x, crowd.ty[i] - y
        distance = math.sqrt(dx * dx + dy * dy)
        # Other ways keep their direction, or all would bend back to the straight one.
        if offset == 0.0 and distance > 1e-6:
            aim = atan2(dy, dx)
        aligned = aligned or (abs(wrap(aim - yaw)) < 0.02 and abs(w) < 0.05)
        speed = top_speed(crowd, i, share, distance, h) if aligned else 0.0
        next_v, next_w = command(crowd, i, way, aim, speed, yaw, v, w, h)
        # The chord of an arc points along the heading half-way.
        sine, cosine = sin_cos(yaw + 0.25 * (w + next_w) * h)
        to_x, to_y = x + 0.5 * (v + next_v) * h * cosine, y + 0.5 * (v + next_v) * h * sine
        if hit == NEVER:
            hit = first_hit(near, x - crowd.x[i], y - crowd.y[i], to_x - crowd.x[i], to_y - crowd.y[i], step * h, h)
            if way != STAND_AND_TURN:
                for k in range(boxes.begin[i], boxes.begin[i + 1]):
                    if to_box(boxes, k, to_x, to_y) < room(crowd, boxes, i, k):
                        hit = min(hit, step * h)
        yaw += 0.5 * (w + next_w) * h
        x, y, v, w = to_x, to_y, next_v, next_w
    cost = _remaining(crowd, near, i, x, y, yaw, v) + (_LEFT if offset > 0.0 else 0.0)
    # A later hit costs less: much will have changed by then.
    if hit < horizon:
        cost += _HIT * horizon * (1.0 - hit / horizon) * (1.0 - hit / horizon) + 0.1
    return cost, hit


@compiled
def _remaining(crowd: Unicycles, near: NearBodies, i: int, x: float, y: float, yaw: float, v: float) -> float:
    """Return the seconds from a place to the waypoint: distance, turn, speeding up, and slow ones in the way."""
    dx, dy = crowd.tx[i] - x, crowd.ty[i] - y
    distance, speed = math.sqrt(dx * dx + dy * dy), crowd.speed[i]
    seconds = distance / speed
    # At the waypoint the direction to it says nothing.
    if distance <= 0.05:
        return seconds
    share = min(1.0, distance)
    seconds += _TURN * share * abs(wrap(atan2(dy, dx) - yaw)) / crowd.spin[i]
    seconds += 0.5 * (speed - max(0.0, v)) / crowd.accel[i] * min(1.0, distance / speed)
    ux, uy, late = dx / distance, dy / distance, 0.0
    for k in range(near.number):
        vx, vy, keep = near.values[k, 2], near.values[k, 3], near.values[k, 4]
        if vx * vx + vy * vy > _SLOW * _SLOW * speed * speed:
            continue
        ax, ay = near.values[k, 0] - (x - crowd.x[i]), near.values[k, 1] - (y - crowd.y[i])
        if 0.0 < ax * ux + ay * uy <= distance:
            late += _DELAY * max(0.0, 1.0 - abs(ax * uy - ay * ux) / (_WIDE * keep + 1e-9))
    return float(seconds + min(late, 3.0 * crowd.horizon[i]))


CLEARANCE = 1.15
"""Discs that move in any direction are larger than robots by this factor, as robots cannot change their velocity at
once, and a graze counts as a contact."""
BACKWARD, AUTO = MovementDirection.BACKWARD.code, MovementDirection.AUTO.code

_IN_LINE, _MOVING = 1e-6, 1e-3
"""A robot is in line if the sine of its error, and its turning speed in rad/s, are below the first; it moves if it is
faster than the second, in m/s."""
_FASTEST, _QUICKEST = 1e3, 1e4
"""Speeds and accelerations assumed for robots without limits."""
_PERIOD, _LEAVING = 2.0, 0.5
"""For how long (s) a robot in a jam stays with leaving it or not, and which share of them leaves. If all left they
would meet again; if nobody did they would stand for ever."""

_OFFSETS = (0.0, -0.25, 0.25, -0.5, 0.5, -0.85, 0.85, -1.25, 1.25, -1.75, 1.75, -2.4, 2.4, math.pi)
_SHARES = (1.0, 0.6, 0.25)
_GAP = 1.1
"""Ways keep this many contact distances, as neighbours do not keep their velocities."""
_JAM, _MANY, _STILL = 4.0, 2, 0.15
"""A robot is in a jam if `_MANY` robots stand before it within `_JAM` contact distances. Those stand that
are on their way and slower than `_STILL` of its top speed."""
_HELD, _FACING = 2.0, 0.15
"""A robot is held if it stands, faces its waypoint to so many rad, and something stands before it within so many
contact distances. It may be alone with robots that are parked, of which nobody else will give way."""
_AWAY = 4.0
"""Who leaves a jam heads for a point this far (m) away from its neighbours, until it draws again."""

_LAW = 0
"""The first way is the law's own: it needs no command."""

_POINTS = 16
_MARGIN = 0.01
"""Distance (m) that reservations keep from each other."""
_REACTION = 0.4
"""For so many seconds a body that is not steered is taken to keep its velocity."""


class Choice(NamedTuple):
    """What to know of each robot besides, (N,), and what it chose.

    In: `in_line` those that the law would drive without stopping first, `settled` those that turn at their goal,
    `leaves` who leaves a jam if it is in one, `turn` the keyed direction (rad) that it then prefers.
    Out: `by_law` who is left to the law, and the speeds `v`, `w` of all others. In and out: `held` who was held since
    its last draw, and goes on leaving.
    """

    in_line: Bools
    settled: Bools
    leaves: Bools
    turn: Floats
    held: Bools
    by_law: Bools
    v: Floats
    w: Floats


class _DrivableWays(NamedTuple):
    """The ways that are compared, and what they cost the present robot.

    All are (W,). `offsets` are angles in rad from the direction to the waypoint, `shares` parts of the top speed. A
    cost is infinite for ways that are out of the question.
    """

    kinds: Floats
    offsets: Floats
    shares: Floats
    costs: Floats


class AvoidanceScene(NamedTuple):
    """The robots that avoid and all bodies that may be in the way: rows (N,) and their values, (N,) each."""

    rows: Rows
    yields: Bools
    x: Floats
    y: Floats
    radii: Floats
    horizons: Floats
    speeds: Floats
    block_mask: Bools


def unicycle_speeds(
    world: World, scene: AvoidanceScene, steered: Bools, pairs: tuple[Rows, Rows], dt: float
) -> tuple[Floats, Floats, Rows]:
    """Return speeds (v, w), each (M,), and the places (M,) in `scene` of those of `steered` that need them.

    The rest of `steered` is left to its law. Robots that all are `steered` do not touch each other, nor boxes.
    """
    motion, rows = world.motion, scene.rows
    start = np.where(steered, motion.path_start[rows] + motion.waypoint[rows], 0)
    targets = world.waypoints.position[start]
    tx, ty = np.where(steered, targets[:, 0], scene.x), np.where(steered, targets[:, 1], scene.y)
    yaw = quaternions.yaws(world.orientation[rows])
    rear_mask = _rear_leads(world, rows, yaw, tx - scene.x, ty - scene.y) & steered
    # What drives backward is a robot that looks the other way, with speeds of the other sign.
    yaw = np.where(rear_mask, yaw + np.pi, yaw)
    sign = np.where(rear_mask, -1.0, 1.0)
    v, w = sign * motion.body_linear[rows, 0], np.array(motion.body_angular[rows, 2])
    block_mask = scene.block_mask[pairs[0]] | scene.block_mask[pairs[1]]
    # Boxes are no discs: their pairs are looked at apart.
    neighbors = _lists(len(rows), pairs[0][~block_mask], pairs[1][~block_mask])
    crowd = _crowd(world, scene, steered, (yaw, v, w), (tx, ty), neighbors)
    choice, draws = _choice(world, rows, crowd)
    boxes = _boxes(world, scene, pairs[0][block_mask], pairs[1][block_mask])
    # For a few robots, too: each compares some forty ways of driving.
    choose = choose_speeds if world.may_compile and is_usable() else choose_speeds.in_python
    choose(crowd, boxes, choice, dt)
    motion.leaving[rows[steered]] = np.where(choice.held, draws, -1)[steered]
    places = np.flatnonzero(steered & ~choice.by_law)
    return (sign * choice.v)[places], choice.w[places], places


def _crowd(
    world: World,
    scene: AvoidanceScene,
    steered: Bools,
    movement: tuple[Floats, Floats, Floats],
    target: tuple[Floats, Floats],
    neighbors: tuple[Ints, Ints],
) -> Unicycles:
    """Return robots as they see each other: `movement` is yaw and speeds, `target` x and y, `neighbors` as `_lists`."""
    motion, rows = world.motion, scene.rows
    (speed, accel), (spin, spin_accel) = linear_any_way(motion, rows), angular_any_way(motion, rows)
    return Unicycles(
        steered,
        scene.x,
        scene.y,
        *movement,
        np.array(world.velocity[rows, 0]),
        np.array(world.velocity[rows, 1]),
        # As large as they are, without the clearance that discs have.
        scene.radii / CLEARANCE,
        np.minimum(speed, _FASTEST),
        np.minimum(accel, _QUICKEST),
        np.minimum(spin, _FASTEST),
        np.minimum(spin_accel, _QUICKEST),
        scene.horizons,
        *target,
        *neighbors,
    )


def _rear_leads(world: World, rows: Rows, yaw: Floats, dx: Floats, dy: Floats) -> Bools:
    """Return which robots drive backwards; for new paths as the law will decide it."""
    motion = world.motion
    sines, cosines = trig.sin_cos(yaw)
    direction = motion.direction[rows]
    new = (direction == BACKWARD) | ((direction == AUTO) & (dx * cosines + dy * sines < 0.0))
    return np.asarray(np.where(motion.path_fresh[rows], new, motion.reverse[rows]))


def _lists(count: int, first: Rows, second: Rows) -> tuple[Ints, Ints]:
    """Return pairs as lists of neighbours: where each begins (N + 1,), and the neighbours in ascending order."""
    owner, other = np.concatenate((first, second)), np.concatenate((second, first))
    order = np.lexsort((other, owner))
    begin = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=count), out=begin[1:])
    return begin, np.ascontiguousarray(other[order], np.int64)


def _choice(world: World, rows: Rows, crowd: Unicycles) -> tuple[Choice, Ints]:
    """Return what robots have to know to choose, and the numbers (N,) of their present draws."""
    motion, count = world.motion, len(rows)
    dx, dy = crowd.tx - crowd.x, crowd.ty - crowd.y
    sines, cosines = trig.sin_cos(crowd.yaw)
    off_mask = np.abs(dy * cosines - dx * sines) > _IN_LINE * np.sqrt(dx * dx + dy * dy)
    astray_mask = (np.abs(crowd.v) > _MOVING) & (off_mask | (np.abs(crowd.w) > _IN_LINE))
    # Robots draw at different times, so that a jam does not pulse.
    key, ids = world.random.key("avoidance"), world.object_id[rows]
    draws = np.floor(world.clock.time / _PERIOD + uniforms(key, ids, 0, lane=0)).astype(np.int64)
    leaves = uniforms(key, ids, draws, lane=1) < _LEAVING
    turn = 2.0 * np.pi * uniforms(key, ids, draws, lane=2)
    settled = motion.turning[rows] & (crowd.v == 0.0)
    held = motion.leaving[rows] == draws
    none = np.zeros(count)
    return Choice(~astray_mask, settled, leaves, turn, held, np.ones(count, bool), none, none.copy()), draws


def _boxes(world: World, scene: AvoidanceScene, first: Rows, second: Rows) -> StandingBoxes:
    """Return the boxes near each body of the scene, of pairs in which one is such a box."""
    begin, block = _lists(len(scene.rows), first, second)
    rows = scene.rows[block]
    sines, cosines = trig.sin_cos(quaternions.yaws(world.orientation[rows]))
    middle, half = world.shape_position[rows], world.half_extents[rows]
    return StandingBoxes(
        begin,
        scene.x[block] + middle[:, 0] * cosines - middle[:, 1] * sines,
        scene.y[block] + middle[:, 0] * sines + middle[:, 1] * cosines,
        # Views have another layout, for which the kernel would be compiled once more.
        np.ascontiguousarray(cosines),
        np.ascontiguousarray(sines),
        np.array(half[:, 0]),
        np.array(half[:, 1]),
    )


# ---- choosing --------------------------------------------------------------------------------------------------------


@compiled
def choose_speeds(crowd: Unicycles, boxes: StandingBoxes, choice: Choice, dt: float) -> None:
    """Write the choices of all steered robots, in the order of rows."""
    count, most = len(crowd.x), 1
    reserved, own = np.zeros((count, 5)), np.zeros(5)
    for i in range(count):
        most = max(most, crowd.begin[i + 1] - crowd.begin[i])
        if not crowd.steered[i]:
            _stand(crowd, i, _REACTION, own)
        else:
            # A robot that has not chosen holds the way on which it would brake: that way is left to it by all before
            # it.
            _brake(crowd, i, dt, own)
        reserved[i] = own
    values, ways = np.empty((most, 5)), _ways()
    for i in range(count):
        if not crowd.steered[i]:
            continue
        if choice.settled[i]:
            # Turning on the spot needs no more room than standing.
            _stand(crowd, i, 0.0, reserved[i])
            continue
        near = _neighbours(crowd, i, values)
        # The waypoint is another one for this choice only.
        goal_x, goal_y = crowd.tx[i], crowd.ty[i]
        choice.held[i] = choice.held[i] or _is_held(crowd, boxes, near, i, dt)
        leaves = choice.leaves[i] and (choice.held[i] or _is_jammed(crowd, choice, near, i))
        if leaves:
            _head_away(crowd, near, i, choice.turn[i])
        _choose(crowd, boxes, choice, near, ways, reserved, i, leaves, dt, own)
        crowd.tx[i], crowd.ty[i] = goal_x, goal_y
        reserved[i] = own
        if not choice.by_law[i]:
            # Those that choose later see where this one is going.
            sine, cosine = sin_cos(crowd.yaw[i] + choice.w[i] * dt)
            crowd.vx[i], crowd.vy[i] = choice.v[i] * cosine, choice.v[i] * sine


@compiled
def _ways() -> _DrivableWays:
    """Return all ways that are tried for a robot: its own law, backing off, standing, and tracks beside its goal.

    The tracks are all pairs of a turn in `_OFFSETS`, in rad, and a share of the speed in `_SHARES`.
    """
    count = 3 + len(_OFFSETS) * len(_SHARES)
    kinds, offsets, shares = np.full(count, float(TRACK)), np.zeros(count), np.ones(count)
    kinds[_LAW], kinds[1], shares[2] = STAND_AND_TURN, BACK_OFF, 0.0
    place = 3
    for offset in _OFFSETS:
        for share in _SHARES:
            offsets[place], shares[place] = offset, share
            place += 1
    return _DrivableWays(kinds, offsets, shares, np.empty(count))


@compiled
def _neighbours(crowd: Unicycles, i: int, values: Floats) -> NearBodies:
    """Return the neighbors of robot `i`, written to `values`: place (m), velocity (m/s) and gap to keep of each.

    Places are relative to the robot, in the axes of the world. The gap is from middle to middle, in m.
    """
    count = crowd.begin[i + 1] - crowd.begin[i]
    for k in range(count):
        j = crowd.other[crowd.begin[i] + k]
        dx, dy = crowd.x[j] - crowd.x[i], crowd.y[j] - crowd.y[i]
        values[k, 0], values[k, 1], values[k, 2], values[k, 3] = dx, dy, crowd.vx[j], crowd.vy[j]
        # Who is nearer already may go on, if not nearer still.
        values[k, 4] = min(_GAP * (crowd.radius[i] + crowd.radius[j]), 0.999 * math.sqrt(dx * dx + dy * dy))
    return NearBodies(values, count)


@compiled
def _is_jammed(crowd: Unicycles, choice: Choice, near: NearBodies, i: int) -> bool:
    """Return whether at least `_MANY` robots stand close before robot `i`, on the side of its goal.

    Those that have settled, and those that are not steered by this law, do not count.
    """
    goal_x, goal_y, jam = crowd.tx[i] - crowd.x[i], crowd.ty[i] - crowd.y[i], 0
    for k in range(near.number):
        j = crowd.other[crowd.begin[i] + k]
        dx, dy, keep = near.values[k, 0], near.values[k, 1], crowd.radius[i] + crowd.radius[j]
        speed = math.sqrt(near.values[k, 2] * near.values[k, 2] + near.values[k, 3] * near.values[k, 3])
        if (
            choice.settled[j]
            or not crowd.steered[j]
            or speed > _STILL * crowd.speed[i]
            or dx * goal_x + dy * goal_y <= 0.0
        ):
            continue
        if math.sqrt(dx * dx + dy * dy) < _JAM * keep:
            jam += 1
    return jam >= _MANY


@compiled
def _is_held(crowd: Unicycles, boxes: StandingBoxes, near: NearBodies, i: int, dt: float) -> bool:
    """Return whether robot `i` stands, faces its goal, and cannot go because of one that stands before it."""
    goal_x, goal_y, slow = crowd.tx[i] - crowd.x[i], crowd.ty[i] - crowd.y[i], _STILL * crowd.speed[i]
    if abs(crowd.v[i]) > 0.1 * slow or abs(wrap(atan2(goal_y, goal_x) - crowd.yaw[i])) > _FACING:
        return False
    for k in range(near.number):
        dx, dy, vx, vy = near.values[k, 0], near.values[k, 1], near.values[k, 2], near.values[k, 3]
        keep = crowd.radius[i] + crowd.radius[crowd.other[crowd.begin[i] + k]]
        if vx * vx + vy * vy <= slow * slow and dx * goal_x + dy * goal_y > 0.0:
            square, reach = dx * dx + dy * dy, _HELD * keep
            # Whether its way is free is asked last, as it takes longest.
            if square < reach * reach:
                return bool(follow(crowd, boxes, near, i, STAND_AND_TURN, 0.0, 1.0, dt)[1] != NEVER)
    return False


@compiled
def _head_away(crowd: Unicycles, near: NearBodies, i: int, turn: float) -> None:
    """Move the waypoint of a robot to a place away from its neighbours, and somewhat in a direction of its own."""
    away_y, away_x = sin_cos(turn)
    for k in range(near.number):
        j = crowd.other[crowd.begin[i] + k]
        dx, dy, keep = near.values[k, 0], near.values[k, 1], crowd.radius[i] + crowd.radius[j]
        square = dx * dx + dy * dy
        if 0.0 < square < _JAM * _JAM * keep * keep:
            # By 1 / distance: the nearer, the more.
            away_x -= dx / square
            away_y -= dy / square
    # Never 0, as the next line divides by it.
    size = math.sqrt(away_x * away_x + away_y * away_y) + 1e-9
    crowd.tx[i], crowd.ty[i] = crowd.x[i] + _AWAY * away_x / size, crowd.y[i] + _AWAY * away_y / size


@compiled
def _choose(
    crowd: Unicycles,
    boxes: StandingBoxes,
    choice: Choice,
    near: NearBodies,
    ways: _DrivableWays,
    reserved: Floats,
    i: int,
    leaves: bool,
    dt: float,
    own: Floats,
) -> None:
    """Write the speeds of a robot, and what it reserves: of the cheapest way that is clear."""
    costs = ways.costs
    cost, hit = follow(crowd, boxes, near, i, STAND_AND_TURN, 0.0, 1.0, dt)
    if choice.in_line[i] and hit == NEVER and not leaves:
        # With a free way nobody is steered: such robots move as they do without avoidance, to the bit.
        _by_law(crowd, choice, i, dt, own)
        if _is_safe(crowd, boxes, reserved, i, own, True):
            choice.by_law[i] = True
            return
    costs[_LAW] = math.inf if leaves else cost
    for k in range(1, len(costs)):
        costs[k] = follow(crowd, boxes, near, i, int(ways.kinds[k]), ways.offsets[k], ways.shares[k], dt)[0]
    dx, dy = crowd.tx[i] - crowd.x[i], crowd.ty[i] - crowd.y[i]
    distance, aim = math.sqrt(dx * dx + dy * dy), atan2(dy, dx)
    for _ in range(len(costs)):
        k = int(np.argmin(costs))
        if costs[k] == math.inf:
            break
        # Struck off; if it turns out to be clear, the search ends anyway.
        costs[k] = math.inf
        if k == _LAW:
            _by_law(crowd, choice, i, dt, own)
        else:
            speed = top_speed(crowd, i, ways.shares[k], distance, dt)
            choice.v[i], choice.w[i] = command(
                crowd, i, int(ways.kinds[k]), aim + ways.offsets[k], speed, crowd.yaw[i], crowd.v[i], crowd.w[i], dt
            )
            _reserve(crowd, i, choice.v[i], choice.w[i], dt, own)
        if _is_safe(crowd, boxes, reserved, i, own, k == _LAW):
            choice.by_law[i] = k == _LAW
            return
    # Nothing else is clear. Braking is: it was held for this robot from the beginning.
    choice.v[i], choice.w[i] = _brake(crowd, i, dt, own)
    choice.by_law[i] = False


@compiled
def _brake(crowd: Unicycles, i: int, dt: float, own: Floats) -> tuple[float, float]:
    """Reserve for braking at once, and return the speeds after a step of it."""
    v, w = toward(crowd.v[i], 0.0, crowd.accel[i] * dt), toward(crowd.w[i], 0.0, crowd.spin_accel[i] * dt)
    _reserve(crowd, i, v, w, dt, own)
    return v, w


@compiled
def _by_law(crowd: Unicycles, choice: Choice, i: int, dt: float, own: Floats) -> None:
    """Reserve what the differential law may sweep: it turns on the spot, drives to the waypoint, or brakes to turn."""
    dx, dy = crowd.tx[i] - crowd.x[i], crowd.ty[i] - crowd.y[i]
    if not choice.in_line[i]:
        _brake(crowd, i, dt, own)
    elif crowd.v[i] == 0.0 and abs(wrap(atan2(dy, dx) - crowd.yaw[i])) > 1e-9:
        _stand(crowd, i, 0.0, own)
    else:
        _reserve(crowd, i, min(crowd.speed[i], crowd.v[i] + crowd.accel[i] * dt), 0.0, dt, own)
        reach_x, reach_y = own[2] - own[0], own[3] - own[1]
        if reach_x * reach_x + reach_y * reach_y > dx * dx + dy * dy:
            # It stops at the waypoint, so it sweeps no further.
            own[2], own[3] = crowd.tx[i], crowd.ty[i]


# ---- the floor that robots reserve to stop on: while no two reservations touch, no two robots can --------------------


@compiled
def _reserve(crowd: Unicycles, i: int, v1: float, w1: float, dt: float, out: Floats) -> None:
    """Write what a robot sweeps that has speeds (v1, w1) after a step and then brakes: a segment and its half width.

    `out` is (x, y, to_x, to_y, width). The width is without the robot's radius.
    """
    x, y, yaw, v, w = crowd.x[i], crowd.y[i], crowd.yaw[i], crowd.v[i], crowd.w[i]
    accel, spin_accel = crowd.accel[i], crowd.spin_accel[i]
    points = np.empty((_POINTS, 2))
    h, count, bend = dt, 0, 0.0
    while count < _POINTS:
        forward, turn = 0.5 * (v + v1) * h, 0.5 * (w + w1) * h
        # Along the heading half-way through the turn.
        sine, cosine = sin_cos(yaw + 0.5 * turn)
        x, y, yaw = x + forward * cosine, y + forward * sine, yaw + turn
        # How far the arc is from its chord.
        bend = max(bend, 0.125 * abs(forward * turn))
        points[count, 0], points[count, 1] = x, y
        count += 1
        # The first step is a time step; braking then takes as many points as there are, however long it lasts.
        if count == 1 and abs(v1) > (_POINTS - 3) * accel * h:
            h = abs(v1) / (accel * (_POINTS - 3))
        v, w, v1, w1 = v1, w1, toward(v1, 0.0, accel * h), toward(w1, 0.0, spin_accel * h)
        if v == 0.0 and v1 == 0.0:
            break
    out[0], out[1], out[2], out[3] = crowd.x[i], crowd.y[i], x, y
    dx, dy = x - crowd.x[i], y - crowd.y[i]
    size, aside = math.sqrt(dx * dx + dy * dy), 0.0
    if size > 1e-9:
        # How far a point is beside the straight line from begin to end.
        for k in range(count):
            aside = max(aside, abs((points[k, 0] - crowd.x[i]) * dy - (points[k, 1] - crowd.y[i]) * dx) / size)
    out[4] = bend + aside


@compiled
def _stand(crowd: Unicycles, i: int, seconds: float, out: Floats) -> None:
    """Write the reservation of a body that keeps its velocity for `seconds`; 0: that stays where it is."""
    out[0], out[1], out[4] = crowd.x[i], crowd.y[i], 0.0
    out[2], out[3] = crowd.x[i] + seconds * crowd.vx[i], crowd.y[i] + seconds * crowd.vy[i]


@compiled
def _is_safe(crowd: Unicycles, boxes: StandingBoxes, reserved: Floats, i: int, own: Floats, by_law: bool) -> bool:
    """Return whether a robot may reserve `own`: it is clear of what neighbours have reserved, and of boxes.

    Robots that are too near already may do what brings them no nearer. The law may drive along a box, as its path does.
    """
    for place in range(crowd.begin[i], crowd.begin[i + 1]):
        j = crowd.other[place]
        dx, dy = crowd.x[i] - crowd.x[j], crowd.y[i] - crowd.y[j]
        keep = crowd.radius[i] + own[4] + crowd.radius[j] + reserved[j, 4] + _MARGIN
        # Too near already: it may do what brings it no nearer.
        if _gap(own, reserved[j]) < min(keep, math.sqrt(dx * dx + dy * dy) - 1e-6):
            return False
    if not by_law:
        for k in range(boxes.begin[i], boxes.begin[i + 1]):
            # A segment is as near to a convex body as one of its points; a few of them will do at these lengths.
            for part in range(1, 5):
                x, y = own[0] + 0.25 * part * (own[2] - own[0]), own[1] + 0.25 * part * (own[3] - own[1])
                if to_box(boxes, k, x, y) < room(crowd, boxes, i, k):
                    return False
    return True


@compiled
def _gap(a: Floats, b: Floats) -> float:
    """Return the distance of two segments (x, y, to_x, to_y)."""
    ux, uy, wx, wy = a[2] - a[0], a[3] - a[1], b[2] - b[0], b[3] - b[1]
    gx, gy = b[0] - a[0], b[1] - a[1]
    # Where the lines cross within both segments, they touch; else one of four ends is nearest.
    area = ux * wy - uy * wx
    if area != 0.0:
        first, second = (gx * wy - gy * wx) / area, (gx * uy - gy * ux) / area
        if 0.0 <= first <= 1.0 and 0.0 <= second <= 1.0:
            return 0.0
    near_a = min(_to_segment(b[0], b[1], a), _to_segment(b[2], b[3], a))
    return float(min(near_a, _to_segment(a[0], a[1], b), _to_segment(a[2], a[3], b)))


@compiled
def _to_segment(x: float, y: float, segment: Floats) -> float:
    dx, dy = segment[2] - segment[0], segment[3] - segment[1]
    square = dx * dx + dy * dy
    share = 0.0
    if square > 0.0:
        share = min(1.0, max(0.0, ((x - segment[0]) * dx + (y - segment[1]) * dy) / square))
    ux, uy = segment[0] + share * dx - x, segment[1] + share * dy - y
    return math.sqrt(ux * ux + uy * uy)
