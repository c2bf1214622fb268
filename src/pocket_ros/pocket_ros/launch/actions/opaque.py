"""Python functions as actions."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..action import Action
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_entities_type import SomeEntitiesType
from ..utilities import normalize_to_list_of_entities

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


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
        from ..event_handlers.on_shutdown import OnShutdown

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
