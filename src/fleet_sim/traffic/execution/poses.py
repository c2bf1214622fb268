"""Writes where robots have come to in the columns of a world, by compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bytes, Floats, Rows
from fleet_sim.core.columns import named_columns
from fleet_sim.core.world import World
from fleet_sim.kernels import compiled
from fleet_sim.kernels.turns import sin_cos
from fleet_sim.motion.rows import BodyArrays, touch
from fleet_sim.traffic.execution.drivers import MOVED, TURNED


class Poses(NamedTuple):
    """The columns of a world that say where robots are and how fast they move, in its frame and in their own."""

    bodies: BodyArrays
    body_linear: Floats
    body_angular: Floats


def poses_of(world: World) -> Poses:
    """Return the columns of `world`; they are valid until it grows."""
    return Poses(named_columns(BodyArrays, world), world.motion.body_linear, world.motion.body_angular)


@compiled
def write_poses(
    rows: Rows,
    motions: Bytes,
    places: Floats,
    velocities: Floats,
    yaws: Floats,
    spins: Floats,
    tilts: Floats,
    poses: Poses,
) -> None:
    """Write the poses of those `rows` (n,) that moved or turned, by their `motions` (n,), and touch them.

    By row: `places`, `yaws`, `spins`, and `tilts`, the orientations at yaw 0. By place in `rows`: `velocities` (n, 2).
    """
    bodies = poses.bodies
    for index in range(len(rows)):
        row = rows[index]
        if not motions[index] & (MOVED | TURNED):
            continue
        touch(bodies, row)
        if motions[index] & TURNED:
            x, y, z, w = tilts[row, 0], tilts[row, 1], tilts[row, 2], tilts[row, 3]
            # Half the angle, as quaternions have it.
            sine, cosine = sin_cos(0.5 * yaws[row])
            turn = _normalized(_turned(sine, cosine, x, y, z, w))
            bodies.angular_velocity[row, 2] = spin = spins[row]
            body = _to_body(turn, 0.0, 0.0, spin)
            for part in range(4):
                bodies.orientation[row, part] = turn[part]
            for axis in range(3):
                poses.body_angular[row, axis] = body[axis]
        # After the turn: the velocity in the robot's own axes depends on it.
        if motions[index] & MOVED:
            x, y = bodies.orientation[row, 0], bodies.orientation[row, 1]
            z, w = bodies.orientation[row, 2], bodies.orientation[row, 3]
            body = _to_body((x, y, z, w), velocities[index, 0], velocities[index, 1], 0.0)
            for axis in range(2):
                bodies.position[row, axis], bodies.velocity[row, axis] = places[row, axis], velocities[index, axis]
            for axis in range(3):
                poses.body_linear[row, axis] = body[axis]


# The products and sums of `spatial`, in its order, so that the bits are those of its functions.


@compiled
def _turned(sine: float, cosine: float, x: float, y: float, z: float, w: float) -> tuple[float, float, float, float]:
    """Return the orientation (x, y, z, w), turned about the vertical by the angle of whose half these are."""
    return (
        cosine * x + 0.0 * w + 0.0 * z - sine * y,
        cosine * y - 0.0 * z + 0.0 * w + sine * x,
        cosine * z + 0.0 * y - 0.0 * x + sine * w,
        cosine * w - 0.0 * x - 0.0 * y - sine * z,
    )


@compiled
def _normalized(turn: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    norm = np.sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2] + turn[3] * turn[3])
    if abs(norm - 1.0) < 1e-12:
        return turn
    return (turn[0] / norm, turn[1] / norm, turn[2] / norm, turn[3] / norm)


@compiled
def _to_body(turn: tuple[float, float, float, float], vx: float, vy: float, vz: float) -> tuple[float, float, float]:
    """Return a vector of the world as the body sees it."""
    x, y, z, w = turn
    tx, ty, tz = y * vz - z * vy, z * vx - x * vz, x * vy - y * vx
    tx, ty, tz = tx + tx, ty + ty, tz + tz
    return (
        vx - w * tx + (y * tz - z * ty),
        vy - w * ty + (z * tx - x * tz),
        vz - w * tz + (x * ty - y * tx),
    )
