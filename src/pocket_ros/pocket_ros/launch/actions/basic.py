"""Actions whose tags give texts."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..action import Action, Parsed
from ..description import (
    BaseEventHandler,
    Event,
    LaunchDescriptionEntity,
    SomeEntitiesType,
    SomeSubstitutionsType,
    Substitution,
)
from ..events import Shutdown as EventsShutdown
from ..events import Shutdown as ShutdownEvent
from ..events import TimerEvent
from ..events.process import ProcessExited
from ..frontend.parser import expose_action, optional_texts, texts
from ..logging import get_logger
from ..utilities import (
    describe_substitutions,
    normalize_to_list_of_entities,
    normalize_to_list_of_substitutions,
    perform_bool,
    perform_float,
    perform_substitutions,
)

if TYPE_CHECKING:
    from ..description import LaunchContext
    from ..frontend.parser import Entity, Parser


class TextAction(Action):
    """Base of actions that are made of required texts: a class says which attribute is which argument."""

    _ros_texts: ClassVar[Mapping[str, str]]
    """The attribute of the tag, by argument."""

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What the condition and the texts of the tag say."""
        return cls, super().parse(entity, parser)[1] | texts(entity, parser, **cls._ros_texts)


class NameAction(TextAction):
    """Base of actions on something that has a name."""

    _ros_texts = {"name": "name"}

    def __init__(self, name: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)

    @property
    def name(self) -> list[Substitution]:
        """The name, as substitutions."""
        return self._name

    def describe(self) -> str:
        return f"{type(self).__name__}({describe_substitutions(self._name)})"


class ValueAction(NameAction):
    """Base of actions that give a value to something that has a name."""

    _ros_texts = {"name": "name", "value": "value"}

    def __init__(self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._value = normalize_to_list_of_substitutions(value)

    @property
    def value(self) -> list[Substitution]:
        """The value, as substitutions."""
        return self._value


# Write a line to the log.


@expose_action("log")
class LogInfo(TextAction):
    """Logs a message at level INFO under the name `launch.user`."""

    _ros_texts = {"msg": "message"}

    def __init__(self, *, msg: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.msg = normalize_to_list_of_substitutions(msg)

    def describe(self) -> str:
        return f"LogInfo({describe_substitutions(self.msg)})"

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        get_logger("launch.user").info(perform_substitutions(context, self.msg))
        return None


# Emit an event.


class EmitEvent(Action):
    """Queues an event."""

    def __init__(self, *, event: Event, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.event = event

    def describe(self) -> str:
        return f"Emitting event '{self.event.name}'"

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.emit_event_sync(self.event)
        return None


# Add and remove event handlers.


class RegisterEventHandler(Action):
    """Registers an event handler."""

    def __init__(self, event_handler: BaseEventHandler, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.event_handler = event_handler

    def describe(self) -> str:
        return f"RegisterEventHandler('{self.event_handler.describe()[0]}')"

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        return []

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        description, entities = self.event_handler.describe()
        return [(description, entities)]

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.register_event_handler(self.event_handler)
        return None


class UnregisterEventHandler(RegisterEventHandler):
    """Removes an event handler."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.unregister_event_handler(self.event_handler)
        return None


# End the launch.


@expose_action("shutdown")
class Shutdown(EmitEvent):
    """Shuts the launch down; as the answer to a process's end it says which."""

    def __init__(self, *, reason: SomeSubstitutionsType = "reason not given", **kwargs: Any) -> None:
        self._reason = normalize_to_list_of_substitutions(reason)
        told = reason if isinstance(reason, str) else describe_substitutions(self._reason)
        super().__init__(event=ShutdownEvent(reason=told), **kwargs)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `reason` says."""
        return cls, super().parse(entity, parser)[1] | optional_texts(entity, parser, "reason")

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        cause = context.get_locals_as_dict().get("event")
        if isinstance(cause, ProcessExited):
            from ..logging import get_logger

            get_logger("launch").info(
                f"process[{cause.process_name}] was required: shutting down launched system"
            )
        context.emit_event_sync(ShutdownEvent(reason=perform_substitutions(context, self._reason)))
        return None


# Actions after a while.


@expose_action("timer")
class TimerAction(Action):
    """Visits its actions once `period` seconds have passed; `cancel` and, by default, a shutdown
    prevent it.
    """

    def __init__(
        self,
        *,
        period: float | SomeSubstitutionsType,
        actions: Iterable[LaunchDescriptionEntity],
        cancel_on_shutdown: bool | SomeSubstitutionsType = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.period = (
            period if isinstance(period, int | float) else normalize_to_list_of_substitutions(period)
        )
        self._actions = list(actions)
        self._cancel_on_shutdown: Any = cancel_on_shutdown
        self._future: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._canceled = False

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `period`, `cancel_on_shutdown` and the tags inside say."""
        arguments = super().parse(entity, parser)[1]
        arguments["period"] = parser.parse_if_substitutions(entity.get_attr("period", data_type=float))
        arguments |= optional_texts(entity, parser, "cancel_on_shutdown")
        return cls, arguments | {"actions": [parser.parse_action(child) for child in entity.children]}

    @property
    def actions(self) -> list[LaunchDescriptionEntity]:
        """What follows."""
        return self._actions

    def describe(self) -> str:
        return f"TimerAction(period={self.period})"

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        return [(f"after {self.period} seconds", self._actions)]

    def cancel(self) -> None:
        """Prevent the actions, if they have not been visited yet."""
        self._canceled = True
        if self._timer is not None:
            self._timer.cancel()
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        assert context.asyncio_loop is not None
        if self._canceled:
            return None
        self._future = context.asyncio_loop.create_future()
        self._cancel_on_shutdown = perform_bool(context, self._cancel_on_shutdown)
        context.register_event_handler(_OnTimer(self))
        self.start(context, perform_float(context, self.period))
        return None

    def start(self, context: LaunchContext, period: float) -> None:
        """Arrange for `expire` after `period` seconds."""
        assert context.asyncio_loop is not None
        self._timer = context.asyncio_loop.call_later(period, self.expire, context)

    def expire(self, context: LaunchContext) -> None:
        """The time has come."""
        context.emit_event_sync(TimerEvent(timer_action=self))

    def handle(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """What is to be visited now."""
        if self._canceled or self._future is None or self._future.done():
            return []
        self._future.set_result(None)
        return self._actions

    @property
    def cancel_on_shutdown(self) -> bool:
        """Whether a shutdown prevents the actions; before the action is visited what was given."""
        return bool(self._cancel_on_shutdown)

    def get_asyncio_future(self) -> asyncio.Future[Any] | None:
        return self._future


class _OnTimer(BaseEventHandler):
    """Ends one timer, by its event or by a shutdown."""

    def __init__(self, timer: TimerAction) -> None:
        super().__init__(matcher=self._is_for_me)
        self._timer = timer

    def _is_for_me(self, event: Event) -> bool:
        if isinstance(event, TimerEvent):
            return event.timer_action is self._timer
        return isinstance(event, EventsShutdown) and self._timer.cancel_on_shutdown

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        context.unregister_event_handler(self)
        if isinstance(event, EventsShutdown):
            self._timer.cancel()
            return None
        return self._timer.handle(context)


# Python functions as actions.


class OpaqueFunction(Action):
    """Calls `function(context, *args, **kwargs)` and visits what it returns."""

    def __init__(
        self,
        *,
        function: Callable[..., SomeEntitiesType | None],
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        **left_over_kwargs: Any,
    ) -> None:
        super().__init__(**left_over_kwargs)
        if not callable(function):
            raise TypeError(f"OpaqueFunction expected 'function' to be callable, got {function!r}")
        self._function = function
        self._args = list(args or [])
        self._kwargs = dict(kwargs or {})

    def describe(self) -> str:
        return f"OpaqueFunction(function={getattr(self._function, '__name__', repr(self._function))})"

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        return normalize_to_list_of_entities(self._function(context, *self._args, **self._kwargs))


class OpaqueCoroutine(Action):
    """Runs `coroutine(context, *args, **kwargs)` beside the launch; a shutdown cancels it.

    With `ignore_context` the coroutine is called without the context.
    """

    def __init__(
        self,
        *,
        coroutine: Callable[..., Coroutine[Any, Any, Any]],
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        ignore_context: bool = False,
        **left_over_kwargs: Any,
    ) -> None:
        super().__init__(**left_over_kwargs)
        if not inspect.iscoroutinefunction(coroutine):
            raise TypeError(
                f"OpaqueCoroutine expected 'coroutine' to be a coroutine function, got {coroutine!r}"
            )
        self._coroutine = coroutine
        self._args = list(args or [])
        self._kwargs = dict(kwargs or {})
        self._ignore_context = ignore_context
        self._future: asyncio.Task[Any] | None = None

    def describe(self) -> str:
        return f"OpaqueCoroutine(coroutine={self._coroutine.__name__})"

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        from ..event_handlers import OnShutdown

        assert context.asyncio_loop is not None
        args = self._args if self._ignore_context else [context, *self._args]
        task = context.asyncio_loop.create_task(self._coroutine(*args, **self._kwargs))
        self._future = task

        def cancel(event: object, context: object) -> None:
            task.cancel()

        context.register_event_handler(OnShutdown(on_shutdown=cancel))
        return None

    def get_asyncio_future(self) -> asyncio.Future[Any] | None:
        return self._future
