"""The trapezoidal speed profile as state feedback: computes the next step's speed from the speed and the distance.

Within a step speed changes linearly, so a step of `dt` covers `(v + v') / 2 * dt`. Accelerating, cruising and
braking follow the ideal trapezoid exactly. A step within which the ideal changes phase uses a single slope instead, so
a move from rest to rest ends at most two steps after the ideal time, rounded up to whole steps. The end is reached
exactly: the robot stops in the first step in which it can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.spatial.components import dot

# Keeps divisors from being 0, and is far below any real length.
TINY = 1e-300
# Comparisons allow this much, so that rounding does not make a robot miss what it can just reach.
SLACK = 1.0 + 1e-9
# Room around the point of even braking for rounding: the share of what one step of acceleration, at most 1 m/s, covers.
ROUNDING = 1e-9


def next_speeds(
    speeds: Floats,
    distances: Floats,
    exit_speeds: Floats | float,
    limits: Floats,
    accels: Floats,
    dt: float,
    braking: Floats | float = 1.0,
) -> Floats:
    """Return the speeds (N,) after one step towards an end point `distances` ahead, to be passed at `exit_speeds`.

    Guaranteed: not above `limits` (unless slowing down from above them), a change of at most `accels * dt`, and, where
    the present speed allows it, slow enough that braking at `braking * accels` reaches the exit speed at the end.
    Speeds may be negative (moving away); `accels` may be infinite. All arrays (N,), SI units.
    """
    # The fastest next speed w from which braking at rate s still reaches the exit speed e satisfies
    # w^2 - e^2 = 2 s (d - (v + w) dt / 2). Its root is written as A / (sqrt(A / s + dt^2 / 4) + dt / 2) with
    # A = 2 d - v dt + e^2 / s: no cancellation for small A, and finite for infinite s.
    slowing = accels * braking
    ahead = 2.0 * distances
    ahead -= speeds * dt
    if not isinstance(exit_speeds, float):
        ahead += exit_speeds * exit_speeds / slowing
    np.maximum(ahead, 0.0, out=ahead)
    root = ahead / slowing
    root += 0.25 * dt * dt
    np.sqrt(root, out=root)
    root += 0.5 * dt
    ahead /= root
    np.minimum(ahead, limits, out=ahead)
    change = accels * dt
    np.minimum(ahead, speeds + change, out=ahead)
    # The lower bound comes last: who is too fast to stop in time brakes with all there is, and no more.
    np.maximum(ahead, speeds - change, out=ahead)
    return ahead


@dataclass
class Approach:
    """One step of moving vectors towards targets; arrays over rows, vectors as (3, N)."""

    directions: Floats
    distances: Floats
    along: Floats
    speeds: Floats
    velocities: Floats
    displacements: Floats


def approach(
    directions: Floats,
    distances: Floats,
    velocities: Floats,
    exit_speeds: Floats | float,
    limits: Floats,
    accels: Floats,
    dt: float,
    braking: Floats | float = 1.0,
) -> Approach:
    """Return one step of motion towards targets at `distances` (N,) in unit `directions` (3, N).

    `velocities` (3, N) may have any direction: the part across `directions` is braked to zero. The total change is at
    most `accels * dt`. A velocity within `limits` stays within them.
    """
    along = dot(velocities, directions)
    speeds = next_speeds(along, distances, exit_speeds, limits, accels, dt, braking)
    wanted = directions * speeds
    change = wanted - velocities
    sizes = dot(change, change)
    most = accels * dt
    # Only velocities across the direction can exceed the limit here; those along it are limited already.
    over_mask = sizes > most * most * SLACK
    if np.count_nonzero(over_mask):
        at = np.flatnonzero(over_mask)
        share = most[at] / np.sqrt(sizes[at])
        wanted[:, at] = velocities[:, at] + change[:, at] * share
    displacements = velocities + wanted
    displacements *= 0.5 * dt
    return Approach(directions, distances, along, speeds, wanted, displacements)


def stopping_reach(limits: Floats, accels: Floats, dt: float) -> Floats:
    """Return the largest distances (N,) of a target at which a robot can stop within one step."""
    return np.minimum(accels * (0.5 * dt * dt * SLACK), limits * (dt * SLACK))


def can_stop(deltas: Floats, velocities: Floats, accels: Floats, dt: float) -> Bools:
    """Return which rows can stop exactly `deltas` (3, N) away within one step, starting with `velocities` (3, N).

    With an acceleration of at most `accels`, these are targets in a ball around the point reached by even braking; the
    ball is the smaller, the more of the acceleration the braking itself needs.
    """
    most = accels * dt
    rate_squares = dot(velocities, velocities) / np.maximum(most * most, TINY)
    offsets = deltas - velocities * (0.5 * dt)
    spare = 0.25 * dt * most * np.maximum(1.0 - rate_squares, 0.0) + ROUNDING * dt * np.minimum(most, 1.0)
    stoppable_mask: Bools = (rate_squares <= SLACK) & (dot(offsets, offsets) <= spare * spare)
    return stoppable_mask


def units(vectors: Floats) -> tuple[Floats, Floats]:
    """Return unit directions (3, N), zero for zero vectors, and lengths (N,) of `vectors` (3, N)."""
    lengths = np.sqrt(dot(vectors, vectors))
    return vectors / np.maximum(lengths, TINY), lengths
