"""Forward kinematics: where the bodies of many robots of one model are.

Arrays are laid out by component, then body, then robot. Every number is computed from the numbers of its own robot
alone, in the same order: the bits of a robot do not depend on how many are computed together.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.kinematics.tree import Tree

ORIGIN = 3
"""The column of a frame that holds its origin; those before are its axes."""
CHUNK = 256
"""Robots computed at once: what is worked on stays in the processor's cache."""


class Forward:
    """The forward kinematics of one tree.

    It keeps its working memory: with a thousand robots, getting new memory takes longer than the arithmetic.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._capacity = 0

    def frames(self, q: Floats) -> Floats:
        """Return the frames (3, 4, B + 1, N) of all bodies in the base, for joint values `q` (N, B).

        The base is the last body. The array is used again by the next call.
        """
        robots = len(q)
        if robots > self._capacity:
            self._reserve(max(robots, 2 * self._capacity))
        values = q.T
        for start in range(0, robots, CHUNK):
            stop = min(start + CHUNK, robots)
            self._compute(values[:, start:stop], self._frames[:, :, :, start:stop])
        return self._frames[:, :, :, :robots]

    def _compute(self, values: Floats, frames: Floats) -> None:
        tree, robots = self.tree, values.shape[1]
        turned = np.take(values, tree.slots, axis=0, out=self._turned[:, :robots])
        wave, part, steps = self._wave[:, :robots], self._part[..., :robots], self._steps[..., :robots]
        joint_frames(tree, turned, wave, part, steps)
        for depth, level in enumerate(tree.levels):
            here, step, more = frames[:, :, level], steps[:, :, level], part[:, :, level]
            if depth == 0:
                here[:] = step
                continue
            parents = tree.parents[level]
            # One body is a view, several are copied.
            above = frames[:, :, parents[0], None] if len(parents) == 1 else frames[:, :, parents]
            np.multiply(above[:, 0, None], step[0], out=here)
            here += np.multiply(above[:, 1, None], step[1], out=more)
            here += np.multiply(above[:, 2, None], step[2], out=more)
            here[:, ORIGIN] += above[:, ORIGIN]

    def _reserve(self, robots: int) -> None:
        bodies, chunk = len(self.tree.parents), min(robots, CHUNK)
        self._capacity = robots
        self._frames = np.zeros((3, 4, bodies + 1, robots))
        self._frames[[0, 1, 2], [0, 1, 2], bodies] = 1.0
        self._turned, self._wave = np.empty((bodies, chunk)), np.empty((bodies, chunk))
        self._part, self._steps = np.empty((3, 4, bodies, chunk)), np.empty((3, 4, bodies, chunk))


def joint_frames(tree: Tree, values: Floats, wave: Floats, part: Floats, out: Floats) -> None:
    """Write the frame of each body in its parent body (3, 4, B, N) to `out`, for joint values (B, N) in body order.

    `wave` (B, N) and `part` (3, 4, B, N) are for intermediate results.
    """
    np.multiply(tree.sine, np.sin(values, out=wave), out=out)
    out += np.multiply(tree.cosine, np.cos(values, out=wave), out=part)
    out += tree.still
    if tree.slides:
        out[:, ORIGIN] += np.multiply(tree.slide[:, ORIGIN], values, out=part[:, ORIGIN])


def orientations(frames: Floats) -> Floats:
    """Return the unit quaternions (N, 4) of frames (3, 3 or 4, N), each with its largest part positive."""
    squares = np.empty((4, frames.shape[2]))
    xx, yy, zz = frames[0, 0], frames[1, 1], frames[2, 2]
    squares[0] = 1.0 + xx - yy - zz
    squares[1] = 1.0 - xx + yy - zz
    squares[2] = 1.0 - xx - yy + zz
    squares[3] = 1.0 + xx + yy + zz
    # The products of the parts with the largest one, which is where no accuracy is lost.
    products = np.empty((4, 4, frames.shape[2]))
    products[[0, 1, 2, 3], [0, 1, 2, 3]] = squares
    products[0, 1] = products[1, 0] = frames[0, 1] + frames[1, 0]
    products[0, 2] = products[2, 0] = frames[0, 2] + frames[2, 0]
    products[1, 2] = products[2, 1] = frames[1, 2] + frames[2, 1]
    products[0, 3] = products[3, 0] = frames[2, 1] - frames[1, 2]
    products[1, 3] = products[3, 1] = frames[0, 2] - frames[2, 0]
    products[2, 3] = products[3, 2] = frames[1, 0] - frames[0, 1]
    largest = squares.argmax(axis=0)
    robots = np.arange(frames.shape[2])
    chosen: Floats = products[largest, :, robots]
    chosen /= 2.0 * np.sqrt(squares[largest, robots])[:, None]
    return chosen
