"""Whether an action runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .launch_context import LaunchContext


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
