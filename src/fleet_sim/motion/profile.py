"""The trapezoidal speed profile as state feedback: computes the next step's speed from the speed and the distance.

Within a step speed changes linearly, so a step of `dt` covers `(v + v') / 2 * dt`. Accelerating, cruising and
braking follow the ideal trapezoid exactly. A step within which the ideal changes phase uses a single slope instead, so
a move from rest to rest ends at most two steps after the ideal time, rounded up to whole steps. The end is reached
exactly: the robot stops in the first step in which it can.
"""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.kernels import compiled_step
from fleet_sim.kernels.turns import Vector, dot

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
