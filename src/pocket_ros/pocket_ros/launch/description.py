"""A list of entities: what a launch file returns."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

# Something that happened in the launch.


class Event:
    """Base of all events; subclasses name themselves `launch.events.…`."""

    name = "launch.Event"


# The state a launch has while it runs.


class _Handler(Protocol):
    """What the context needs of an event handler. Handlers are given a context, so they are above it."""

    def matches(self, event: Event) -> bool: ...

    # Entities, which are above the context too: whoever visits them checks what they are.
    def handle(self, event: Event, context: LaunchContext) -> Any: ...


class _Substitution(Protocol):
    def perform(self, context: LaunchContext) -> str: ...


class _Locals:
    """Names that exist while an event is handled or a file is included, as attributes."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.__dict__["_names"] = names

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_names"][name]
        except KeyError:
            raise AttributeError(
                f"the launch context has no local '{name}'; "
                f"it has: {', '.join(sorted(self.__dict__['_names']))}"
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("context.locals is read only; use context.extend_locals({...})")


class LaunchContext:
    """Launch configurations, environment, locals, event handlers and the queue of events.

    `launch_configurations` maps names to text (`launch_ros` keeps lists in it, too). `environment` is
    `os.environ`, which children inherit.
    """

    def __init__(self, *, argv: Iterable[str] | None = None, noninteractive: bool = False) -> None:
        self.argv = list(argv) if argv is not None else []
        self.noninteractive = noninteractive
        self.launch_configurations: dict[str, Any] = {}
        self.is_shutdown = False
        self.asyncio_loop: asyncio.AbstractEventLoop | None = None
        self._configuration_stack: list[dict[str, Any]] = []
        self._environment_stack: list[dict[str, str]] = []
        self._initial_environment = dict(os.environ)
        self._globals: dict[str, Any] = {}
        self._locals: dict[str, Any] = {}
        self._locals_stack: list[dict[str, Any]] = []
        self._handlers: list[_Handler] = []
        self.events: asyncio.Queue[Event] = asyncio.Queue()
        self.wait_for: Callable[[asyncio.Future[Any]], None] | None = None
        """Has the launch wait for a future; None while nothing runs it."""

    @property
    def environment(self) -> os._Environ[str]:
        """The environment of this process and of the children to come."""
        return os.environ

    # Locals and globals

    @property
    def locals(self) -> _Locals:
        """Locals and globals as attributes; AttributeError names what there is."""
        return _Locals(self.get_locals_as_dict())

    def get_locals_as_dict(self) -> dict[str, Any]:
        """Locals over globals, as a new dict."""
        return {**self._globals, **self._locals}

    def extend_globals(self, extra: Mapping[str, Any]) -> None:
        """Add names that stay for the whole launch."""
        self._globals.update(extra)

    def extend_locals(self, extra: Mapping[str, Any]) -> None:
        """Add names that go when the present event is done with."""
        self._locals.update(extra)

    def _push_locals(self) -> None:
        self._locals_stack.append(dict(self._locals))

    def _pop_locals(self) -> None:
        if not self._locals_stack:
            raise RuntimeError("locals were popped more often than they were pushed")
        self._locals = self._locals_stack.pop()

    # Scopes

    def _push_launch_configurations(self) -> None:
        self._configuration_stack.append(dict(self.launch_configurations))

    def _pop_launch_configurations(self) -> None:
        if not self._configuration_stack:
            raise RuntimeError("launch configurations were popped more often than they were pushed")
        self._replace(self.launch_configurations, self._configuration_stack.pop())

    def _push_environment(self) -> None:
        self._environment_stack.append(dict(os.environ))

    def _pop_environment(self) -> None:
        if not self._environment_stack:
            raise RuntimeError("the environment was popped more often than it was pushed")
        self._replace(os.environ, self._environment_stack.pop())

    def _reset_environment(self) -> None:
        self._replace(os.environ, self._initial_environment)

    @staticmethod
    def _replace(target: Any, content: Mapping[str, str]) -> None:
        for name in [name for name in target if name not in content]:
            del target[name]
        target.update(content)

    # Events

    @property
    def event_handlers(self) -> list[_Handler]:
        """The registered handlers, the one asked first at the front."""
        return self._handlers

    def register_event_handler(self, event_handler: _Handler, append: bool = False) -> None:
        """Register a handler; it is asked before those already there, or after them with `append`."""
        if append:
            self._handlers.append(event_handler)
        else:
            self._handlers.insert(0, event_handler)

    def unregister_event_handler(self, event_handler: _Handler) -> None:
        """Remove a handler. Raises ValueError when it is not registered."""
        self._handlers.remove(event_handler)

    def would_handle_event(self, event: Event) -> bool:
        """Whether any handler matches."""
        return any(handler.matches(event) for handler in self._handlers)

    def emit_event_sync(self, event: Event) -> None:
        """Queue an event, from the thread of the launch."""
        self.events.put_nowait(event)

    async def emit_event(self, event: Event) -> None:
        """Queue an event, from a coroutine of the launch."""
        self.events.put_nowait(event)

    def add_completion_future(self, future: asyncio.Future[Any]) -> None:
        """Have the launch end after a future; what the future raises ends it. From any thread.

        Raises RuntimeError where no launch runs.
        """
        if self.wait_for is None or self.asyncio_loop is None:
            raise RuntimeError("no launch runs: there is nothing that could wait for the future")
        try:
            is_in_loop = asyncio.get_running_loop() is self.asyncio_loop
        except RuntimeError:
            is_in_loop = False
        if is_in_loop:
            self.wait_for(future)
        else:
            self.asyncio_loop.call_soon_threadsafe(self.wait_for, future)

    def perform_substitution(self, substitution: _Substitution) -> str:
        """The text of a substitution in this context."""
        return substitution.perform(self)


# Whether an action runs.


class Condition:
    """A predicate over the launch context."""

    def __init__(self, *, predicate: Callable[[LaunchContext], bool] | None = None) -> None:
        self._predicate = predicate
        self._last: bool | None = None

    def describe(self) -> str:
        """The condition as a person would write it."""
        return f"{type(self).__name__}()"

    def evaluate(self, context: LaunchContext) -> bool:
        """Whether the condition holds now."""
        self._last = True if self._predicate is None else self._predicate(context)
        return self._last


# Text that is known only when the launch runs.


ParsedSubstitution = tuple[Callable[..., "Substitution"], dict[str, Any]]
"""What `$(name …)` stands for: a class, and the arguments to make it of."""


class Substitution:
    """Base of all substitutions: `perform` gives the text in a context."""

    def describe(self) -> str:
        """The substitution as a person would write it."""
        return f"{type(self).__name__}()"

    def perform(self, context: LaunchContext) -> str:
        """The text; subclasses say what it depends on."""
        raise NotImplementedError(f"{type(self).__name__} must implement perform(context)")


# What may stand where text is expected: text, a substitution, or a sequence of both.


SomeSubstitutionsType = str | Substitution | Iterable[str | Substitution]
SomeSubstitutionsType_types_tuple = (str, Substitution, Iterable)


# What a launch description is made of.


class DeclaredArgument(Protocol):
    """What is told of an argument of a launch file; `DeclareLaunchArgument`, which has it, is above this."""

    @property
    def name(self) -> str: ...

    @property
    def default_value(self) -> list[Substitution] | None: ...

    @property
    def description(self) -> str: ...

    @property
    def choices(self) -> list[str] | None: ...

    @property
    def condition(self) -> Condition | None: ...


DeclaredArguments = dict[str, tuple[DeclaredArgument, list["LaunchDescriptionEntity"]]]
"""Arguments by name, each with the chain of inclusions that leads to it."""


class LaunchDescriptionEntity:
    """Something the launch service visits: an action or a whole description."""

    def visit(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Do it now, and answer with entities to visit next."""
        return None

    def describe(self) -> str:
        """The entity as a person would write it."""
        raise NotImplementedError(f"{type(self).__name__} must implement describe()")

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """Entities this one may lead to, whatever happens."""
        return []

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """Entities this one may lead to, with the condition under which it does."""
        return []

    def find_declared_arguments(self, chain: list[LaunchDescriptionEntity], found: DeclaredArguments) -> bool:
        """Add the arguments declared here and below to `found`, unless they are there.

        `chain` is the inclusions on the way here. False where arguments declared after this, in the same
        list, no longer count.
        """
        find_in_order(self.describe_sub_entities(), chain, found)
        for _, conditional in self.describe_conditional_sub_entities():
            find_in_order(conditional, chain, found)
        return True

    def get_asyncio_future(self) -> asyncio.Future[Any] | None:
        """A future that is done when the entity is; None where visiting was all.

        The service is idle without any.
        """
        return None

    @property
    def condition(self) -> Condition | None:
        """Under which condition the entity is visited, if there is one."""
        return None


def find_in_order(
    entities: Iterable[LaunchDescriptionEntity],
    chain: list[LaunchDescriptionEntity],
    found: DeclaredArguments,
) -> None:
    """`find_declared_arguments` of each, until one ends the search."""
    for entity in entities:
        if not entity.find_declared_arguments(chain, found):
            return


class LaunchDescription(LaunchDescriptionEntity):
    """Entities visited in order."""

    def __init__(
        self,
        initial_entities: Iterable[LaunchDescriptionEntity] | None = None,
        *,
        deprecated_reason: str | None = None,
    ) -> None:
        self.entities = list(initial_entities) if initial_entities is not None else []
        self.deprecated_reason = deprecated_reason

    @property
    def deprecated(self) -> bool:
        """Whether the description warns when it is used."""
        return self.deprecated_reason is not None

    def visit(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        if self.deprecated_reason is not None:
            warnings.warn(f"this launch description is deprecated: {self.deprecated_reason}", stacklevel=2)
        return self.entities

    def describe(self) -> str:
        return f"{type(self).__name__}()"

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        return self.entities

    def add_entity(self, entity: LaunchDescriptionEntity) -> None:
        """Append an entity."""
        self.entities.append(entity)

    def add_action(self, action: LaunchDescriptionEntity) -> None:
        """Append an action."""
        self.entities.append(action)

    def get_launch_arguments(self, conditional_inclusion: bool = False) -> list[DeclaredArgument]:
        """The arguments declared here and in whatever is included, each name once, in order of
        declaration.
        """
        return [
            argument for argument, _ in self.get_launch_arguments_with_include_launch_description_actions()
        ]

    def get_launch_arguments_with_include_launch_description_actions(
        self, conditional_inclusion: bool = False
    ) -> list[tuple[DeclaredArgument, list[LaunchDescriptionEntity]]]:
        """Declared arguments, each with the chain of inclusions that leads to it."""
        found: DeclaredArguments = {}
        find_in_order(self.entities, [], found)
        return list(found.values())


# What may stand where entities are expected: one entity or several.


SomeEntitiesType = LaunchDescriptionEntity | Iterable[LaunchDescriptionEntity]
SomeEntitiesType_types_tuple = (LaunchDescriptionEntity, Iterable)
SomeActionsType = SomeEntitiesType
SomeActionsType_types_tuple = SomeEntitiesType_types_tuple


# What to do when an event happens.


class BaseEventHandler:
    """Matches events and answers with entities to visit."""

    def __init__(self, *, matcher: Callable[[Event], bool], handle_once: bool = False) -> None:
        self._matcher = matcher
        self.handle_once = handle_once
        self._handled = False

    @property
    def handler_description(self) -> str:
        """What the handler does, for a person."""
        return ""

    @property
    def matcher_description(self) -> str:
        """Which events the handler matches, for a person."""
        return ""

    def matches(self, event: Event) -> bool:
        """Whether the handler is for this event."""
        return not (self.handle_once and self._handled) and bool(self._matcher(event))

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        """The handler as a person would write it, and the entities it holds."""
        return f"{type(self).__name__}(matcher='{self.matcher_description}')", []

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Answer an event: entities to visit, or None."""
        if self.handle_once:
            self._handled = True
            context.unregister_event_handler(self)
        return None


class EventHandler(BaseEventHandler):
    """A handler that answers each matching event with fixed entities."""

    def __init__(
        self,
        *,
        matcher: Callable[[Event], bool],
        entities: SomeEntitiesType | None = None,
        handle_once: bool = False,
    ) -> None:
        super().__init__(matcher=matcher, handle_once=handle_once)
        self.entities = entities

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        if self.entities is None:
            return super().describe()[0], []
        held = self.entities
        return super().describe()[0], [held] if isinstance(held, LaunchDescriptionEntity) else list(held)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        super().handle(event, context)
        context.extend_locals({"event": event})
        return self.entities


# A launch file that cannot be used.


class InvalidLaunchFileError(Exception):
    """Says what each way of reading the file complained about."""

    def __init__(self, extension: str = "", *, likely_errors: Sequence[BaseException] = ()) -> None:
        super().__init__(extension)
        self.extension = extension
        self.likely_errors = list(likely_errors)

    def __str__(self) -> str:
        if not self.likely_errors:
            return "The launch file may have a syntax error, or its format is unknown"
        reasons = "\n".join(f"- {type(e).__name__}: {e}" for e in self.likely_errors)
        kind = self.extension or "launch file"
        return f"Caught multiple exceptions when trying to load file of format [{kind}]:\n {reasons}"


# Text that is known now.


class TextSubstitution(Substitution):
    """Always the same text."""

    def __init__(self, *, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"TextSubstitution expected 'text' of type str, got {type(text).__name__}")
        self.text = text

    def describe(self) -> str:
        return f"'{self.text}'"

    def perform(self, context: LaunchContext) -> str:
        return self.text
