"""Text that is known only when the launch runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .launch_context import LaunchContext

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
