"""Ids of entities as types, so that object ids and PyBullet body ids cannot be confused.

An entity has two ids: its `object_id`, counted from 0 in order of spawning, and its `body_id` from PyBullet, where the
floor comes first. Both are small integers that usually differ by one, so the wrong id is valid for another entity.
"""

from __future__ import annotations


class ObjectId(int):
    """An entity's id in its simulation: an int in all respects, distinguished only where body ids are accepted too."""


class BodyId(int):
    """The id of a PyBullet body: an int in all respects; `object_id` is that of its entity."""

    object_id: int

    def __new__(cls, number: int, object_id: int = -1) -> BodyId:
        """Create the id `number` of the body of the entity `object_id`."""
        made = super().__new__(cls, number)
        made.object_id = object_id
        return made
