"""What touches what, as the physics engine found it."""

from __future__ import annotations

from typing import NamedTuple

Vector = tuple[float, float, float]


class TouchPoint(NamedTuple):
    """A point where an entity touches another; `other` is the other's row, -1 for the floor or a body of no entity.

    `position` is on the other's surface and `normal` points from there to the entity, both in the world frame;
    `distance` in m is negative where they overlap. `normal_force` in N is what the other pushes with along the normal,
    and `friction` (N, world frame) along the surface. Links are numbered as PyBullet numbers them, -1 is the base.
    """

    other: int
    link: int
    other_link: int
    position: Vector
    normal: Vector
    distance: float
    normal_force: float
    friction: Vector
