"""All robots that drive along their heading choose their speeds (v, w) for a step, one after the other.

Each chooses the cheapest way (`compiled_unicycle`) whose reservation (`compiled_reserve`) is clear of all others': of
the new ones of robots that have chosen, and of where the rest would brake to a stop. Braking is always clear, so robots
that all choose like this never touch, whatever the costs are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.kernels import compiled
from fleet_sim.kernels.turns import atan2, sin_cos
from fleet_sim.motion.compiled_reserve import REACTION, is_safe, reserve, stand
from fleet_sim.motion.compiled_unicycle import (
    BACK_OFF,
    NEVER,
    STAND_AND_TURN,
    TRACK,
    NearBodies,
    StandingBoxes,
    Unicycles,
    command,
    follow,
    top_speed,
    toward,
    wrap,
)

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

LAW = 0
"""The first way is the law's own: it needs no command."""


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


class DrivableWays(NamedTuple):
    """The ways that are compared, and what they cost the present robot.

    All are (W,). `offsets` are angles in rad from the direction to the waypoint, `shares` parts of the top speed. A
    cost is infinite for ways that are out of the question.
    """

    kinds: Floats
    offsets: Floats
    shares: Floats
    costs: Floats


@compiled
def choose_speeds(crowd: Unicycles, boxes: StandingBoxes, choice: Choice, dt: float) -> None:
    """Write the choices of all steered robots, in the order of rows."""
    count, most = len(crowd.x), 1
    reserved, own = np.zeros((count, 5)), np.zeros(5)
    for i in range(count):
        most = max(most, crowd.begin[i + 1] - crowd.begin[i])
        if not crowd.steered[i]:
            stand(crowd, i, REACTION, own)
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
            stand(crowd, i, 0.0, reserved[i])
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
def _ways() -> DrivableWays:
    """Return all ways that are tried for a robot: its own law, backing off, standing, and tracks beside its goal.

    The tracks are all pairs of a turn in `_OFFSETS`, in rad, and a share of the speed in `_SHARES`.
    """
    count = 3 + len(_OFFSETS) * len(_SHARES)
    kinds, offsets, shares = np.full(count, float(TRACK)), np.zeros(count), np.ones(count)
    kinds[LAW], kinds[1], shares[2] = STAND_AND_TURN, BACK_OFF, 0.0
    place = 3
    for offset in _OFFSETS:
        for share in _SHARES:
            offsets[place], shares[place] = offset, share
            place += 1
    return DrivableWays(kinds, offsets, shares, np.empty(count))


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
    ways: DrivableWays,
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
        if is_safe(crowd, boxes, reserved, i, own, True):
            choice.by_law[i] = True
            return
    costs[LAW] = math.inf if leaves else cost
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
        if k == LAW:
            _by_law(crowd, choice, i, dt, own)
        else:
            speed = top_speed(crowd, i, ways.shares[k], distance, dt)
            choice.v[i], choice.w[i] = command(
                crowd, i, int(ways.kinds[k]), aim + ways.offsets[k], speed, crowd.yaw[i], crowd.v[i], crowd.w[i], dt
            )
            reserve(crowd, i, choice.v[i], choice.w[i], dt, own)
        if is_safe(crowd, boxes, reserved, i, own, k == LAW):
            choice.by_law[i] = k == LAW
            return
    # Nothing else is clear. Braking is: it was held for this robot from the beginning.
    choice.v[i], choice.w[i] = _brake(crowd, i, dt, own)
    choice.by_law[i] = False


@compiled
def _brake(crowd: Unicycles, i: int, dt: float, own: Floats) -> tuple[float, float]:
    """Reserve for braking at once, and return the speeds after a step of it."""
    v, w = toward(crowd.v[i], 0.0, crowd.accel[i] * dt), toward(crowd.w[i], 0.0, crowd.spin_accel[i] * dt)
    reserve(crowd, i, v, w, dt, own)
    return v, w


@compiled
def _by_law(crowd: Unicycles, choice: Choice, i: int, dt: float, own: Floats) -> None:
    """Reserve what the differential law may sweep: it turns on the spot, drives to the waypoint, or brakes to turn."""
    dx, dy = crowd.tx[i] - crowd.x[i], crowd.ty[i] - crowd.y[i]
    if not choice.in_line[i]:
        _brake(crowd, i, dt, own)
    elif crowd.v[i] == 0.0 and abs(wrap(atan2(dy, dx) - crowd.yaw[i])) > 1e-9:
        stand(crowd, i, 0.0, own)
    else:
        reserve(crowd, i, min(crowd.speed[i], crowd.v[i] + crowd.accel[i] * dt), 0.0, dt, own)
        reach_x, reach_y = own[2] - own[0], own[3] - own[1]
        if reach_x * reach_x + reach_y * reach_y > dx * dx + dy * dy:
            # It stops at the waypoint, so it sweeps no further.
            own[2], own[3] = crowd.tx[i], crowd.ty[i]
