"""Pictures of a world: on any canvas, and on one made of pixels that needs no window."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Bytes, Floats
from fleet_sim.errors import InvalidValueError, missing_extra
from fleet_sim.output import check_target, replacing
from fleet_sim.swarm.canvas import Canvas, Color
from fleet_sim.swarm.swarm_world import SwarmWorld

WALL_COLOR: Color = (60, 60, 60)
SENSOR_COLOR: Color = (205, 205, 205)
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
"""Endings of files of pictures."""

SMOOTH = 2
"""Pictures are drawn larger by this factor and downsampled, for smooth lines."""


def draw_world(world: SwarmWorld, canvas: Canvas) -> None:
    """Draw a world: goals and walls, ranges of sensors, objects, then agents; later ones on top."""
    canvas.clear(world.config.background_color)
    for goal in world.goals:
        goal.draw(canvas, goal.color)
    if world.config.show_walls:
        width, height = world.config.size
        canvas.polygon(np.array([(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]), outline=WALL_COLOR)
    for group in world.groups:
        # A group that everybody has left still has its sensors, but nobody to draw them at.
        for sensor in group.sensors if len(group) else ():
            outlines = sensor.outlines(group)
            for outline in () if outlines is None else outlines:
                canvas.polygon(outline, outline=SENSOR_COLOR)
    for member in (*world.objects, *world.population):
        member.draw(canvas)


class Viewport:
    """How a world fits in a picture: `scale` pixels per metre, the world's lower left corner in the lower left.

    `center` is the point of the world in the middle of the picture.
    """

    def __init__(self, world: SwarmWorld, width: int, height: int, margin: float = 0.03) -> None:
        self.width, self.height = width, height
        share = 1.0 - 2.0 * margin
        self.scale = float(np.min(np.array([width, height]) * share / world.size))
        self.center: Floats = 0.5 * world.size

    def pixels(self, points: Floats) -> Floats:
        """Return where `points` (K, 2) are in the picture: (K, 2), x to the right and y down."""
        x = (points[:, 0] - self.center[0]) * self.scale + 0.5 * self.width
        y = (self.center[1] - points[:, 1]) * self.scale + 0.5 * self.height
        return np.stack((x, y), axis=1)

    def point(self, x: float, y: float) -> Floats:
        """Return the point (2,) of the world at a pixel."""
        return self.center + np.array([x - 0.5 * self.width, 0.5 * self.height - y]) / self.scale


class PictureCanvas:
    """A canvas of pixels."""

    def __init__(self, viewport: Viewport) -> None:
        """Raises MissingDependencyError where Pillow is not installed."""
        require_pillow()
        from PIL import Image, ImageDraw

        self._viewport = viewport
        self._image = Image.new("RGB", (viewport.width * SMOOTH, viewport.height * SMOOTH))
        self._pen: Any = ImageDraw.Draw(self._image)

    def _at(self, points: Floats) -> list[tuple[float, float]]:
        return [(x, y) for x, y in (self._viewport.pixels(points) * SMOOTH).tolist()]

    def clear(self, color: Color) -> None:
        """Clear the canvas with one color."""
        self._pen.rectangle((0, 0, *self._image.size), fill=color)

    def polygon(self, points: Floats, *, fill: Color | None = None, outline: Color | None = None) -> None:
        """Draw a closed polygon."""
        corners = self._at(points)
        if fill is not None:
            self._pen.polygon(corners, fill=fill)
        if outline is not None:
            self._pen.line([*corners, corners[0]], fill=outline, width=SMOOTH, joint="curve")

    def circle(self, centre: Floats, radius: float, *, fill: Color | None = None, outline: Color | None = None) -> None:
        """Draw a circle."""
        ((x, y),) = self._at(centre[None])
        size = radius * self._viewport.scale * SMOOTH
        # Anything smaller would vanish when the picture is reduced.
        if size < 2.0 * SMOOTH:
            size, fill = 2.0 * SMOOTH, fill or outline
        self._pen.ellipse((x - size, y - size, x + size, y + size), fill=fill, outline=outline, width=SMOOTH)

    def line(self, points: Floats, color: Color) -> None:
        """Draw an open line."""
        self._pen.line(self._at(points), fill=color, width=SMOOTH)

    def text(self, lines: list[str], color: Color) -> None:
        """Write lines in the upper left corner."""
        self._pen.multiline_text((6 * SMOOTH, 6 * SMOOTH), "\n".join(lines), fill=color, font_size=12 * SMOOTH)

    @property
    def image(self) -> Any:
        """The picture, a Pillow image."""
        return self._image.reduce(SMOOTH)

    @property
    def rgb(self) -> Bytes:
        """The picture as numbers (H, W, 3)."""
        return np.asarray(self.image)


def picture(world: SwarmWorld, width: int = 500, height: int | None = None) -> PictureCanvas:
    """Return a picture of `world` as it is now; without `height` it has the world's proportions.

    Raises MissingDependencyError where Pillow is not installed.
    """
    # Less than this leaves no room for the margins and a line.
    if width < 16:
        raise InvalidValueError(f"width: a picture has 16 pixels or more, got {width!r}")
    tall = round(width * world.config.size[1] / world.config.size[0]) if height is None else height
    canvas = PictureCanvas(Viewport(world, width, max(tall, 16)))
    world.draw(canvas)
    return canvas


def save_picture(world: SwarmWorld, path: str | Path, width: int = 500) -> None:
    """Write a picture of `world` as it is now; the ending of `path` says the format, see `check_picture_path`."""
    # Asked before drawing, which takes longer than looking at a name.
    check_picture_path(path)
    image = picture(world, width).image
    with replacing(path) as part:
        image.save(part)


def check_picture_path(path: str | Path) -> None:
    """Raise InvalidValueError unless a picture can be written to `path`: its folder is there, its ending is known.

    Raises MissingDependencyError where Pillow is not installed.
    """
    check_path(path, PICTURES)
    require_pillow()


def require_pillow() -> None:
    """Raise MissingDependencyError where Pillow is not installed."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError as error:
        raise missing_extra("PIL", "swarm", "drawing a world") from error


def check_path(path: str | Path, endings: Sequence[str]) -> None:
    """Raise InvalidValueError unless the folder of `path` is there and its ending is one of `endings`."""
    file = Path(path)
    if file.suffix.lower() not in endings:
        raise InvalidValueError(f"cannot write to {str(path)!r}: the ending must be one of {', '.join(endings)}")
    check_target(path)
