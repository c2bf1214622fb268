"""The state a launch has while it runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from .event import Event


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
