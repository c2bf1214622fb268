"""What may stand where entities are expected: one entity or several."""

from collections.abc import Iterable

from .launch_description_entity import LaunchDescriptionEntity

SomeEntitiesType = LaunchDescriptionEntity | Iterable[LaunchDescriptionEntity]
SomeEntitiesType_types_tuple = (LaunchDescriptionEntity, Iterable)
SomeActionsType = SomeEntitiesType
SomeActionsType_types_tuple = SomeEntitiesType_types_tuple
