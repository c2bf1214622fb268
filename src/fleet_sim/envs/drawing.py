"""Top views of arenas: discs, rings and lines drawn into an array, without a window or a graphics library.

Each shape is drawn from the signed distance of a pixel's centre to its edge: coverage falls from 1 to 0 within one
pixel, which gives smooth edges. Only the pixels of the shape's bounding box are touched.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Floats

Image = npt.NDArray[np.uint8]
Color = tuple[int, int, int]

PAPER: Color = (245, 245, 242)
OBSTACLE: Color = (120, 122, 126)
ROBOTS: tuple[Color, ...] = (
    (42, 107, 191),
    (214, 101, 38),
    (46, 145, 82),
    (150, 84, 178),
    (186, 52, 66),
    (94, 104, 20),
)
"""Colors of the robots, reused in this order."""


class ArenaCanvas:
    """A square picture of the square of side `size` m around the origin; x to the right, y up."""

    def __init__(self, pixels: int, size: float, paper: Color = PAPER) -> None:
        self.image: Image = np.empty((pixels, pixels, 3), np.uint8)
        self.image[:] = paper
        self._scale = pixels / size
        self._middle = 0.5 * pixels

    def disc(self, centre: Floats, radius: float, color: Color, *, hole: float = 0.0) -> None:
        """Draw a disc, or a ring if `hole` (its inner radius in m) is given."""
        x, y = self._to_pixels(centre)
        outer, inner = radius * self._scale, hole * self._scale
        left, right = self._span(x, outer)
        low, high = self._span(y, outer)
        columns, lines = np.arange(left, right) + 0.5 - x, np.arange(low, high) + 0.5 - y
        distance = np.hypot(columns[None, :], lines[:, None])
        cover = np.clip(outer - distance + 0.5, 0.0, 1.0)
        if inner > 0.0:
            cover *= np.clip(distance - inner + 0.5, 0.0, 1.0)
        self._blend((slice(low, high), slice(left, right)), cover, color)

    def line(self, start: Floats, end: Floats, width: float, color: Color) -> None:
        """Draw a line `width` m wide with round ends."""
        (ax, ay), (bx, by) = self._to_pixels(start), self._to_pixels(end)
        half = 0.5 * width * self._scale
        left, right = self._span(0.5 * (ax + bx), 0.5 * abs(bx - ax) + half)
        low, high = self._span(0.5 * (ay + by), 0.5 * abs(by - ay) + half)
        x, y = np.meshgrid(np.arange(left, right) + 0.5, np.arange(low, high) + 0.5)
        # The nearest point of the segment, as a share of its length; the floor keeps a line of length 0 valid.
        length = max((bx - ax) ** 2 + (by - ay) ** 2, 1e-12)
        along = np.clip(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length, 0.0, 1.0)
        distance = np.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay))
        self._blend((slice(low, high), slice(left, right)), np.clip(half - distance + 0.5, 0.0, 1.0), color)

    def _to_pixels(self, point: Floats) -> tuple[float, float]:
        # Rows of pixels count down, y counts up.
        return self._middle + float(point[0]) * self._scale, self._middle - float(point[1]) * self._scale

    def _span(self, middle: float, reach: float) -> tuple[int, int]:
        edge = len(self.image)
        low = int(np.clip(np.floor(middle - reach - 1.0), 0, edge))
        return low, int(np.clip(np.ceil(middle + reach + 1.0), low, edge))

    def _blend(self, where: tuple[slice, slice], cover: Floats, color: Color) -> None:
        patch = self.image[where]
        mixed = patch + cover[..., None] * (np.array(color) - patch.astype(np.float64))
        # Rounded, not cut off: repeated blending would darken the picture.
        self.image[where] = (mixed + 0.5).astype(np.uint8)
