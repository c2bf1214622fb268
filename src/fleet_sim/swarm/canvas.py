"""What is drawn on, in world coordinates, by a picture and by a window; and colors."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fleet_sim.base.arrays import Floats, as_floats
from fleet_sim.base.errors import InvalidValueError

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
