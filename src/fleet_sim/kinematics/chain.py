"""A chain of joints, one after the other: its frames, its end, its Jacobian, and the equations of a step.

Kernels for one robot. They take arrays by single numbers and allocate nothing: as Python they run on memory views,
which give plain floats where arrays would give NumPy's, twice as slow.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.kernels.compiled import compiled_step
from fleet_sim.kernels.turns import atan2, sin_cos
from fleet_sim.kinematics.tree import Tree
from fleet_sim.spatial import quaternions

_PI = math.pi


class Chain(NamedTuple):
    """The constants of a `Tree` of B bodies in a row, without its axis of robots.

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
    """Work arrays for one robot with errors of R components: 3 of the position, and 3 of the orientation if wanted.

    `q` (B,) are joint values, `frames` (B or 1, 3, 4) those of the bodies or of the base, `jacobian` (R, F).
    """

    q: Floats
    frames: Floats
    position: Floats
    errors: Floats
    left: Floats
    axes: Floats
    turned: Floats
    jacobian: Floats
    products: Floats
    change: Floats
    pull: Floats
    stuck: Bools


def chain_of(tree: Tree, link: int, free: Ints, lower: Floats, upper: Floats) -> Chain:
    """Return the constants of the chain that ends in a link of `tree`; its `free` (F,) joints have limits (F,)."""
    still, sine, cosine, slide = (
        np.ascontiguousarray(np.moveaxis(part[..., 0], 2, 0))
        for part in (tree.still, tree.sine, tree.cosine, tree.slide)
    )
    axis, turning = np.ascontiguousarray(tree.axis[:, free, 0].T), np.ascontiguousarray(tree.turning[free, 0])
    # In most robot descriptions all joints turn about z of their own frames: then the kernels have less to compute.
    shared = [part for part in range(3) if len(free) and bool((axis[:, part] == 1.0).all())]
    return Chain(
        still,
        sine,
        cosine,
        slide,
        tree.slides,
        np.ascontiguousarray(free),
        axis,
        turning,
        bool((turning == 0.0).any()),
        shared[0] if shared else -1,
        np.ascontiguousarray(tree.link_position[link]),
        np.ascontiguousarray(quaternions.to_matrices(tree.link_orientation[[link]])[0]),
        np.ascontiguousarray(lower),
        np.ascontiguousarray(upper),
    )


def scratch_for(chain: Chain, *, turns: bool) -> ChainScratch:
    """Return work arrays, with `turns` also for errors of the orientation."""
    bodies, free, rows = len(chain.still), len(chain.free), 6 if turns else 3
    # A chain without joints ends in its base.
    frames = np.empty((bodies, 3, 4)) if bodies else np.eye(3, 4)[None].copy()
    return ChainScratch(
        np.empty(bodies),
        frames,
        np.empty(3),
        np.empty(rows),
        np.empty(rows),
        np.empty((3, 3)),
        np.empty((3, 3)),
        np.empty((rows, free)),
        np.empty((rows, rows)),
        np.empty(free),
        np.empty(free),
        np.empty(free, np.bool_),
    )


def views_of(arrays: tuple[Any, ...]) -> Any:
    """Return a Chain or ChainScratch with a memory view of each array, for kernels that run as Python."""
    views = (part.data if isinstance(part, np.ndarray) else part for part in arrays)
    return type(arrays)(*views)


@compiled_step
def place_bodies(chain: Chain, work: ChainScratch) -> None:
    """Compute the frames of all bodies, and the position of the end, for the joint values `q`."""
    still, sines, cosines = chain.still, chain.sine, chain.cosine
    q, frames, position = work.q, work.frames, work.position
    for body in range(len(q)):
        value, above = q[body], body - 1
        # A turn about an axis is linear in its sine and cosine: three matrices that do not change with the joint.
        sine, cosine = sin_cos(value)
        for column in range(4):
            x, y, z = still[body, 0, column], still[body, 1, column], still[body, 2, column]
            if column < 3:
                x = (sines[body, 0, column] * sine + cosines[body, 0, column] * cosine) + x
                y = (sines[body, 1, column] * sine + cosines[body, 1, column] * cosine) + y
                z = (sines[body, 2, column] * sine + cosines[body, 2, column] * cosine) + z
            elif chain.slides:
                x = chain.slide[body, 0, 3] * value + x
                y = chain.slide[body, 1, 3] * value + y
                z = chain.slide[body, 2, 3] * value + z
            if body == 0:
                frames[0, 0, column], frames[0, 1, column], frames[0, 2, column] = x, y, z
                continue
            for row in range(3):
                total = (frames[above, row, 0] * x + frames[above, row, 1] * y) + frames[above, row, 2] * z
                frames[body, row, column] = total if column < 3 else total + frames[above, row, 3]
    last = len(frames) - 1
    for row in range(3):
        total = frames[last, row, 3]
        for axis in range(3):
            if chain.offset[axis] != 0.0:
                total += frames[last, row, axis] * chain.offset[axis]
        position[row] = total


@compiled_step
def turn_end(chain: Chain, wanted: Floats, robot: int, work: ChainScratch) -> float:
    """Write the rotation vector that turns the end to axes `wanted[robot]` (3, 3) into `errors` 3 to 5.

    Returns its norm, the angle in [0, pi].
    """
    frames, axes, turn, out = work.frames, work.axes, work.turned, work.errors
    last = len(frames) - 1
    for column in range(3):
        x, y, z = chain.turn[0, column], chain.turn[1, column], chain.turn[2, column]
        for row in range(3):
            axes[row, column] = (frames[last, row, 0] * x + frames[last, row, 1] * y) + frames[last, row, 2] * z
    for column in range(3):
        x, y, z = axes[column, 0], axes[column, 1], axes[column, 2]
        for row in range(3):
            turn[row, column] = (wanted[robot, row, 0] * x + wanted[robot, row, 1] * y) + wanted[robot, row, 2] * z
    # The antisymmetric part of a rotation is its axis times the sine of its angle, the trace is 1 + 2 cos(angle).
    x, y, z = 0.5 * (turn[2, 1] - turn[1, 2]), 0.5 * (turn[0, 2] - turn[2, 0]), 0.5 * (turn[1, 0] - turn[0, 1])
    cosine = 0.5 * (turn[0, 0] + turn[1, 1] + turn[2, 2] - 1.0)
    sine = math.sqrt(x * x + y * y + z * z)
    if sine < 1e-6 and cosine < 0.0:
        # Near pi that part vanishes; the axis is in the symmetric part.
        half_turn(turn, out)
    else:
        # From both, as the sine alone is inexact near a right angle and the cosine alone near none. Towards an angle of
        # 0 the quotient tends to 1.
        scale = atan2(sine, cosine) / sine if sine > 1e-12 else 1.0
        out[3], out[4], out[5] = x * scale, y * scale, z * scale
    return math.sqrt(out[3] * out[3] + out[4] * out[4] + out[5] * out[5])


@compiled_step
def half_turn(turn: Floats, out: Floats) -> None:
    """Write the rotation vector of a matrix (3, 3) that rotates by pi into `out` 3 to 5."""
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


@compiled_step
def find_jacobian(chain: Chain, weight: float, work: ChainScratch) -> None:
    """Compute the Jacobian of the end for the frames at hand; rows of turns, if there are any, times `weight`."""
    frames, out, along = work.frames, work.jacobian, chain.along
    px, py, pz = work.position[0], work.position[1], work.position[2]
    turns = len(out) > 3
    for joint in range(len(chain.free)):
        body = chain.free[joint]
        if along >= 0:
            ax, ay, az = frames[body, 0, along], frames[body, 1, along], frames[body, 2, along]
        else:
            x, y, z = chain.axis[joint, 0], chain.axis[joint, 1], chain.axis[joint, 2]
            ax = (frames[body, 0, 0] * x + frames[body, 0, 1] * y) + frames[body, 0, 2] * z
            ay = (frames[body, 1, 0] * x + frames[body, 1, 1] * y) + frames[body, 1, 2] * z
            az = (frames[body, 2, 0] * x + frames[body, 2, 1] * y) + frames[body, 2, 2] * z
        rx, ry, rz = px - frames[body, 0, 3], py - frames[body, 1, 3], pz - frames[body, 2, 3]
        turning = chain.turning[joint]
        # A joint that turns moves the end across its axis and the arm, one that slides moves it along its axis.
        x, y, z = ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx
        if chain.sliding:
            x, y, z = (
                x * turning + ax * (1.0 - turning),
                y * turning + ay * (1.0 - turning),
                z * turning + az * (1.0 - turning),
            )
        out[0, joint], out[1, joint], out[2, joint] = x, y, z
        if turns:
            out[3, joint], out[4, joint], out[5, joint] = (
                ax * turning * weight,
                ay * turning * weight,
                az * turning * weight,
            )


@compiled_step
def multiply_transposed(jacobian: Floats, vector: Floats, out: Floats) -> None:
    """Write the transposed Jacobian times `vector` (R,) into `out` (F,)."""
    for joint in range(len(out)):
        total = jacobian[0, joint] * vector[0]
        for row in range(1, len(vector)):
            total += jacobian[row, joint] * vector[row]
        out[joint] = total


@compiled_step
def solve_damped(jacobian: Floats, damping: float, products: Floats, vector: Floats) -> bool:
    """Overwrite `vector` (R,) with x where (J J^T + `damping` I) x equals it; `products` (R, R) is a work array.

    Returns whether there is such an x that can be computed: lengths of millions of metres leave nothing of the damping.
    """
    size, joints = jacobian.shape
    for row in range(size):
        for column in range(row + 1):
            total = jacobian[row, 0] * jacobian[column, 0]
            for joint in range(1, joints):
                total += jacobian[row, joint] * jacobian[column, joint]
            products[row, column] = products[column, row] = total
        products[row, row] += damping
    # No pivots are looked for: with damping the matrix is positive definite.
    for pivot in range(size):
        first = products[pivot, pivot]
        if first == 0.0:
            return False
        for below in range(pivot + 1, size):
            factor = products[below, pivot] / first
            for column in range(pivot + 1, size):
                products[below, column] -= factor * products[pivot, column]
            vector[below] -= factor * vector[pivot]
    for pivot in range(size - 1, -1, -1):
        vector[pivot] /= products[pivot, pivot]
        for above in range(pivot):
            vector[above] -= products[above, pivot] * vector[pivot]
    return True
