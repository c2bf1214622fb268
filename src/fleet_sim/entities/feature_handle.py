"""FeatureHandle: what users call on the feature of one entity."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

from fleet_sim.entities.sim_object import SimObject

Handle = TypeVar("Handle", bound="FeatureHandle[Any]")
Part = TypeVar("Part")


class FeatureHandle(Generic[Part]):
    """Base of handles of the feature of one entity. They raise StaleHandleError once the entity was removed."""

    feature: ClassVar[str]
    """The name of the feature."""

    def __init__(self, owner: SimObject, part: Part) -> None:
        """`part` is what the handle asks: the columns of the feature, or what runs it."""
        self._owner = owner
        self._part = part

    @classmethod
    def of(cls: type[Handle], owner: SimObject) -> Handle:
        """Return the handle of `owner`; raises StateError where it has not the feature."""
        handle: Handle = owner.feature(cls.feature)
        return handle
