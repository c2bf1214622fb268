"""Rigid motions as matrices (4, 4), for tests that must not compute as the package does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import fleet_sim as fs


def rotation(quaternion: Any) -> np.ndarray:
    """Return the matrix (3, 3) of x, y, z, w: its columns are the turned axes."""
    x, y, z, w = (float(number) for number in quaternion)
    unit = np.array([x, y, z, w]) / math.sqrt(x * x + y * y + z * z + w * w)
    axis, real = unit[:3], unit[3]
    skew = crossing(axis)
    return np.asarray(np.eye(3) + 2.0 * real * skew + 2.0 * skew @ skew)


def crossing(vector: Any) -> np.ndarray:
    """Return the matrix whose product with b is the cross product of `vector` and b."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def turn(vector: Any) -> np.ndarray:
    """Return the matrix of the turn about a rotation vector (Rodrigues)."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return np.eye(3) + crossing(vector)
    skew = crossing(np.asarray(vector) / angle)
    return np.asarray(np.eye(3) + math.sin(angle) * skew + (1.0 - math.cos(angle)) * skew @ skew)


def turned_by(matrix: np.ndarray) -> np.ndarray:
    """Return the rotation vector of a matrix (3, 3) that turns by less than half a turn."""
    odd = 0.5 * np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    sine = float(np.linalg.norm(odd))
    angle = math.atan2(sine, 0.5 * (np.trace(matrix) - 1.0))
    return odd if sine < 1e-12 else odd * (angle / sine)


def frame(position: Any, quaternion: Any) -> np.ndarray:
    """Return the matrix (4, 4) of a frame in its parent."""
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = rotation(quaternion), position
    return out


def frame_of(pose: fs.Pose) -> np.ndarray:
    return frame(pose.position, pose.orientation)


def inverse(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of a frame."""
    out = np.eye(4)
    out[:3, :3] = matrix[:3, :3].T
    out[:3, 3] = -matrix[:3, :3].T @ matrix[:3, 3]
    return out


def twist_between(before: np.ndarray, after: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the constant velocity and spin, in the moving frame, that lead from one frame to the other.

    Solved by iteration over short pieces: with spin w the way is the integral of exp(t w) v.
    """
    between = inverse(before) @ after
    vector = turned_by(between[:3, :3])
    nodes = (np.arange(400) + 0.5) / 400
    mean = sum(turn(share * vector) for share in nodes) / 400
    return np.linalg.solve(mean, between[:3, 3]) / time, vector / time
