"""Path: ordered waypoints, with constructors for common figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from fleet_sim.arrays import as_float
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry.drawing import draw_axes, draw_cross, draw_line
from fleet_sim.geometry.pose import Pose
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import trigonometry as trig

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
