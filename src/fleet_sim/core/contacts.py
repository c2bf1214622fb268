"""Contact points found by the physics engine."""

from __future__ import annotations

from typing import NamedTuple

Vector = tuple[float, float, float]


class Contact(NamedTuple):
    """A point where an entity touches another; `other` is its handle, None for the floor or a body without an entity.

    `position` is on the other's surface and `normal` points from there to the entity, both in the world frame;
    `distance` (m) is negative where they overlap. `normal_force` (N) is the force of the other along the normal, and
    `friction` (N, world frame) its force along the surface. Links are numbered as in PyBullet, -1 is the base.
    """

    other: object | None
    link: int
    other_link: int
    position: Vector
    normal: Vector
    distance: float
    normal_force: float
    friction: Vector
