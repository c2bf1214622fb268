"""The floor that robots reserve to stop on: as long as no two reservations touch, no two robots can touch."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.kernels import compiled
from fleet_sim.kernels.turns import sin_cos
from fleet_sim.motion.compiled_unicycle import StandingBoxes, Unicycles, room, to_box, toward

_POINTS = 16
_MARGIN = 0.01
"""Distance (m) that reservations keep from each other."""
REACTION = 0.4
"""For so many seconds a body that is not steered is taken to keep its velocity."""


@compiled
def reserve(crowd: Unicycles, i: int, v1: float, w1: float, dt: float, out: Floats) -> None:
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
def stand(crowd: Unicycles, i: int, seconds: float, out: Floats) -> None:
    """Write the reservation of a body that keeps its velocity for `seconds`; 0: that stays where it is."""
    out[0], out[1], out[4] = crowd.x[i], crowd.y[i], 0.0
    out[2], out[3] = crowd.x[i] + seconds * crowd.vx[i], crowd.y[i] + seconds * crowd.vy[i]


@compiled
def is_safe(crowd: Unicycles, boxes: StandingBoxes, reserved: Floats, i: int, own: Floats, by_law: bool) -> bool:
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
