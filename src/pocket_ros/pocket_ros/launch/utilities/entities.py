"""Sequences of entities."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..launch_description_entity import LaunchDescriptionEntity
from ..some_entities_type import SomeEntitiesType

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


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


def visit_all_entities_and_collect_futures(
    entity: LaunchDescriptionEntity, context: LaunchContext
) -> list[tuple[LaunchDescriptionEntity, asyncio.Future[Any]]]:
    """Visit an entity and all that follows from it, depth first, and answer with what is to be awaited."""
    following = entity.visit(context)
    future = entity.get_asyncio_future()
    found = [] if future is None else [(entity, future)]
    for further in following or ():
        found += visit_all_entities_and_collect_futures(further, context)
    return found
