"""ROS nodes in launch files."""

from ..places import offer_places
from . import (
    actions,
    descriptions,
    event_handlers,
    events,
    parameter_descriptions,
    ros_adapters,
    substitutions,
    utilities,
)

__all__ = [
    "actions",
    "descriptions",
    "event_handlers",
    "events",
    "parameter_descriptions",
    "ros_adapters",
    "substitutions",
    "utilities",
]

offer_places(__name__)
