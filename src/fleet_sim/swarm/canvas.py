"""What worlds are drawn on, in world coordinates; colors; and shapes that are read from SVG drawings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fleet_sim.base.arrays import Floats, as_floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.models.markup import Element, read_text

Color = tuple[int, int, int]


class Canvas(Protocol):
    """A drawing surface. Coordinates are metres in the world frame, y up; later calls draw on top of earlier ones."""

    def clear(self, color: Color) -> None:
        """Clear the canvas with one color."""

    def polygon(self, points: Floats, *, fill: Color | None = None, outline: Color | None = None) -> None:
        """Draw a closed polygon with corners (K, 2)."""

    def circle(self, centre: Floats, radius: float, *, fill: Color | None = None, outline: Color | None = None) -> None:
        """Draw a circle about `centre` (2,); one of radius 0 is a dot that can be seen."""

    def line(self, points: Floats, color: Color) -> None:
        """Draw an open line through `points` (K, 2)."""

    def text(self, lines: list[str], color: Color) -> None:
        """Write lines in the upper left corner."""


def contrast(color: Color) -> Color:
    """Return white on dark colors and black on light ones."""
    red, green, blue = color
    return (0, 0, 0) if 299 * red + 587 * green + 114 * blue > 150_000 else (255, 255, 255)


RANDOM_COLOR = "Random"
"""Stands for a color of its own for each agent."""

NO_COLOR = np.full(3, -1.0)
BRIGHTEST = 600
"""Largest sum of the three parts of a drawn color, so that it shows on white."""


def read_color(value: object) -> Color | str:
    """Return a color, or `RANDOM_COLOR`; raises ValueError for anything else."""
    if isinstance(value, str) and value == RANDOM_COLOR:
        return RANDOM_COLOR
    try:
        numbers = as_floats(value, (3,), "color")
    except InvalidValueError:
        numbers = NO_COLOR
    if (numbers < 0).any() or (numbers > 255).any() or (numbers != np.round(numbers)).any():
        raise ValueError(f"must be a list of 3, each item a whole number from 0 to 255, or Random; got {value!r}")
    red, green, blue = numbers.astype(int).tolist()
    return red, green, blue


def drawn_color(rng: np.random.Generator) -> Color:
    """Return a color that shows on white."""
    parts = [255, 255, 255]
    while sum(parts) > BRIGHTEST:
        parts = rng.integers(0, 256, 3).tolist()
    red, green, blue = parts
    return red, green, blue


# Shapes in SVG drawings, as static objects of a world: polygons, polylines, rectangles, circles, straight paths.


KEY = "svg_to_static_objects"
"""The key of an entry of `objects` that holds a drawing."""

LONGEST = 4 * 2**20
"""Of a drawing, in characters."""
DEEPEST = 100
"""Number of groups inside each other."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_STEP = re.compile(rf"[A-Za-z]|{_NUMBER.pattern}")
_TRANSFORM = re.compile(r"(\w+)\s*\(([^)]*)\)")
_COLLIDES = {"collide": True, "nocollide": False}
_NO_NAMES = ("Layer_1", *_COLLIDES)
"""Names of groups that say nothing about a team; drawing programs call the first layer Layer_1."""
_ARGUMENTS = {"M": 2, "L": 2, "H": 1, "V": 1}


@dataclass(frozen=True)
class Shape:
    """A polygon (`points`), or a disc about its only point with a `radius`; `groups` are names, the innermost first."""

    points: Floats
    radius: float
    groups: tuple[str, ...]

    def as_entry(self) -> dict[str, Any]:
        """Return the entry of a static object like this; the groups say its team and whether it collides."""
        team = " ".join(name for name in self.groups if name not in _NO_NAMES)
        # The innermost group wins, as it is the more particular one.
        said = [_COLLIDES[name] for name in self.groups if name in _COLLIDES]
        entry = {"type": "StaticObject", "team": team or None, "collides": said[0] if said else True}
        if self.radius:
            return {**entry, "position": self.points[0].tolist(), "agent_radius": self.radius}
        # Corners are where the drawing has them; a position would move them.
        return {**entry, "position": [0.0, 0.0], "points": self.points.tolist()}


def object_entries(entry: object) -> list[object]:
    """Return the entries of objects that an entry stands for: itself, or the shapes of a drawing in it.

    Raises InvalidValueError for a drawing that cannot be read, or has nothing in it.
    """
    if not isinstance(entry, Mapping) or KEY not in entry:
        return [entry]
    if len(entry) > 1:
        others = ", ".join(str(key) for key in entry if key != KEY)
        raise InvalidValueError(f"{KEY} stands alone, groups of the drawing say the rest; leave out {others}")
    return [shape.as_entry() for shape in shapes_in(entry[KEY], KEY)]


def polygon_in(text: str) -> Floats:
    """Return the corners (K, 2) of the only polygon of a drawing; raises InvalidValueError."""
    polygons = [shape for shape in shapes_in(text, "points") if not shape.radius]
    if len(polygons) != 1:
        raise InvalidValueError(f"points: the drawing must have one polygon, got {len(polygons)}")
    return polygons[0].points


def shapes_in(text: object, what: str) -> list[Shape]:
    """Return the shapes of an SVG drawing given as text; raises InvalidValueError naming `what`."""
    if not isinstance(text, str) or "<svg" not in text:
        raise InvalidValueError(f"{what}: expected the text of an SVG drawing, as from !include walls.svg")
    if len(text) > LONGEST:
        raise InvalidValueError(f"{what}: a drawing has at most {LONGEST} characters, got {len(text)}")
    # Entities can stand for texts that fill the memory; no drawing program writes them.
    if "<!ENTITY" in text:
        raise InvalidValueError(f"{what}: drawings with entities of their own (<!ENTITY) are not read")
    found = list(_walk(read_text(text.encode(), what), np.eye(3), (), 0))
    if not found:
        raise InvalidValueError(f"{what}: the drawing has no polygon, polyline, rect, circle or path")
    return found


def _walk(element: Element, frame: Floats, groups: tuple[str, ...], depth: int) -> Iterator[Shape]:
    """Yield the shapes of an element and of all below it, placed by `frame` (3, 3), with the names of their groups."""
    if depth > DEEPEST:
        raise element.error(f"groups are more than {DEEPEST} deep")
    # Transforms of outer groups come first, as they place the inner ones.
    frame = frame @ _transform(element)
    # What is defined or hidden here is not drawn either.
    if element.tag in ("defs", "clipPath", "mask", "symbol", "style"):
        return
    if element.tag == "g":
        name = element.attributes.get("data-name") or element.attributes.get("id")
        groups = (name, *groups) if name else groups
    shape = _SHAPES.get(element.tag)
    if shape is not None:
        points, radius = shape(element)
        moved = points @ frame[:2, :2].T + frame[:2, 2]
        yield Shape(moved, radius * _scale(element, frame) if radius else 0.0, groups)
    for child in element.children:
        yield from _walk(child, frame, groups, depth + 1)


def _scale(element: Element, frame: Floats) -> float:
    """Return by how much circles grow in `frame`; raises InvalidValueError where they become ellipses."""
    x, y = np.linalg.norm(frame[:2, :2], axis=0).tolist()
    # Rounding of transforms in the file must not make an ellipse of a circle.
    if not math.isclose(x, y, rel_tol=1e-6):
        raise element.error("a circle is stretched to an ellipse; draw a polygon")
    return float(x)


def _number(element: Element, name: str, default: float | None = None) -> float:
    text = element.attributes.get(name)
    if text is None and default is not None:
        return default
    if text is None or not _NUMBER.fullmatch(text.strip()):
        raise element.error(f"{name} must be a number without a unit, got {text!r}")
    return float(text)


def _numbers(element: Element, text: str) -> list[float]:
    rest = _NUMBER.sub(" ", text).replace(",", " ").strip()
    # What is left after all numbers are taken out is a mistake, such as a unit.
    if rest:
        raise element.error(f"expected numbers, got {rest[:40]!r}")
    return [float(number) for number in _NUMBER.findall(text)]


def _corners(element: Element, numbers: list[float]) -> tuple[Floats, float]:
    # Two points are a line, which nothing can be inside of.
    if len(numbers) % 2 or len(numbers) < 6:
        raise element.error(f"needs three points or more, two numbers each, got {len(numbers)} numbers")
    return np.array(numbers).reshape(-1, 2), 0.0


def _polygon(element: Element) -> tuple[Floats, float]:
    return _corners(element, _numbers(element, element.attributes.get("points", "")))


def _rect(element: Element) -> tuple[Floats, float]:
    if any(_number(element, name, 0.0) for name in ("rx", "ry")):
        raise element.error("rounded corners are not read; draw a polygon")
    x, y = _number(element, "x", 0.0), _number(element, "y", 0.0)
    width, height = _number(element, "width"), _number(element, "height")
    return _corners(element, [x, y, x + width, y, x + width, y + height, x, y + height])


def _circle(element: Element) -> tuple[Floats, float]:
    radius = _number(element, "r")
    if radius <= 0.0:
        raise element.error(f"r must be above 0, got {radius:g}")
    return np.array([[_number(element, "cx", 0.0), _number(element, "cy", 0.0)]]), radius


def _path(element: Element) -> tuple[Floats, float]:
    """Return the corners of a path of straight lines, which is closed as filling it would."""
    steps = _STEP.findall(element.attributes.get("d", ""))
    points: list[tuple[float, float]] = []
    place, command, index = (0.0, 0.0), "", 0
    while index < len(steps):
        if steps[index].isalpha():
            command, index = steps[index], index + 1
            if command in "Zz":
                continue
            if command.upper() not in _ARGUMENTS or (command in "Mm" and points):
                raise element.error(f"paths are one line of M, L, H, V and Z, got {command!r}; make it a polygon")
        count = _ARGUMENTS.get(command.upper(), 0)
        given = steps[index : index + count]
        if not count or len(given) < count or any(text.isalpha() for text in given):
            raise element.error(f"{command or 'd'}: numbers are missing, or one is too much")
        place = _next(place, command, [float(text) for text in given])
        points.append(place)
        index += count
        # Numbers after those of a move are lines.
        command = {"M": "L", "m": "l"}.get(command, command)
    # Many programs repeat the first point at the end; a corner counts once.
    if points[1:] and points[0] == points[-1]:
        points.pop()
    return _corners(element, [number for point in points for number in point])


def _next(place: tuple[float, float], command: str, numbers: list[float]) -> tuple[float, float]:
    # Small letters are relative to the present place.
    x, y = place if command.islower() else (0.0, 0.0)
    if command in "Hh":
        return x + numbers[0], place[1]
    if command in "Vv":
        return place[0], y + numbers[0]
    return x + numbers[0], y + numbers[1]


_SHAPES = {"polygon": _polygon, "polyline": _polygon, "rect": _rect, "circle": _circle, "path": _path}


def _transform(element: Element) -> Floats:
    """Return the matrix (3, 3) of what the attribute `transform` does, from left to right."""
    whole = np.eye(3)
    for name, text in _TRANSFORM.findall(element.attributes.get("transform", "")):
        whole = whole @ _matrix(element, name, _numbers(element, text))
    return whole


def _matrix(element: Element, name: str, numbers: list[float]) -> Floats:
    """Return the matrix (3, 3) of one transform; raises an error with the line."""
    matrix = np.eye(3)
    count = len(numbers)
    if name == "translate" and count in (1, 2):
        matrix[:2, 2] = numbers[0], numbers[1] if count == 2 else 0.0
    elif name == "scale" and count in (1, 2):
        # One number scales both ways.
        matrix[0, 0], matrix[1, 1] = numbers[0], numbers[-1]
    elif name == "rotate" and count in (1, 3):
        sine, cosine = trig.sin_cos_of(math.radians(numbers[0]))
        matrix[:2, :2] = [(cosine, -sine), (sine, cosine)]
        if count == 3:
            centre = np.array(numbers[1:])
            # Turned about a point: there and back again.
            matrix[:2, 2] = centre - matrix[:2, :2] @ centre
    elif name == "matrix" and count == 6:
        matrix[:2] = np.array(numbers).reshape(3, 2).T
    else:
        raise element.error(f"transform: expected translate, scale, rotate or matrix, got {name} of {count} numbers")
    return matrix
