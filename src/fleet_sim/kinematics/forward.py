"""Forward kinematics: where the bodies of many robots of one model are.

Arrays are laid out by component, then body, then robot. Every number is computed from the numbers of its own robot
alone, in the same order: the bits of a robot do not depend on how many are computed together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.kinematics.tree import Tree

W = 5
"""Where a quaternion has its w: x and y come again before it, so that a cross product is two products of slices."""
_UPRIGHT = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])[:, None]


class Frames(NamedTuple):
    """Positions (3, B + 1, N) and orientations (6, B + 1, N) of bodies in the frame of the base, which is the last.

    Orientations are (x, y, z, x, y, w).
    """

    positions: Floats
    orientations: Floats


class Forward:
    """The forward kinematics of one tree.

    It keeps its working memory: with a thousand robots, getting new memory takes longer than the arithmetic.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._capacity = -1

    def frames(self, q: Floats) -> Frames:
        """Return where all bodies are for joint values `q` (N, B). The arrays are used again by the next call."""
        tree, robots = self.tree, len(q)
        self._reserve(robots)
        values, sines, cosines = self._values[:, :, :robots]
        positions, orientations = self._positions[:, :, :robots], self._orientations[:, :, :robots]
        np.take(q.T, tree.slots, axis=0, out=values)
        angles = np.multiply(values, tree.half, out=cosines)
        np.sin(angles, out=sines)
        np.cos(angles, out=cosines)
        for depth, level in enumerate(tree.levels):
            width = level.stop - level.start
            turns, above, steps, work, more = self._work[:, :, :width, :robots]
            np.multiply(tree.sine[:, level], sines[level], out=turns)
            turns += np.multiply(tree.cosine[:, level], cosines[level], out=work)
            steps = steps[:W] if tree.slides else tree.offset[:, level]
            if tree.slides:
                np.multiply(tree.slide[:, level], values[level], out=steps)
                steps += tree.offset[:, level]
            if depth == 0:
                orientations[:, level] = turns
                positions[:, level] = steps[:3]
                continue
            parents = tree.parents[level]
            if width == 1:
                above = orientations[:, parents[0], None]
                positions[:, level] = positions[:, parents[0], None]
            else:
                np.take(orientations, parents, axis=1, out=above, mode="wrap")
                positions[:, level] = positions[:, parents]
            multiply(above, turns, orientations[:, level], work[:3])
            positions[:, level] += turned(above, steps, work, more[:3], turns[:3])
        return Frames(positions, orientations)

    def _reserve(self, robots: int) -> None:
        if robots <= self._capacity:
            return
        self._capacity = capacity = max(robots, 2 * self._capacity)
        bodies = len(self.tree.parents)
        widest = max((level.stop - level.start for level in self.tree.levels), default=0)
        self._values = np.empty((3, bodies, capacity))
        self._positions = np.zeros((3, bodies + 1, capacity))
        self._orientations = np.empty((W + 1, bodies + 1, capacity))
        self._orientations[:, bodies] = _UPRIGHT
        self._work = np.empty((5, W + 1, widest, capacity))


def joint_transforms(tree: Tree, q: Floats) -> tuple[Floats, Floats]:
    """Return where each body is in its parent body, for joint values `q` (N, B).

    Positions (5, B, N), or (5, B, 1) where no joint is prismatic, and orientations (6, B, N).
    """
    values = np.take(q.T, tree.slots, axis=0)
    angles = values * tree.half
    orientations = tree.sine * np.sin(angles)
    orientations += tree.cosine * np.cos(angles)
    return (tree.offset + tree.slide * values if tree.slides else tree.offset), orientations


def multiply(a: Floats, b: Floats, out: Floats, work: Floats) -> None:
    """Write the products a * b of quaternions (6, ...) to `out`; `work` is (3, ...)."""
    vector = out[:3]
    np.multiply(a[1:4], b[2:5], out=vector)
    vector -= np.multiply(a[2:5], b[1:4], out=work)
    vector += np.multiply(a[:3], b[W], out=work)
    vector += np.multiply(b[:3], a[W], out=work)
    out[3:W] = out[:2]
    np.multiply(a[W], b[W], out=out[W])
    for product in np.multiply(a[:3], b[:3], out=work):
        out[W] -= product


def turned(a: Floats, vectors: Floats, twice: Floats, out: Floats, work: Floats) -> Floats:
    """Return `vectors` (5, ...) turned by quaternions `a` (6, ...), in `out` (3, ...).

    `twice` (5 or more, ...) and `work` (3, ...) are for intermediate results.
    """
    double = twice[:3]
    np.multiply(a[1:4], vectors[2:5], out=double)
    double -= np.multiply(a[2:5], vectors[1:4], out=work)
    double += double
    twice[3:W] = twice[:2]
    np.multiply(a[1:4], twice[2:5], out=out)
    out -= np.multiply(a[2:5], twice[1:4], out=work)
    out += np.multiply(double, a[W], out=work)
    out += vectors[:3]
    return out
