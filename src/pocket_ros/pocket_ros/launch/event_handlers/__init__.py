"""Handlers for the usual events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ...places import offer_places
from ..action import Action
from ..actions.execute_local import ExecuteLocal
from ..description import BaseEventHandler, Event, LaunchDescriptionEntity, SomeEntitiesType
from ..events import ExecutionComplete, IncludeLaunchDescription, Shutdown
from ..events.process import ProcessExited, ProcessIO, ProcessStarted
from ..utilities import normalize_to_list_of_entities

if TYPE_CHECKING:
    from ..description import LaunchContext


# Match events by name.


def event_named(name: str) -> Callable[[Event], bool]:
    """Matches events whose `name` is this."""
    return lambda event: event.name == name


# Handlers of events that belong to an action.


class OnActionEventBase(BaseEventHandler):
    """Answers an event of the target action with entities, or with what a function of event and context
    returns.

    The target is an action, a predicate over actions, or None for any.
    """

    def __init__(
        self,
        *,
        action_matcher: Action | Callable[[Any], bool] | None,
        on_event: SomeEntitiesType | Callable[[Any, LaunchContext], SomeEntitiesType | None] | None,
        target_event_cls: type[Event],
        target_action_cls: type[Action] = Action,
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        if isinstance(action_matcher, Action):
            if not isinstance(action_matcher, target_action_cls):
                raise TypeError(
                    f"{type(self).__name__} requires a target action of type {target_action_cls.__name__}, "
                    f"got {type(action_matcher).__name__}"
                )
        elif action_matcher is not None and not callable(action_matcher):
            raise TypeError(
                f"{type(self).__name__} requires a target that is an action, a function of one or None, "
                f"got {action_matcher!r}"
            )
        self._target = action_matcher
        self._event_class = target_event_cls
        self._function = on_event if callable(on_event) else None
        self._entities = [] if callable(on_event) else normalize_to_list_of_entities(on_event)
        super().__init__(matcher=self._is_for_me, handle_once=handle_once)

    def _is_for_me(self, event: Event) -> bool:
        if not isinstance(event, self._event_class):
            return False
        action = getattr(event, "action", None)
        if self._target is None:
            return True
        if isinstance(self._target, Action):
            return action is self._target
        return bool(self._target(action))

    @property
    def matcher_description(self) -> str:
        return f"event == {self._event_class.__name__} and target == {self._target}"

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        return super().describe()[0], list(self._entities)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        super().handle(event, context)
        context.extend_locals({"event": event})
        if self._function is not None:
            return self._function(event, context)
        return self._entities


# Handlers of one class of events of an action.


_Event = TypeVar("_Event", bound=Event)

Target = Action | Callable[[Any], bool] | None
"""An action, a predicate over actions, or None for any."""
Answer = SomeEntitiesType | Callable[[_Event, "LaunchContext"], SomeEntitiesType | None] | None
"""Entities, or a function of event and context that returns some."""


class OnEventOfClass(OnActionEventBase):
    """Base of the handlers whose class says which events they answer, and of which actions."""

    _ros_event_class: ClassVar[type[Event]]
    _ros_action_class: ClassVar[type[Action]]

    def __init__(self, target_action: Target, on_event: Answer[Any], **kwargs: Any) -> None:
        super().__init__(
            action_matcher=target_action,
            on_event=on_event,
            target_event_cls=self._ros_event_class,
            target_action_cls=self._ros_action_class,
            **kwargs,
        )


# Answers the completion of an action.


class OnExecutionComplete(OnEventOfClass):
    """Answers the completion of an action."""

    _ros_event_class = ExecutionComplete
    _ros_action_class = Action

    def __init__(
        self,
        *,
        target_action: Target = None,
        on_completion: Answer[ExecutionComplete],
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(target_action, on_completion, handle_once=handle_once, **kwargs)


# Answers the wish to include a description.


class OnIncludeLaunchDescription(BaseEventHandler):
    """Visits the description that an IncludeLaunchDescription event carries."""

    def __init__(self, *, handle_once: bool = False) -> None:
        super().__init__(
            matcher=lambda event: isinstance(event, IncludeLaunchDescription), handle_once=handle_once
        )

    @property
    def matcher_description(self) -> str:
        return "event is IncludeLaunchDescription"

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        super().handle(event, context)
        return event.launch_description if isinstance(event, IncludeLaunchDescription) else None


# Answers the end of a process.


class OnProcessExit(OnEventOfClass):
    """Answers the end of a process."""

    _ros_event_class = ProcessExited
    _ros_action_class = ExecuteLocal

    def __init__(
        self,
        *,
        target_action: Target = None,
        on_exit: Answer[ProcessExited],
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(target_action, on_exit, handle_once=handle_once, **kwargs)


# Answers what a process writes.


OnOutput = Callable[[ProcessIO], SomeEntitiesType | None]


class OnProcessIO(OnActionEventBase):
    """Calls a function with each piece of output; what it returns is visited."""

    def __init__(
        self,
        *,
        target_action: Action | Callable[[Any], bool] | None = None,
        on_stdin: OnOutput | None = None,
        on_stdout: OnOutput | None = None,
        on_stderr: OnOutput | None = None,
        **kwargs: Any,
    ) -> None:
        functions = {0: on_stdin, 1: on_stdout, 2: on_stderr}

        def answer(event: ProcessIO, context: LaunchContext) -> SomeEntitiesType | None:
            function = functions.get(event.fd)
            return None if function is None else function(event)

        super().__init__(
            action_matcher=target_action,
            on_event=answer,
            target_event_cls=ProcessIO,
            target_action_cls=ExecuteLocal,
            **kwargs,
        )


# Answers the start of a process.


class OnProcessStart(OnEventOfClass):
    """Answers the start of a process."""

    _ros_event_class = ProcessStarted
    _ros_action_class = ExecuteLocal

    def __init__(
        self,
        *,
        target_action: Target = None,
        on_start: Answer[ProcessStarted],
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(target_action, on_start, handle_once=handle_once, **kwargs)


# Answers the end of the launch.


class OnShutdown(BaseEventHandler):
    """Visits entities, or what a function of event and context returns, when the launch shuts down."""

    def __init__(
        self,
        *,
        on_shutdown: SomeEntitiesType | Callable[[Shutdown, LaunchContext], SomeEntitiesType | None],
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(matcher=lambda event: isinstance(event, Shutdown), handle_once=handle_once)
        self._function = on_shutdown if callable(on_shutdown) else None
        self._given = None if callable(on_shutdown) else on_shutdown
        self._entities = [] if callable(on_shutdown) else normalize_to_list_of_entities(on_shutdown)

    @property
    def matcher_description(self) -> str:
        return "event is Shutdown"

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        return super().describe()[0], list(self._entities)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        super().handle(event, context)
        context.extend_locals({"event": event})
        if self._function is not None and isinstance(event, Shutdown):
            return self._function(event, context)
        return self._given


__all__ = [
    "OnActionEventBase",
    "OnExecutionComplete",
    "OnIncludeLaunchDescription",
    "OnProcessExit",
    "OnProcessIO",
    "OnProcessStart",
    "OnShutdown",
    "event_named",
]

offer_places(__name__)
