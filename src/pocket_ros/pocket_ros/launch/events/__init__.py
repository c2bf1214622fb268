"""Events of the launch and of its processes."""

from ...module_places import offer_class_modules
from . import process
from .events import ExecutionComplete, IncludeLaunchDescription, Shutdown, TimerEvent
from .process.matchers import matches_action

__all__ = [
    "ExecutionComplete",
    "IncludeLaunchDescription",
    "Shutdown",
    "TimerEvent",
    "matches_action",
    "process",
]

offer_class_modules(__name__, matchers=[matches_action])
