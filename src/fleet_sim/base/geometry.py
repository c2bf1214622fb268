"""Pose: a position and an orientation, as a value; Path: ordered waypoints; debug lines; helpers for user code."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from fleet_sim.base.arrays import Floats, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig

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
        return self._from_rows(*quaternions.inverse(*self._rows()))

    def compose(self, other: Pose) -> Pose:
        """Return `other`, given in this pose's frame, in the frame of this pose."""
        return self._from_rows(*quaternions.compose(*self._rows(), *other._rows()))

    def __mul__(self, other: object) -> Pose:
        return self.compose(other) if isinstance(other, Pose) else NotImplemented

    def relative_to(self, frame: Pose) -> Pose:
        """Return this pose relative to `frame`; both are given in the same frame."""
        return self._from_rows(*quaternions.relative(*frame._rows(), *self._rows()))

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


# Debug lines, drawn by a simulation or a PyBullet client.


AXIS_COLORS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def draw_line(
    sim: object, start: Sequence[float], end: Sequence[float], color: Sequence[float], width: float, lifetime: float
) -> int:
    """Draw a line in world coordinates and return its id; `sim` or its `bullet` has `addUserDebugLine`."""
    # Either a client of PyBullet or a simulation, which has one.
    for target in (sim, getattr(sim, "bullet", None)):
        draw = getattr(target, "addUserDebugLine", None)
        if draw is not None:
            return int(draw(list(start), list(end), list(color), lineWidth=width, lifeTime=lifetime))
    raise InvalidValueError(f"drawing: pass sim=, a simulation or an object with addUserDebugLine; got {sim!r}")


def draw_cross(
    sim: object, position: Sequence[float], size: float, color: Sequence[float], lifetime: float
) -> list[int]:
    """Draw three lines of length `size` that cross at `position`."""
    ids = []
    for axis in range(3):
        start, end = list(position), list(position)
        start[axis] -= 0.5 * size
        end[axis] += 0.5 * size
        ids.append(draw_line(sim, start, end, color, 2.0, lifetime))
    return ids


def draw_axes(sim: object, pose: Pose, length: float, lifetime: float) -> list[int]:
    """Draw the axes of a pose: x red, y green, z blue."""
    ids = []
    for axis, color in enumerate(AXIS_COLORS):
        tip = [0.0, 0.0, 0.0]
        tip[axis] = length
        ids.append(draw_line(sim, pose.position, pose.compose(Pose(tip)).position, color, 2.0, lifetime))
    return ids


# Path: ordered waypoints, with constructors for common figures.


RGB = Sequence[float]
NO_TURN = (0.0, 0.0, 0.0)
LINE_COLOR = (0.1, 0.5, 1.0)
POINT_COLOR = (1.0, 0.5, 0.1)


@saved
class Path:
    """A list of waypoint poses in the world frame, driven in order.

    `len`, indexing, slicing (a Path) and iteration work as on a list; two paths with equal waypoints are equal.
    """

    # A misspelt attribute is an error, as Python has it.
    __slots__ = ("waypoints",)

    def __init__(self, waypoints: Iterable[Pose] = ()) -> None:
        self.waypoints: list[Pose] = list(waypoints)
        for waypoint in self.waypoints:
            if not isinstance(waypoint, Pose):
                raise InvalidValueError(
                    f"path: every waypoint must be a Pose, got {waypoint!r}; Path.from_positions takes positions"
                )

    # ---- constructors -------------------------------------------------------------------------------------

    @classmethod
    def from_positions(cls, positions: Iterable[Sequence[float]], orientation: Sequence[float] | None = None) -> Path:
        """Return a path through `positions`, all with one `orientation` (None: no rotation)."""
        turn = (0.0, 0.0, 0.0, 1.0) if orientation is None else orientation
        return cls(Pose(position, turn) for position in positions)

    @classmethod
    def from_paths(cls, paths: Iterable[Path]) -> Path:
        """Return one path through the waypoints of all `paths`; raises InvalidValueError for what is none."""
        joined = cls()
        for path in paths:
            joined.append(path)
        return joined

    @classmethod
    def create_rectangle(
        cls, center: Sequence[float], width: float, height: float, rpy: Sequence[float] = NO_TURN
    ) -> Path:
        """Return a closed rectangle, `width` along x and `height` along y, about `center`.

        It starts and ends at the corner with the smallest x and y and runs counter-clockwise. `rpy` rotates the whole
        figure about its centre; the waypoints have that orientation.
        """
        x = 0.5 * as_float(width, "width", low=0.0)
        y = 0.5 * as_float(height, "height", low=0.0)
        return cls._placed([(-x, -y), (x, -y), (x, y), (-x, y), (-x, -y)], center, rpy)

    @classmethod
    def create_square(cls, center: Sequence[float], side_length: float, rpy: Sequence[float] = NO_TURN) -> Path:
        """Return a closed square about `center`; see `create_rectangle`."""
        side = as_float(side_length, "side_length", low=0.0)
        return cls.create_rectangle(center, side, side, rpy)

    @classmethod
    def create_ellipse(
        cls,
        center: Sequence[float],
        radius_x: float,
        radius_y: float,
        num_points: int = 16,
        rpy: Sequence[float] = NO_TURN,
        start_angle: float = 0.0,
        end_angle: float = 2.0 * math.pi,
    ) -> Path:
        """Return an ellipse, or its arc from `start_angle` to `end_angle` (rad), as `num_points` segments.

        Both ends are waypoints, so there are `num_points` + 1 of them; a full ellipse ends where it starts.
        """
        if isinstance(num_points, bool) or not isinstance(num_points, int) or num_points < 1:
            raise InvalidValueError(f"num_points: expected a whole number of at least 1, got {num_points!r}")
        rx = as_float(radius_x, "radius_x", low=0.0)
        ry = as_float(radius_y, "radius_y", low=0.0)
        first, sweep = as_float(start_angle, "start_angle"), as_float(end_angle, "end_angle") - start_angle
        whole = math.isclose(abs(sweep), 2.0 * math.pi, rel_tol=1e-12)
        points = []
        for index in range(num_points + 1):
            # The last point of a full turn is the first one bit for bit, so that the path closes.
            angle = first if whole and index == num_points else first + sweep * index / num_points
            sine, cosine = trig.sin_cos_of(angle)
            points.append((rx * cosine, ry * sine))
        return cls._placed(points, center, rpy)

    @classmethod
    def create_circle(
        cls,
        center: Sequence[float],
        radius: float,
        num_points: int = 16,
        rpy: Sequence[float] = NO_TURN,
        start_angle: float = 0.0,
        end_angle: float = 2.0 * math.pi,
    ) -> Path:
        """Return a circle or an arc of it; see `create_ellipse`."""
        return cls.create_ellipse(center, radius, radius, num_points, rpy, start_angle, end_angle)

    @classmethod
    def _placed(cls, points: Iterable[tuple[float, float]], center: Sequence[float], rpy: Sequence[float]) -> Path:
        if len(rpy) != 3:
            raise InvalidValueError(f"rpy: expected 3 numbers (roll, pitch, yaw), got {rpy!r}")
        middle = Pose(center, Pose.from_euler(0.0, 0.0, 0.0, *rpy).orientation)
        orientation = middle.orientation
        return cls(Pose(middle.compose(Pose((x, y, 0.0))).position, orientation) for x, y in points)

    # ---- as a list ----------------------------------------------------------------------------------------

    def append(self, other: Path) -> Path:
        """Add the waypoints of `other` at the end of this path, and return this path."""
        if not isinstance(other, Path):
            raise InvalidValueError(f"append: expected a Path, got {other!r}")
        self.waypoints.extend(list(other.waypoints))
        return self

    def __len__(self) -> int:
        return len(self.waypoints)

    @overload
    def __getitem__(self, index: int) -> Pose: ...

    @overload
    def __getitem__(self, index: slice) -> Path: ...

    def __getitem__(self, index: int | slice) -> Pose | Path:
        return Path(self.waypoints[index]) if isinstance(index, slice) else self.waypoints[index]

    def __iter__(self) -> Iterator[Pose]:
        return iter(self.waypoints)

    def __add__(self, other: Path) -> Path:
        return Path([*self, *other]) if isinstance(other, Path) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self.waypoints == other.waypoints if isinstance(other, Path) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a path can be appended to

    def __repr__(self) -> str:
        return f"Path({self.waypoints!r})"

    def get_total_distance(self) -> float:
        """Return the length in m of the line through all waypoints."""
        return math.fsum(a.distance_to(b) for a, b in zip(self.waypoints, self.waypoints[1:], strict=False))

    # ---- drawing ------------------------------------------------------------------------------------------

    def visualize(
        self,
        show_lines: bool = True,
        line_color: RGB | None = None,
        line_width: float = 2.0,
        show_waypoints: bool = False,
        show_axes: bool = False,
        axis_length: float = 0.3,
        show_points: bool = False,
        point_size: float = 0.05,
        lifetime: float = 0.0,
        *,
        sim: object = None,
    ) -> list[int]:
        """Draw the path and return the ids of the drawn items.

        `sim` is the simulation to draw in, or anything with PyBullet's `addUserDebugLine`.
        `show_waypoints` shows axes and points; `lifetime` is in s, 0: forever.
        """
        ids = []
        if show_lines:
            color = LINE_COLOR if line_color is None else line_color
            for a, b in zip(self.waypoints, self.waypoints[1:], strict=False):
                ids.append(draw_line(sim, a.position, b.position, color, line_width, lifetime))
        axes, points = show_axes or show_waypoints, show_points or show_waypoints
        return ids + self.visualize_waypoints(axes, axis_length, points, point_size, lifetime, sim=sim)

    def visualize_waypoints(
        self,
        show_axes: bool = True,
        axis_length: float = 0.3,
        show_points: bool = True,
        point_size: float = 0.05,
        lifetime: float = 0.0,
        *,
        sim: object = None,
    ) -> list[int]:
        """Draw each waypoint as a cross, with its axes in red, green and blue; return the ids of the drawn items."""
        ids = []
        for waypoint in self.waypoints:
            if show_points:
                ids += draw_cross(sim, waypoint.position, point_size, POINT_COLOR, lifetime)
            if show_axes:
                ids += draw_axes(sim, waypoint, axis_length, lifetime)
        return ids


def calculate_offset_pose(target: Pose, current: Pose, offset: float, keep_height: bool = True) -> Pose:
    """Return the pose `offset` m before `target` as seen from `current`, facing the target.

    The height is that of `current` with `keep_height`, else the target's. If `current` is exactly above the target, the
    yaw of `current` is used as the direction to the target.
    """
    dx, dy = target.x - current.x, target.y - current.y
    distance = math.hypot(dx, dy)
    heading = trig.atan2_of(dy, dx) if distance > 1e-9 else current.yaw
    sine, cosine = trig.sin_cos_of(heading)
    x, y = target.x - offset * cosine, target.y - offset * sine
    return Pose.from_yaw(x, y, current.z if keep_height else target.z, heading)


def world_to_grid(position: Sequence[float], spacing: Sequence[float], offset: Sequence[float]) -> tuple[int, int, int]:
    """Return the cell nearest to `position`; an axis with spacing 0 has the single cell 0."""
    point, step, origin = (
        as_floats(v, (3,), n) for v, n in ((position, "position"), (spacing, "spacing"), (offset, "offset"))
    )
    x, y, z = (
        round((p - o) / s) if s else 0 for p, s, o in zip(point.tolist(), step.tolist(), origin.tolist(), strict=True)
    )
    return x, y, z


def grid_to_world(cell: Sequence[int], spacing: Sequence[float], offset: Sequence[float]) -> list[float]:
    """Return the position of `cell`, in m."""
    return [o + s * c for c, s, o in zip(cell, spacing, offset, strict=True)]


def world_to_grid_2d(position: Sequence[float], spacing: Sequence[float], offset: Sequence[float]) -> tuple[int, int]:
    """Return the cell in x and y nearest to `position`."""
    x, y, _ = world_to_grid([*position[:2], 0.0], [*spacing[:2], 0.0], [*offset[:2], 0.0])
    return x, y


def grid_to_world_2d(cell: Sequence[int], spacing: Sequence[float], offset: Sequence[float]) -> list[float]:
    """Return x and y of `cell`, in m."""
    return grid_to_world(cell[:2], spacing[:2], offset[:2])


def find_nearest(position: Sequence[float], poses: Iterable[Pose]) -> int | None:
    """Return the index of the pose nearest to `position` (the first of equals), or None without poses."""
    here = Pose(list(position))
    distances = [here.distance_to(pose) for pose in poses]
    return distances.index(min(distances)) if distances else None


def normalize_vector_param(value: float | Sequence[float], what: str = "value") -> Floats:
    """Return one number three times, or three numbers, as an array (3,); raises InvalidValueError."""
    return as_floats([value] * 3 if isinstance(value, (int, float)) else value, (3,), what)


def body_to_world_velocity_2d(vx: float, vy: float, yaw: float) -> tuple[float, float]:
    """Return a body-frame velocity in the world frame, in the plane."""
    sine, cosine = trig.sin_cos_of(yaw)
    return vx * cosine - vy * sine, vx * sine + vy * cosine


def body_to_world_velocity_3d(velocity: Sequence[float], orientation: Sequence[float]) -> list[float]:
    """Return a body-frame velocity (3,) in the world frame, for a body with `orientation` (xyzw)."""
    turn = Pose((0.0, 0.0, 0.0), orientation)
    return turn.compose(Pose(as_floats(velocity, (3,), "velocity").tolist())).as_position()
