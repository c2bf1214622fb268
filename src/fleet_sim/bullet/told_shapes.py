"""What PyBullet tells about the shapes of bodies it has: simple shapes, and colors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fleet_sim.bullet.client import BulletClient
from fleet_sim.core.shapes import Geometry
from fleet_sim.spatial.shapes import ShapeKind

ShapeColor = tuple[int, int, tuple[float, ...]]
"""A link, the number of a shape among the visual shapes of that link, and its rgba."""


def simple_geometry(client: BulletClient, kind: int, sizes: Sequence[float]) -> Geometry | None:
    """Return a simple shape as `getCollisionShapeData` and `getVisualShapeData` tell it; None for other kinds.

    A box has its side lengths in `sizes`, a sphere its radius, a cylinder and a capsule height and radius.
    """
    first, second, third = sizes
    if kind == client.GEOM_BOX:
        return Geometry(ShapeKind.BOX, half_extents=(0.5 * first, 0.5 * second, 0.5 * third))
    if kind == client.GEOM_SPHERE:
        return Geometry(ShapeKind.SPHERE, radius=first)
    if kind == client.GEOM_CYLINDER:
        return Geometry(ShapeKind.CYLINDER, height=first, radius=second)
    if kind == client.GEOM_CAPSULE:
        return Geometry(ShapeKind.CAPSULE, height=first, radius=second)
    return None


def shape_colors(client: BulletClient, body: int) -> list[ShapeColor]:
    """Return the present colors of all visual shapes of `body`, as `changeVisualShape` names the shapes."""
    # changeVisualShape wants a shape's number within its link, but getVisualShapeData lists shapes without it.
    counts: Counter[int] = Counter()
    colors: list[ShapeColor] = []
    for shape in client.getVisualShapeData(body):
        link = int(shape[1])
        colors.append((link, counts[link], tuple(shape[7])))
        counts[link] += 1
    return colors
