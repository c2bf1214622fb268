"""Numbers of entities that know which numbering they belong to.

An entity has two: its `object_id`, counted from 0 in order of spawning, and its `body_id`, given by PyBullet, where the
floor comes first. Both are small whole numbers, usually one apart, so that the wrong one is another entity's right one.
"""

from __future__ import annotations


class ObjectId(int):
    """An entity's number in its simulation: an int in every respect, told apart only where body ids are taken too."""


class BodyId(int):
    """The number of a PyBullet body: an int in every respect; `object_id` is that of the entity it stands for."""

    object_id: int

    def __new__(cls, number: int, object_id: int = -1) -> BodyId:
        """Make the number of a body that stands for the entity `object_id`."""
        made = super().__new__(cls, number)
        made.object_id = object_id
        return made
