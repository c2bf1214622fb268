"""Events of the launch and of its processes."""

from __future__ import annotations

from ...places import offer_class_modules
from ..description import Event, LaunchDescriptionEntity
from . import process
from .process import matches_action

# Events that are not about a process.


class ExecutionComplete(Event):
    """An action is done."""

    name = "launch.events.ExecutionComplete"

    def __init__(self, *, action: LaunchDescriptionEntity) -> None:
        self.action = action


class IncludeLaunchDescription(Event):
    """A description is to be added to the launch."""

    name = "launch.events.IncludeLaunchDescription"

    def __init__(self, launch_description: LaunchDescriptionEntity) -> None:
        self.launch_description = launch_description


class Shutdown(Event):
    """The launch is to end; `due_to_sigint` when a person asked for it by Ctrl-C."""

    name = "launch.events.Shutdown"

    def __init__(self, *, reason: str = "reason not given", due_to_sigint: bool = False) -> None:
        self.reason = reason
        self.due_to_sigint = due_to_sigint


class TimerEvent(Event):
    """The time of a timer action has come."""

    name = "launch.events.TimerEvent"

    def __init__(self, *, timer_action: LaunchDescriptionEntity) -> None:
        self.timer_action = timer_action


__all__ = [
    "ExecutionComplete",
    "IncludeLaunchDescription",
    "Shutdown",
    "TimerEvent",
    "matches_action",
    "process",
]

offer_class_modules(__name__, matchers=[matches_action])
