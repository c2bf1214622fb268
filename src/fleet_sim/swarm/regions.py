"""Regions of the plane, for spawners, goals and detection regions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Floats, as_float, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import setting
from fleet_sim.swarm.canvas import Canvas, Color
from fleet_sim.swarm.parameters import Configured, Vector, documented
from fleet_sim.swarm.parts import PartRegistry

GOAL_COLOR: Color = (40, 160, 70)


class Region:
    """A part of the plane, in m: a polygon with corners (K, 2), or a disc."""

    def __init__(self, points: Any = None, *, center: Any = None, radius: float | None = None) -> None:
        of_disc = [value is not None for value in (center, radius)]
        if any(of_disc) if points is not None else not all(of_disc):
            raise InvalidValueError("a region has either points (three or more) or a center and a radius")
        self.points = None if points is None else as_polygon(points, "points")
        self.radius = 0.0 if radius is None else as_float(radius, "radius in m", low=0.0)
        self.centre: Floats
        if self.points is None:
            self.centre = as_floats(center, (2,), "center")
        else:
            # The middle of the box, not the centroid: the circle around it needs to hold the polygon only, not to be
            # the smallest.
            self.centre = 0.5 * (self.points.min(axis=0) + self.points.max(axis=0))
            offsets = self.points - self.centre
            self.radius = float(np.sqrt((offsets * offsets).sum(axis=1)).max())

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The lower and upper corners (2,) of the region's box."""
        if self.points is None:
            return self.centre - self.radius, self.centre + self.radius
        return self.points.min(axis=0), self.points.max(axis=0)

    def contains(self, points: Floats) -> Bools:
        """Return which of `points` (N, 2) lie inside (N,)."""
        if self.points is None:
            x, y = points[:, 0] - self.centre[0], points[:, 1] - self.centre[1]
            return np.asarray(x * x + y * y <= self.radius * self.radius)
        return inside_polygon(points, self.points)

    def draw(self, canvas: Canvas, color: Color) -> None:
        """Draw the region's border."""
        if self.points is None:
            canvas.circle(self.centre, self.radius, outline=color)
        else:
            canvas.polygon(self.points, outline=color)


def read_corners(value: object) -> Floats | None:
    """Return the corners (K, 2) of a polygon, or None; raises ValueError."""
    return None if value is None else as_polygon(value, "corners")


def read_radius(value: object) -> float | None:
    """Return a radius in m, or None; raises ValueError."""
    return None if value is None else as_float(value, "radius in m", low=0.0)


@documented
@dataclass(eq=False, repr=False)
class Goal(Configured, Region):
    """A place to be reached: a disc (`center`, `radius`) or a polygon (`points`)."""

    points: Any = setting(
        None, reader=read_corners, schema={"type": ["array", "null"]}, unit="m", doc="Corners of a polygon."
    )
    _: KW_ONLY
    center: Vector | None = setting(None, unit="m", doc="Centre of a disc.")
    radius: float = setting(
        None, reader=read_radius, schema={"type": ["number", "null"], "minimum": 0}, unit="m", doc="Radius of a disc."
    )
    name: str = setting("goal", doc="Its name.")
    color: Color = setting(GOAL_COLOR, low=0, high=255, doc="Red, green, blue.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        Region.__init__(self, self.points, center=self.center, radius=self.radius)


@documented
@dataclass(eq=False, repr=False)
class AreaGoal(Goal):
    """A rectangle to be reached."""

    # Worked out from the settings below.
    points: Any = field(init=False, default=None)
    center: Vector | None = field(init=False, default=None)
    radius: Any = field(init=False, default=None)
    position: Vector = setting(unit="m", doc="Its lower left corner.")
    size: Vector = setting(unit="m", doc="Its width and height.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        self.points = rectangle(self.position, self.size)
        super().__post_init__()


@documented
@dataclass(eq=False, repr=False)
class CylinderGoal(Goal):
    """A disc to be reached."""

    # Worked out from the settings below.
    points: Any = field(init=False, default=None)
    center: Vector | None = field(init=False, default=None)
    position: Vector = setting(unit="m", doc="Its centre.")
    radius: float = setting(reader=read_radius, schema={"type": "number", "minimum": 0}, unit="m", doc="Its radius.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        self.center = self.position
        super().__post_init__()


BUILT_IN: dict[str, type[Goal]] = {
    "Goal": Goal,
    "goal": Goal,
    "AreaGoal": AreaGoal,
    "area": AreaGoal,
    "CylinderGoal": CylinderGoal,
    "circle": CylinderGoal,
}

GOALS = PartRegistry("goal", Goal, BUILT_IN)


def as_polygon(points: Any, what: str) -> Floats:
    """Return the corners (K, 2) of a polygon; raises InvalidValueError for fewer than three."""
    corners = as_floats(points, (None, 2), what)
    if len(corners) < 3:
        raise InvalidValueError(f"{what}: a polygon has three corners or more, got {len(corners)}")
    return corners


def rectangle(corner: Any, size: Any) -> Floats:
    """Return the corners (4, 2), counter-clockwise, of a rectangle with its lower left `corner` and its `size`."""
    x, y = as_floats(corner, (2,), "position").tolist()
    width, height = as_floats(size, (2,), "size").tolist()
    return np.array([(x, y), (x + width, y), (x + width, y + height), (x, y + height)])


def edges(polygon: Floats) -> Floats:
    """Return the sides of a polygon (K, 2) as segments (K, 4): x1, y1, x2, y2."""
    return np.hstack((polygon, np.roll(polygon, -1, axis=0)))


def inside_polygon(points: Floats, polygon: Floats) -> Bools:
    """Return which of `points` (N, 2) lie inside `polygon` (K, 2), of any shape (N,); borders may count either way."""
    x, y = points[:, 0], points[:, 1]
    inside = np.zeros(len(points), np.bool_)
    for x1, y1, x2, y2 in edges(polygon).tolist():
        # A level side never crosses the ray to the right, and would divide by 0.
        if y1 == y2:
            continue
        # Even-odd rule. The half-open comparison counts a corner for one of its two sides only.
        crosses_mask = (y1 > y) != (y2 > y)
        inside ^= crosses_mask & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
    return inside
