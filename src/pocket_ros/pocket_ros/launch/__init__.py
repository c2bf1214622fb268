"""Start and supervise processes as a launch file describes."""

from ..places import offer_places
from . import actions, conditions, event_handlers, events, frontend, logging, substitutions
from .action import Action
from .description import (
    Condition,
    Event,
    EventHandler,
    InvalidLaunchFileError,
    LaunchContext,
    LaunchDescription,
    LaunchDescriptionEntity,
    SomeActionsType,
    SomeActionsType_types_tuple,
    SomeEntitiesType,
    SomeEntitiesType_types_tuple,
    SomeSubstitutionsType,
    SomeSubstitutionsType_types_tuple,
    Substitution,
)
from .launch_description_sources import LaunchDescriptionSource
from .launch_service import LaunchIntrospector, LaunchService

__all__ = [
    "Action",
    "Condition",
    "Event",
    "EventHandler",
    "InvalidLaunchFileError",
    "LaunchContext",
    "LaunchDescription",
    "LaunchDescriptionEntity",
    "LaunchDescriptionSource",
    "LaunchIntrospector",
    "LaunchService",
    "SomeActionsType",
    "SomeActionsType_types_tuple",
    "SomeEntitiesType",
    "SomeEntitiesType_types_tuple",
    "SomeSubstitutionsType",
    "SomeSubstitutionsType_types_tuple",
    "Substitution",
    "actions",
    "conditions",
    "event_handlers",
    "events",
    "frontend",
    "logging",
    "substitutions",
]

offer_places(__name__)
