"""Search text for what a test expects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Match = Callable[[str], tuple[int, int] | None]


def build_text_match(expected: Any, *, strict: bool = False) -> Match:
    """A function from a text to where the expectation is in it, None where it is not.

    The expectation is text, a compiled pattern, or a list of both that must follow one another. `strict`
    asks that nothing else be in the text. Raises TypeError for anything else.
    """
    if isinstance(expected, list | tuple):
        return _sequence_match(list(expected), strict)
    if isinstance(expected, str):
        pattern = re.compile(re.escape(expected))
    elif isinstance(expected, re.Pattern):
        pattern = expected
    else:
        raise TypeError(f"expected text, a compiled pattern or a list of both, got {type(expected).__name__}")

    def match(text: str) -> tuple[int, int] | None:
        found = pattern.fullmatch(text) if strict else pattern.search(text)
        return None if found is None else found.span()

    return match


def _sequence_match(expected: list[Any], strict: bool) -> Match:
    matches = [build_text_match(item) for item in expected]

    def match(text: str) -> tuple[int, int] | None:
        start: int | None = None
        end = 0
        for one in matches:
            found = one(text[end:])
            if found is None or (strict and text[end : end + found[0]].strip()):
                return None
            start = end + found[0] if start is None else start
            end += found[1]
        if strict and text[end:].strip():
            return None
        return (start or 0, end)

    return match
