"""What is known about entities: category, description and tags."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Vector3
from simulation_interfaces.msg import Bounds, EntityCategory, EntityInfo

from fleet_sim.collision.bounds import refresh_bounds, world_aabbs
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError
from fleet_sim.sensors.occupancy import immovable_rows

CATEGORIES = (
    EntityCategory.CATEGORY_OBJECT,
    EntityCategory.CATEGORY_ROBOT,
    EntityCategory.CATEGORY_HUMAN,
    EntityCategory.CATEGORY_DYNAMIC_OBJECT,
    EntityCategory.CATEGORY_STATIC_OBJECT,
)
MOST_TAGS = 100
LONGEST_TEXT = 10_000
"""In characters, of a description or a tag: what clients set is kept."""


class EntityInfos:
    """The infos of all entities of a world; to be used between two steps.

    What nobody has set follows from what an entity is. Infos last as long as their entity: they are no part of saved
    states, and one that comes back from a saved state has its own again.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        # By row and generation: rows and, after a reset, ids are used again, generations never count back.
        self._given: dict[tuple[int, int], EntityInfo] = {}

    def of(self, row: int) -> EntityInfo:
        """Return the info of the entity in `row`."""
        given = self._given.get(self._key(row))
        return EntityInfo(category=EntityCategory(category=self._category(row))) if given is None else given

    def give(self, row: int, info: Any) -> None:
        """Set the info of an entity; raises InvalidValueError."""
        if info.category.category not in CATEGORIES:
            raise InvalidValueError(f"info.category: expected one of {CATEGORIES}, got {info.category.category}")
        if len(info.tags) > MOST_TAGS or max(map(len, (info.description, *info.tags))) > LONGEST_TEXT:
            raise InvalidValueError(f"info: at most {MOST_TAGS} tags, and {LONGEST_TEXT} characters in each text")
        self._given[self._key(row)] = info

    def forget_gone(self) -> None:
        """Forget the infos of entities that are gone."""
        living = {self._key(row) for row in self._world.rows.tolist()}
        self._given = {key: info for key, info in self._given.items() if key in living}

    def _key(self, row: int) -> tuple[int, int]:
        return row, int(self._world.generation[row])

    def _category(self, row: int) -> int:
        if self._world.kind[row] == KIND_AGENT:
            return int(EntityCategory.CATEGORY_ROBOT)
        if self._world.dynamic[row]:
            return int(EntityCategory.CATEGORY_DYNAMIC_OBJECT)
        if is_static(self._world, row):
            return int(EntityCategory.CATEGORY_STATIC_OBJECT)
        return int(EntityCategory.CATEGORY_OBJECT)


def is_static(world: World, row: int) -> bool:
    """Return whether the entity in `row` never moves by itself."""
    return row in immovable_rows(world)


def bounds_of(world: World, row: int) -> Bounds:
    """Return the box around the collision shape of an entity, along the axes of its own frame."""
    # The boxes of robots follow their joints when somebody asks.
    refresh_bounds(world)
    rows = np.array([row])
    lower, upper = world_aabbs(
        world.shape_kind[rows],
        world.shape_position[rows],
        world.shape_orientation[rows],
        world.half_extents[rows],
        world.radius[rows],
    )
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()) or (upper <= lower).all():
        return Bounds(type=Bounds.TYPE_EMPTY)
    # The upper corner first, as in the definition.
    corners = [Vector3(x=x, y=y, z=z) for x, y, z in (upper[0].tolist(), lower[0].tolist())]
    return Bounds(type=Bounds.TYPE_BOX, points=corners)
