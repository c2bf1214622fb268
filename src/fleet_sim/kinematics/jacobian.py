"""The end of a chain of bodies: its pose and its Jacobian; many robots at once.

Arrays are laid out as in `forward`: component, then joint, then robot.
"""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.kinematics.forward import ORIGIN, Forward
from fleet_sim.kinematics.tree import Tree
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig


class EndEffector:
    """One link of a tree, and the `free` (F,) bodies on the path to it whose joints may move."""

    def __init__(self, tree: Tree, link: int, free: Ints) -> None:
        self._forward = Forward(tree)
        self._body = int(tree.link_body[link])
        self._offset = [(axis, part) for axis, part in enumerate(tree.link_position[link].tolist()) if part]
        self._turn = quaternions.to_matrices(tree.link_orientation[[link]])[0]
        # Consecutive bodies are taken as a slice, which is a view; others must be copied.
        span = len(free) > 0 and int(free[-1]) - int(free[0]) == len(free) - 1
        self._free: Ints | slice = slice(int(free[0]), int(free[-1]) + 1) if span else free
        self._axis = tree.axis[:, free]
        # In most robot descriptions all joints rotate about z of their own frames: then no products are needed.
        same = [part for part in range(3) if len(free) and bool((tree.axis[part, free] == 1.0).all())]
        self._along = same[0] if same else None
        self._turning = tree.turning[free]
        self._slides = bool((self._turning == 0.0).any())
        self._frames: Floats = np.empty((3, 4, 0, 0))

    def move(self, q: Floats) -> Floats:
        """Set the joint values (K, N); return the position (3, N) of the link."""
        frames = self._frames = self._forward.frames(q.T)
        frame = frames[:, :, self._body]
        position = frame[:, ORIGIN].copy()
        for axis, offset in self._offset:
            position += frame[:, axis] * offset
        return position

    def axes(self) -> Floats:
        """Return the axes (3, 3, N) of the link after the last `move`."""
        frame = self._frames[:, :, self._body]
        axes = frame[:, 0, None] * self._turn[0, :, None]
        axes += frame[:, 1, None] * self._turn[1, :, None]
        axes += frame[:, 2, None] * self._turn[2, :, None]
        return axes

    def jacobian(self, position: Floats, *, turns: bool) -> Floats:
        """Return the Jacobian of the link after the last `move`: (3, F, N), with `turns` also rotation, (6, F, N)."""
        frames, axis = self._frames[:, :, self._free], self._axis
        if self._along is not None:
            axes = frames[:, self._along]
        else:
            axes = frames[:, 0] * axis[0] + frames[:, 1] * axis[1]
            axes += frames[:, 2] * axis[2]
        # A revolute joint moves the link by axis x arm, a prismatic one along its axis.
        arms = position[:, None] - frames[:, ORIGIN]
        out = np.empty((6 if turns else 3, *axes.shape[1:]))
        for part, (one, other) in enumerate(((1, 2), (2, 0), (0, 1))):
            np.multiply(axes[one], arms[other], out=out[part])
            out[part] -= axes[other] * arms[one]
        if self._slides:
            out[:3] *= self._turning
            out[:3] += axes * (1.0 - self._turning)
        if turns:
            np.multiply(axes, self._turning, out=out[3:])
        return out


def turn_between(axes: Floats, wanted: Floats) -> Floats:
    """Return the rotation vectors (3, N), angle in [0, pi], that rotate `axes` (3, 3, N) to `wanted`."""
    turn = wanted[:, 0, None] * axes[None, :, 0]
    turn += wanted[:, 1, None] * axes[None, :, 1]
    turn += wanted[:, 2, None] * axes[None, :, 2]
    # The antisymmetric part of a rotation matrix is axis * sin(angle), the trace is 1 + 2 cos(angle).
    sines = np.empty((3, turn.shape[2]))
    np.subtract(turn[2, 1], turn[1, 2], out=sines[0])
    np.subtract(turn[0, 2], turn[2, 0], out=sines[1])
    np.subtract(turn[1, 0], turn[0, 1], out=sines[2])
    sines *= 0.5
    cosine = 0.5 * (turn[0, 0] + turn[1, 1] + turn[2, 2] - 1.0)
    sine = norm(sines)
    # From both, as the sine alone is inexact near a right angle and the cosine alone near none.
    angle = trig.arctan2(sine, cosine)
    opposite = np.flatnonzero((sine < 1e-6) & (cosine < 0.0))
    # Towards an angle of 0 the quotient tends to 1, and the vector itself to the rotation vector.
    sines *= np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 1.0)
    for index in opposite.tolist():
        sines[:, index] = _half_turn(turn[:, :, index])
    return sines


def _half_turn(turn: Floats) -> Floats:
    """Return the rotation vector (3,) of a matrix (3, 3) that rotates by pi, where the antisymmetric part vanishes."""
    # Such a matrix is 2 a a^T - I, so every column of it plus I is a multiple of the axis a.
    twice = turn + np.eye(3)
    # The longest column: shorter ones are mostly rounding.
    column = int(np.argmax(np.diagonal(twice)))
    x, y, z = twice[:, column].tolist()
    return np.asarray(twice[:, column] * (np.pi / math.sqrt(x * x + y * y + z * z)))


def norm(vectors: Floats) -> Floats:
    """Return the lengths (N,) of vectors (3, N)."""
    squares = vectors * vectors
    return np.asarray(np.sqrt(squares[0] + squares[1] + squares[2]))


def solve_definite(matrices: Floats, vectors: Floats) -> Floats:
    """Return x (n, N) with `matrices` (n, n, N) times x equal to `vectors` (n, N); both are overwritten.

    The matrices must be symmetric and positive definite: then elimination needs no pivoting.
    """
    size = len(vectors)
    if vectors.shape[1] == 1:
        alone = _solved_alone(matrices[:, :, 0].tolist(), vectors[:, 0].tolist())
        if alone is not None:
            vectors[:, 0] = alone
            return vectors
    # A loop over at most six unknowns; each line computes for all robots.
    for pivot in range(size - 1):
        factors = matrices[pivot + 1 :, pivot] / matrices[pivot, pivot]
        matrices[pivot + 1 :, pivot + 1 :] -= factors[:, None] * matrices[None, pivot, pivot + 1 :]
        vectors[pivot + 1 :] -= factors * vectors[pivot]
    for pivot in range(size - 1, -1, -1):
        vectors[pivot] /= matrices[pivot, pivot]
        if pivot:
            vectors[:pivot] -= matrices[:pivot, pivot] * vectors[pivot]
    return vectors


def _solved_alone(matrix: list[list[float]], vector: list[float]) -> list[float] | None:
    """Return what `solve_definite` does of one robot, bit for bit; None where it would divide by zero.

    With so few numbers, NumPy's calls take several times as long as the arithmetic.
    """
    size = len(vector)
    try:
        for pivot in range(size - 1):
            row = matrix[pivot]
            for below in range(pivot + 1, size):
                lower = matrix[below]
                factor = lower[pivot] / row[pivot]
                for column in range(pivot + 1, size):
                    lower[column] -= factor * row[column]
                vector[below] -= factor * vector[pivot]
        for pivot in range(size - 1, -1, -1):
            vector[pivot] /= matrix[pivot][pivot]
            for above in range(pivot):
                vector[above] -= matrix[above][pivot] * vector[pivot]
    except ZeroDivisionError:
        return None
    return vector
