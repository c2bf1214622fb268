"""Pose: a position and an orientation, as a value."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import poses, quaternions
from fleet_sim.spatial import trigonometry as trig

Triple = tuple[float, float, float]
Quadruple = tuple[float, float, float, float]


TURN = 6.2832
"""The largest angle of a pose in a file, in rad: a turn, also as it is written with four decimals."""


def _numbers(value: Iterable[float], count: int, what: str) -> tuple[float, ...]:
    """Return `count` finite numbers; raises InvalidValueError that says `what` has none, and what was given."""
    names = "(x, y, z)" if count == 3 else "(x, y, z, w)"
    try:
        given = tuple(value)
        # Some versions of NumPy make a number of an array that has one.
        if any(getattr(number, "ndim", 0) for number in given):
            raise TypeError("an array is not a number")
        numbers = tuple(map(float, given))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValueError(f"{what}: expected {count} numbers {names}, got {value!r}") from error
    if len(numbers) != count:
        raise InvalidValueError(f"{what}: expected {count} numbers {names}, got {len(numbers)}: {value!r}")
    if not all(map(math.isfinite, numbers)):
        raise InvalidValueError(f"{what}: every number must be finite, got {value!r}")
    return numbers


def _warn_of_degrees(*angles: float) -> None:
    """Warn whoever made a pose of angles that look like degrees: beyond one turn, and whole eighths of 360."""
    for angle in angles:
        if abs(angle) > TURN and angle % 45.0 == 0.0:
            text = f"an angle of {angle:g} is taken as radians; {angle:g} degrees are {math.radians(angle):.4f}"
            warnings.warn(text, stacklevel=3)


@saved
class Pose:
    """A position (m) and a unit orientation quaternion (x, y, z, w); immutable, comparable and hashable.

    Quaternions are normalised; unit quaternions are stored bit for bit. Raises InvalidValueError for numbers
    that are not finite, a wrong count of them, or a zero quaternion.
    """

    __slots__ = ("_orientation", "_position")
    _position: Triple
    _orientation: Quadruple

    def __init__(self, position: Iterable[float], orientation: Iterable[float] = (0.0, 0.0, 0.0, 1.0)) -> None:
        x, y, z = _numbers(position, 3, "position")
        qx, qy, qz, qw = _numbers(orientation, 4, "orientation")
        norm = math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
        if norm == math.inf:
            # The squares of large numbers are too large: scaled down, the direction is the same.
            largest = max(abs(qx), abs(qy), abs(qz), abs(qw))
            qx, qy, qz, qw = qx / largest, qy / largest, qz / largest, qw / largest
            norm = math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
        if norm < 1e-6:
            raise InvalidValueError(
                f"orientation: a quaternion (x, y, z, w) must not be zero, got {[qx, qy, qz, qw]}; "
                "no rotation is [0, 0, 0, 1]"
            )
        # Left alone where it is a unit already: dividing would change its last bits at each copy.
        if abs(norm - 1.0) >= 1e-12:
            qx, qy, qz, qw = qx / norm, qy / norm, qz / norm, qw / norm
        # Past our own `__setattr__`, which refuses.
        object.__setattr__(self, "_position", (x, y, z))
        object.__setattr__(self, "_orientation", (qx, qy, qz, qw))

    @classmethod
    def from_xyz(cls, x: float, y: float, z: float) -> Pose:
        """Return a pose at x, y, z without rotation."""
        return cls((x, y, z))

    @classmethod
    def from_euler(cls, x: float, y: float, z: float, roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0) -> Pose:
        """Return a pose rotated about the fixed axes x, y and z (rad); warns of angles that look like degrees."""
        angles = _numbers((roll, pitch, yaw), 3, "roll, pitch, yaw")
        _warn_of_degrees(*angles)
        return cls((x, y, z), quaternions.from_eulers(np.array([angles]))[0].tolist())

    @classmethod
    def from_yaw(cls, x: float, y: float, z: float, yaw: float) -> Pose:
        """Return a pose rotated about z by `yaw` (rad); warns of a yaw that looks like degrees."""
        (angle, *_) = _numbers((yaw, 0.0, 0.0), 3, "yaw")
        _warn_of_degrees(angle)
        return cls((x, y, z), (0.0, 0.0, *trig.sin_cos_of(0.5 * angle)))

    @classmethod
    def from_pybullet(cls, position: Iterable[float], orientation: Iterable[float]) -> Pose:
        """Return the pose of a position and a quaternion as returned by PyBullet."""
        return cls(position, orientation)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Pose never changes; make a new one to have another {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Pose never changes")

    def __reduce__(self) -> tuple[type[Pose], tuple[Triple, Quadruple]]:
        return (type(self), (self._position, self._orientation))

    @property
    def position(self) -> Triple:
        """x, y, z in m."""
        return self._position

    @property
    def orientation(self) -> Quadruple:
        """Unit quaternion x, y, z, w."""
        return self._orientation

    @property
    def x(self) -> float:
        """Position along x in m."""
        return self._position[0]

    @property
    def y(self) -> float:
        """Position along y in m."""
        return self._position[1]

    @property
    def z(self) -> float:
        """Position along z in m."""
        return self._position[2]

    @property
    def roll(self) -> float:
        """Rotation about the fixed x axis in rad."""
        return self.as_euler()[0]

    @property
    def pitch(self) -> float:
        """Rotation about the fixed y axis in rad, in [-pi/2, pi/2]."""
        return self.as_euler()[1]

    @property
    def yaw(self) -> float:
        """Rotation about the fixed z axis in rad."""
        return self.as_euler()[2]

    def as_position(self) -> list[float]:
        """Return [x, y, z]."""
        return list(self._position)

    def as_orientation(self) -> list[float]:
        """Return [x, y, z, w]."""
        return list(self._orientation)

    def as_position_orientation(self) -> tuple[list[float], list[float]]:
        """Return ([x, y, z], [x, y, z, w])."""
        return self.as_position(), self.as_orientation()

    def as_tuple(self) -> tuple[Triple, Quadruple]:
        """Return ((x, y, z), (x, y, z, w))."""
        return self._position, self._orientation

    def as_euler(self) -> Triple:
        """Return (roll, pitch, yaw) about the fixed axes x, then y, then z."""
        roll, pitch, yaw = quaternions.to_eulers(np.array([self._orientation]))[0].tolist()
        return roll, pitch, yaw

    def inverse(self) -> Pose:
        """Return the inverse pose."""
        return self._from_rows(*poses.inverse(*self._rows()))

    def compose(self, other: Pose) -> Pose:
        """Return `other`, given in this pose's frame, in the frame of this pose."""
        return self._from_rows(*poses.compose(*self._rows(), *other._rows()))

    def __mul__(self, other: object) -> Pose:
        return self.compose(other) if isinstance(other, Pose) else NotImplemented

    def relative_to(self, frame: Pose) -> Pose:
        """Return this pose relative to `frame`; both are given in the same frame."""
        return self._from_rows(*poses.relative(*frame._rows(), *self._rows()))

    def distance_to(self, other: Pose | Sequence[float]) -> float:
        """Return the distance in m to a pose or to a position."""
        target = other._position if isinstance(other, Pose) else _numbers(other, 3, "position")
        dx, dy, dz = (here - there for here, there in zip(self._position, target, strict=True))
        # Not math.dist: its last bit depends on the version of Python.
        return math.sqrt(dx * dx + dy * dy + dz * dz)

    def _rows(self) -> tuple[Floats, Floats]:
        return np.array([self._position]), np.array([self._orientation])

    @classmethod
    def _from_rows(cls, positions: Floats, orientations: Floats) -> Pose:
        return cls(positions[0].tolist(), orientations[0].tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pose):
            return NotImplemented
        return self._position == other._position and self._orientation == other._orientation

    def __hash__(self) -> int:
        return hash((self._position, self._orientation))

    def __repr__(self) -> str:
        return f"Pose(position={list(self._position)}, orientation={list(self._orientation)})"


def pose_arrays(poses: Any) -> tuple[Floats, Floats]:
    """Return (positions (N, 3), orientations (N, 4)) of a sequence of poses."""
    count = len(poses)
    positions, orientations = np.empty((count, 3)), np.empty((count, 4))
    for index, pose in enumerate(poses):
        positions[index] = pose.position
        orientations[index] = pose.orientation
    return positions, orientations
