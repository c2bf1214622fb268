"""Kernels of one chain of joints: its frames, its end and its Jacobian, with the bits of `forward` and `jacobian`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.kernels import compiled
from fleet_sim.kernels.turns import atan2, sin_cos

_PI = math.pi


class Chain(NamedTuple):
    """The constants of `Tree` and `EndEffector` for B bodies in a row, without the axis of robots.

    `still`, `sine`, `cosine` and `slide` (B, 3, 4) make a body's frame in that before it. `free` (F,) are the bodies
    whose joints may move, with their `axis` (F, 3), `turning` (F,) and limits `lower` and `upper` (F,); `along` is the
    axis that all of them share, -1 for none. `offset` (3,) and `turn` (3, 3) are the end's in the last body.
    """

    still: Floats
    sine: Floats
    cosine: Floats
    slide: Floats
    slides: bool
    free: Ints
    axis: Floats
    turning: Floats
    sliding: bool
    along: int
    offset: Floats
    turn: Floats
    lower: Floats
    upper: Floats


class ChainScratch(NamedTuple):
    """Work arrays for one robot: frames (B, 3, 4), a position, errors, axes, turns, a Jacobian and products."""

    frames: Floats
    step: Floats
    position: Floats
    errors: Floats
    axes: Floats
    turned: Floats
    jacobian: Floats
    products: Floats
    stuck: Bools


@compiled
def scratch_for(chain: Chain, rows: int) -> ChainScratch:
    """Return work arrays for errors of `rows` components: 3 without, 6 with turns."""
    bodies, free = len(chain.still), len(chain.free)
    return ChainScratch(
        np.empty((bodies, 3, 4)),
        np.empty((3, 4)),
        np.empty(3),
        np.empty(rows),
        np.empty((3, 3)),
        np.empty((3, 3)),
        np.empty((rows, free)),
        np.empty((rows, rows)),
        np.empty(free, np.bool_),
    )


@compiled
def place_bodies(chain: Chain, q: Floats, work: ChainScratch) -> None:
    """Compute the frames of all bodies, and the position of the end, for joint values `q` (B,)."""
    frames, step, position = work.frames, work.step, work.position
    for body in range(len(q)):
        # A turn about an axis is linear in its sine and cosine: three matrices that do not change with the joint.
        sine, cosine = sin_cos(q[body])
        for row in range(3):
            for column in range(3):
                turned = chain.sine[body, row, column] * sine + chain.cosine[body, row, column] * cosine
                step[row, column] = turned + chain.still[body, row, column]
            step[row, 3] = chain.still[body, row, 3]
            if chain.slides:
                step[row, 3] = chain.slide[body, row, 3] * q[body] + chain.still[body, row, 3]
        if body == 0:
            frames[0] = step
            continue
        above = frames[body - 1]
        for row in range(3):
            for column in range(4):
                total = above[row, 0] * step[0, column] + above[row, 1] * step[1, column]
                frames[body, row, column] = total + above[row, 2] * step[2, column]
            frames[body, row, 3] += above[row, 3]
    last = frames[len(q) - 1]
    for row in range(3):
        position[row] = last[row, 3]
        for axis in range(3):
            if chain.offset[axis] != 0.0:
                position[row] += last[row, axis] * chain.offset[axis]


@compiled
def turn_end(chain: Chain, wanted: Floats, work: ChainScratch) -> float:
    """Write the rotation vector that turns the end to axes `wanted` (3, 3) into `errors` 3 to 5; return its norm."""
    last, axes, turn, out = work.frames[len(work.frames) - 1], work.axes, work.turned, work.errors
    for row in range(3):
        for column in range(3):
            total = last[row, 0] * chain.turn[0, column] + last[row, 1] * chain.turn[1, column]
            axes[row, column] = total + last[row, 2] * chain.turn[2, column]
    for row in range(3):
        for column in range(3):
            total = wanted[row, 0] * axes[column, 0] + wanted[row, 1] * axes[column, 1]
            turn[row, column] = total + wanted[row, 2] * axes[column, 2]
    # The antisymmetric part of a rotation is its axis times the sine of its angle.
    out[3] = 0.5 * (turn[2, 1] - turn[1, 2])
    out[4] = 0.5 * (turn[0, 2] - turn[2, 0])
    out[5] = 0.5 * (turn[1, 0] - turn[0, 1])
    cosine = 0.5 * (turn[0, 0] + turn[1, 1] + turn[2, 2] - 1.0)
    sine = math.sqrt(out[3] * out[3] + out[4] * out[4] + out[5] * out[5])
    angle = atan2(sine, cosine)
    scale = angle / max(sine, 1e-12) if sine > 1e-12 else 1.0
    # Near pi that part vanishes; the axis is in the symmetric part.
    if sine < 1e-6 and cosine < 0.0:
        half_turn(turn, out)
    else:
        for part in range(3, 6):
            out[part] *= scale
    return math.sqrt(out[3] * out[3] + out[4] * out[4] + out[5] * out[5])


@compiled
def half_turn(turn: Floats, out: Floats) -> None:
    """Write the rotation vector of a matrix (3, 3) that rotates by pi into `out` 3 to 5, as `jacobian` does."""
    for part in range(3):
        turn[part, part] += 1.0
    # With 1 added to its diagonal a turn by pi is twice the axis times itself: each column is the axis, the longest the
    # most exact.
    column = 0
    for part in range(1, 3):
        if turn[part, part] > turn[column, column]:
            column = part
    x, y, z = turn[0, column], turn[1, column], turn[2, column]
    scale = _PI / math.sqrt(x * x + y * y + z * z)
    out[3], out[4], out[5] = x * scale, y * scale, z * scale


@compiled
def find_jacobian(chain: Chain, weight: float, work: ChainScratch) -> None:
    """Compute the Jacobian of the end for the frames at hand; rows of turns, if there are any, times `weight`."""
    out, position = work.jacobian, work.position
    for joint in range(len(chain.free)):
        frame = work.frames[chain.free[joint]]
        if chain.along >= 0:
            ax, ay, az = frame[0, chain.along], frame[1, chain.along], frame[2, chain.along]
        else:
            x, y, z = chain.axis[joint, 0], chain.axis[joint, 1], chain.axis[joint, 2]
            # In brackets as on arrays: sums in another order have other bits.
            ax = (frame[0, 0] * x + frame[0, 1] * y) + frame[0, 2] * z
            ay = (frame[1, 0] * x + frame[1, 1] * y) + frame[1, 2] * z
            az = (frame[2, 0] * x + frame[2, 1] * y) + frame[2, 2] * z
        rx, ry, rz = position[0] - frame[0, 3], position[1] - frame[1, 3], position[2] - frame[2, 3]
        turning = chain.turning[joint]
        # A joint that turns moves the end across its axis and the arm, one that slides moves it along its axis.
        out[0, joint], out[1, joint], out[2, joint] = ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx
        if chain.sliding:
            out[0, joint] = out[0, joint] * turning + ax * (1.0 - turning)
            out[1, joint] = out[1, joint] * turning + ay * (1.0 - turning)
            out[2, joint] = out[2, joint] * turning + az * (1.0 - turning)
        if len(out) > 3:
            out[3, joint], out[4, joint], out[5, joint] = ax * turning, ay * turning, az * turning
            for row in range(3, 6):
                out[row, joint] *= weight


@compiled
def multiply_transposed(jacobian: Floats, vector: Floats, out: Floats) -> None:
    """Write the transposed Jacobian times `vector` (n,) into `out` (F,)."""
    for joint in range(len(out)):
        total = jacobian[0, joint] * vector[0]
        for row in range(1, len(vector)):
            total += jacobian[row, joint] * vector[row]
        out[joint] = total


@compiled
def solve_damped(jacobian: Floats, damping: float, products: Floats, vector: Floats) -> None:
    """Overwrite `vector` (n,) with x where (J J^T + `damping` I) x equals it; `products` (n, n) is a work array."""
    size, joints = jacobian.shape
    for row in range(size):
        for column in range(size):
            total = jacobian[row, 0] * jacobian[column, 0]
            for joint in range(1, joints):
                total += jacobian[row, joint] * jacobian[column, joint]
            products[row, column] = total
        products[row, row] += damping
    # No pivots are looked for: with damping the matrix is positive definite.
    for pivot in range(size - 1):
        for below in range(pivot + 1, size):
            factor = products[below, pivot] / products[pivot, pivot]
            for column in range(pivot + 1, size):
                products[below, column] -= factor * products[pivot, column]
            vector[below] -= factor * vector[pivot]
    for pivot in range(size - 1, -1, -1):
        vector[pivot] /= products[pivot, pivot]
        for above in range(pivot):
            vector[above] -= products[above, pivot] * vector[pivot]
