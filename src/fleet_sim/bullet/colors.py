"""Colors given at run time, as PyBullet's view shows them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fleet_sim.arrays import Ints, Rows
from fleet_sim.bullet.client import BulletClient
from fleet_sim.bullet.told_shapes import ShapeColor, shape_colors
from fleet_sim.core.world import World


class BodyColors:
    """Writes the colors of `World.look` to bodies, and knows the colors that the bodies were made with."""

    def __init__(self, world: World, client: BulletClient, bodies: Callable[[], tuple[Ints, Ints]]) -> None:
        """`bodies` returns the columns of body ids and of when they were made."""
        self._world = world
        self._client = client
        self._bodies = bodies
        self.said: set[int] = set()
        """Object ids of entities whose looks were changed in PyBullet alone, which was said."""
        self._own: dict[int, tuple[int, list[ShapeColor]]] = {}
        """Of painted rows: when the body was made, and its shapes with the colors they had then."""

    def refresh(self, rows: Rows) -> None:
        """Write the changed colors of `rows`, which must have bodies that can be seen."""
        look = self._world.look
        changed = rows[look.behind[rows]]
        if not len(changed):
            return
        look.behind[changed] = False
        # Most bodies never get another color than that of their shape.
        for row in changed[look.painted_mask(changed) | np.isin(changed, list(self._own))].tolist():
            self._paint(row)

    def _paint(self, row: int) -> None:
        bodies, made = self._bodies()
        body, shapes = int(bodies[row]), self._shapes(row, int(bodies[row]), int(made[row]))
        links = np.array([link for link, _, _ in shapes], np.int64)
        given = self._world.look.colors(np.full(len(shapes), row), links).tolist()
        for (link, number, own), color in zip(shapes, given, strict=True):
            shown = own if color[0] < 0.0 else color
            self._client.changeVisualShape(body, link, shapeIndex=number, rgbaColor=shown)

    def _shapes(self, row: int, body: int, made: int) -> list[ShapeColor]:
        """Return the visual shapes of `body` with their own colors."""
        known = self._own.get(row)
        if known is not None and known[0] == made:
            return known[1]
        shapes = shape_colors(self._client, body)
        self._own[row] = (made, shapes)
        return shapes
