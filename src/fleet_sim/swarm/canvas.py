"""What things draw themselves on, in world coordinates: implemented by a picture and by a window."""

from __future__ import annotations

from typing import Protocol

from fleet_sim.arrays import Floats

Colour = tuple[int, int, int]


class Canvas(Protocol):
    """A drawing surface. Coordinates are metres in the world frame, y up; later calls draw on top of earlier ones."""

    def clear(self, colour: Colour) -> None:
        """Begin anew, with everything in one colour."""

    def polygon(self, points: Floats, *, fill: Colour | None = None, outline: Colour | None = None) -> None:
        """Draw a closed polygon with corners (K, 2)."""

    def circle(
        self, centre: Floats, radius: float, *, fill: Colour | None = None, outline: Colour | None = None
    ) -> None:
        """Draw a circle about `centre` (2,); one of radius 0 is a dot that can be seen."""

    def line(self, points: Floats, colour: Colour) -> None:
        """Draw an open line through `points` (K, 2)."""

    def text(self, lines: list[str], colour: Colour) -> None:
        """Write lines in the upper left corner."""
