"""Robots that drive along their heading and turn: where a way of driving leads in the next seconds, and when it hits.

After the velocity obstacles of Fiorini and Shiller (1998), but found by driving: each way is followed with the limits
of the robot, so that no disc has to be enlarged for what a differential robot cannot do.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.kernels import compiled
from fleet_sim.kernels.turns import atan2, sin_cos

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
