"""Coloring bodies while they collide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fleet_sim.arrays import as_floats
from fleet_sim.bullet.client import NO_BODY
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.errors import InvalidValueError

RED = (1.0, 0.1, 0.1, 1.0)


class Highlight:
    """Shows chosen rows in one color and restores the colors of the others.

    Only existing bodies are colored: with a window all bodies exist; without one only those that were queried. Bodies
    loaded from a model file keep their colors, and so do bodies whose color PyBullet chose.
    """

    def __init__(self, mirror: BulletMirror, color: Sequence[float] | None = None) -> None:
        """`color` is red, green, blue and opacity from 0 to 1; raises InvalidValueError."""
        rgba = as_floats(RED if color is None else color, (4,), "collision_color")
        if rgba.min() < 0.0 or rgba.max() > 1.0:
            raise InvalidValueError(f"collision_color: four numbers from 0 to 1, got {color!r}")
        self.color: list[float] = rgba.tolist()
        self._mirror = mirror
        self._shown: dict[int, int] = {}
        self._look = 0

    @property
    def is_shown(self) -> bool:
        """Whether any body has the color."""
        return bool(self._shown)

    def show(self, rows: Iterable[int]) -> None:
        """Color `rows` and no others."""
        if not self._mirror.client.connected:
            return
        bodies = self._mirror.bodies.table.body
        # A body without a visual shape has nothing to color.
        wanted = {row: int(bodies[row]) for row in rows if bodies[row] != NO_BODY and self._own_color(row)}
        for row, body in self._shown.items():
            # Only the body that was painted: it may have been removed, and its id may be another's now.
            if wanted.get(row) != body and int(bodies[row]) == body:
                self._paint(body, self._own_color(row))
        # A color given meanwhile is written first: otherwise it would cover ours when PyBullet is next asked.
        look = self._mirror.world.look
        self._mirror.bodies.refresh_colors(np.array(list(wanted), np.int64))
        for row, body in wanted.items():
            if self._shown.get(row) != body or self._look != look.version:
                self._paint(body, self.color)
        self._shown, self._look = wanted, look.version

    def _own_color(self, row: int) -> list[float] | None:
        """Return the color of the row's shape, None if it has no visual shape."""
        world = self._mirror.world
        given = world.look.rgba[row]
        if given[0] >= 0.0:
            return list(given)
        if not self._mirror.own_shapes.has_color(int(self._mirror.bodies.table.body[row])):
            return None
        shape_id = int(world.shape_id[row])
        visual = world.shapes[shape_id].visual if shape_id >= 0 else None
        return None if visual is None else list(visual.rgba)

    def _paint(self, body: int, color: list[float] | None) -> None:
        if color is not None:
            self._mirror.client.changeVisualShape(body, -1, rgbaColor=color)
