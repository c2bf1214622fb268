"""Text that is known now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..substitution import Substitution

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class TextSubstitution(Substitution):
    """Always the same text."""

    def __init__(self, *, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"TextSubstitution expected 'text' of type str, got {type(text).__name__}")
        self._text = text

    @property
    def text(self) -> str:
        """The text."""
        return self._text

    def describe(self) -> str:
        return f"'{self._text}'"

    def perform(self, context: LaunchContext) -> str:
        return self._text
