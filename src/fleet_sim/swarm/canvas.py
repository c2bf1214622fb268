"""The protocol of canvases, in world coordinates: implemented by a picture and by a window."""

from __future__ import annotations

from typing import Protocol

from fleet_sim.arrays import Floats

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
