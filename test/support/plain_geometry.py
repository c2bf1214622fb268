"""Rotations and rays by formulas of their own, for tests that compare with what the package computes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def matrix(q: Any) -> Any:
    """Return the rotation matrix of a quaternion xyzw, or of a message with one."""
    x, y, z, w = (q.x, q.y, q.z, q.w) if hasattr(q, "w") else q
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def yawed(yaw: float) -> Any:
    """Return the matrix of a turn about z."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def spin_between(before: Any, after: Any, time: float) -> Any:
    """Return the mean angular velocity (3,), in the frame that both matrices lead to, for a small turn."""
    turn = after @ before.T
    sine = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    length = float(np.linalg.norm(sine))
    return sine / time if length < 1e-12 else sine / length * math.asin(length) / time


def vector(message: Any) -> Any:
    """Return x, y, z of a message."""
    return np.array([message.x, message.y, message.z])


class Box:
    """A box in the world."""

    def __init__(self, position: Any, yaw: float, half_extents: Any) -> None:
        self.position, self.half_extents = np.array(position, float), np.array(half_extents, float)
        self.turn = yawed(yaw)

    def local(self, points: Any) -> Any:
        """Return points (N, 3) in the box's frame."""
        return (np.asarray(points) - self.position) @ self.turn

    def distance(self, points: Any) -> Any:
        """Return signed distances (N,): negative inside."""
        away = np.abs(self.local(points)) - self.half_extents
        return np.linalg.norm(np.maximum(away, 0.0), axis=1) + np.minimum(away.max(axis=1), 0.0)

    def hit(self, origin: Any, direction: Any) -> tuple[float, Any]:
        """Return the distance along a ray to the box, inf where it misses, and the normal (3,) of what it hits."""
        begin, along = self.local(origin), self.turn.T @ direction
        with np.errstate(divide="ignore"):
            first, second = (-self.half_extents - begin) / along, (self.half_extents - begin) / along
        enter = np.minimum(first, second)
        axis, leave = int(np.argmax(enter)), float(np.maximum(first, second).min())
        if enter[axis] > leave or enter[axis] < 0.0:
            return math.inf, None
        return float(enter[axis]), -np.sign(along[axis]) * self.turn[:, axis]


class Ball:
    """A sphere in the world."""

    def __init__(self, position: Any, radius: float) -> None:
        self.position, self.radius = np.array(position, float), radius

    def distance(self, points: Any) -> Any:
        """Return signed distances (N,)."""
        return np.linalg.norm(np.asarray(points) - self.position, axis=1) - self.radius

    def hit(self, origin: Any, direction: Any) -> tuple[float, Any]:
        """Return the distance along a ray to the sphere, inf where it misses, and the normal (3,) there."""
        away = np.asarray(origin) - self.position
        middle = -float(away @ direction)
        under = middle**2 - float(away @ away) + self.radius**2
        if under < 0.0 or middle < 0.0:
            return math.inf, None
        distance = middle - math.sqrt(under)
        return distance, (away + distance * direction) / self.radius


class Post:
    """An upright cylinder in the world, seen from its side."""

    def __init__(self, position: Any, radius: float, height: float) -> None:
        self.position, self.radius, self.height = np.array(position, float), radius, height

    def hit(self, origin: Any, direction: Any) -> tuple[float, Any]:
        """Return the distance along a ray to its side, inf where it misses, and the normal (3,) there."""
        flat = np.array([1.0, 1.0, 0.0])
        level = float(np.linalg.norm(direction * flat))
        away = (np.asarray(origin) - self.position) * flat
        distance, normal = Ball((0.0, 0.0, 0.0), self.radius).hit(away, direction * flat / level)
        distance /= level
        if normal is None or abs(origin[2] + distance * direction[2] - self.position[2]) > 0.5 * self.height:
            return math.inf, None
        return distance, normal


def nearest(bodies: Any, origin: Any, direction: Any) -> tuple[float, Any]:
    """Return the distance to the first body along a ray and its normal there."""
    return min((body.hit(origin, direction) for body in bodies), key=lambda hit: hit[0])
