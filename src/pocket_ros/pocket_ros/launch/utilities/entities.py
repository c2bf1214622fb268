"""Sequences of entities."""

from ..launch_description_entity import LaunchDescriptionEntity
from ..some_entities_type import SomeEntitiesType


def normalize_to_list_of_entities(entities: SomeEntitiesType | None) -> list[LaunchDescriptionEntity]:
    """One entity or several, as a flat list. Raises TypeError naming what is neither."""
    if entities is None:
        return []
    if isinstance(entities, LaunchDescriptionEntity):
        return [entities]
    flat: list[LaunchDescriptionEntity] = []
    for entity in entities:
        if not isinstance(entity, LaunchDescriptionEntity | list | tuple):
            raise TypeError(f"expected launch entities, got {entity!r} of type {type(entity).__name__}")
        flat.extend(normalize_to_list_of_entities(entity))
    return flat
