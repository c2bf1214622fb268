"""Search text for what a test expects."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

Match = Callable[..., tuple[int, int] | None]
"""Takes a text, or lines, and where to begin; gives where the expectation begins and ends."""

Expected: TypeAlias = "str | re.Pattern[str] | Iterable[Expected]"
"""Text, a compiled pattern, or several of both that must follow one another."""


def normalize_lineseps(lines: str) -> str:
    """The text with a line feed alone at the end of each line, as terminals do not have it."""
    return lines.replace(os.linesep, "\n").replace("\r\n", "\n")


def build_line_match(expected_lines: Expected, *, strict: bool = False) -> Match:
    """A function from lines to where the expected ones are among them, None where they are not.

    A line is expected by text in it, by a compiled pattern from its start, or they are a list of both, or of
    such lists, that must follow one another. `strict` asks that nothing else be between, in front or, of a
    single line, behind. Raises TypeError for anything else.
    """
    if isinstance(expected_lines, Iterable) and not isinstance(expected_lines, str):
        return _line_sequence_match([build_line_match(line) for line in expected_lines], strict)
    holds = _holds(expected_lines, strict)

    def match(lines: Sequence[str], start: int = 0) -> tuple[int, int] | None:
        if strict:
            return (start, len(lines)) if all(map(holds, lines[start:])) else None
        return next(((i, i + 1) for i in range(start, len(lines)) if holds(lines[i])), None)

    return match


def _holds(expected: object, strict: bool) -> Callable[[str], bool]:
    if isinstance(expected, str):
        return lambda line: line == expected if strict else expected in line
    if isinstance(expected, re.Pattern):
        return lambda line: expected.match(line) is not None
    raise TypeError(f"expected text or a compiled pattern, got {type(expected).__name__}")


def _line_sequence_match(matches: list[Match], strict: bool) -> Match:
    def match(lines: Sequence[str], start: int = 0) -> tuple[int, int] | None:
        first, end = start, start
        for number, one in enumerate(matches):
            found = one(lines, end)
            if found is None or (strict and found[0] != end):
                return None
            first = found[0] if number == 0 else first
            end = found[1]
        return first, end

    return match


def build_text_match(expected: Expected, *, strict: bool = False) -> Match:
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

    def match(text: str, start: int = 0) -> tuple[int, int] | None:
        found = pattern.fullmatch(text, start) if strict else pattern.search(text, start)
        return None if found is None else found.span()

    return match


def _sequence_match(expected: list[Expected], strict: bool) -> Match:
    matches = [build_text_match(item) for item in expected]

    def match(text: str, start: int = 0) -> tuple[int, int] | None:
        first, end = start, start
        for number, one in enumerate(matches):
            found = one(text, end)
            if found is None or (strict and text[end : found[0]].strip()):
                return None
            first = found[0] if number == 0 else first
            end = found[1]
        if strict and text[end:].strip():
            return None
        return first, end

    return match
