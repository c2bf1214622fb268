"""Filters and expectations on lines of output.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from ..text_match import build_text_match


def get_default_filtered_prefixes() -> list[str]:
    """What lines begin with that are not looked at: those on process ids and return codes."""
    return ["pid", "rc"]


def get_default_filtered_patterns() -> list[str]:
    """Patterns of lines that are not looked at: none."""
    return []


def basic_output_filter(
    filtered_prefixes: Iterable[str] | None = None, filtered_patterns: Iterable[str] | None = None
) -> Callable[[str], str]:
    """A filter that removes lines with one of the prefixes and lines that match one of the patterns."""
    if filtered_prefixes is None:
        filtered_prefixes = get_default_filtered_prefixes()
    prefixes = tuple(filtered_prefixes)
    chosen = get_default_filtered_patterns() if filtered_patterns is None else filtered_patterns
    patterns = [re.compile(pattern) for pattern in chosen]

    def keep(line: str) -> bool:
        return not line.startswith(prefixes) and not any(pattern.match(line) for pattern in patterns)

    return lambda output: "".join(line for line in output.splitlines(keepends=True) if keep(line))


def expected_output_from_file(path: str, encoding: str = "utf-8") -> Any:
    """Expected output in a file: `<path>.regex` holds a pattern a line, `<path>.txt` plain lines.

    Raises RuntimeError when there is neither.
    """
    if os.path.isfile(f"{path}.regex"):
        with open(f"{path}.regex", encoding=encoding) as stream:
            return [re.compile(line.rstrip("\n")) for line in stream]
    if os.path.isfile(f"{path}.txt"):
        with open(f"{path}.txt", encoding=encoding) as stream:
            return stream.read().splitlines()
    raise RuntimeError(f"could not find {path}.regex or {path}.txt")


def expect_output(
    text: str | None = None,
    *,
    expected_text: Any = None,
    expected_lines: Iterable[Any] | None = None,
    lines: Iterable[str] | None = None,
    strict: bool = False,
) -> bool:
    """Whether output, given as text or lines, has what is expected, given as text or as lines in order.

    Lines may come from iterators; more expected lines than there are, and so an iterator that never ends, do
    not match. Raises ValueError where not just one of each two is given.
    """
    if (expected_text is None) == (expected_lines is None) or (text is None) == (lines is None):
        raise ValueError("give one of expected_text and expected_lines, and one of text and lines")
    output = text if text is not None else "\n".join(lines or [])
    expected = expected_text
    if expected_lines is not None:
        # One more than there are lines is enough to see that there are too many.
        expected = list(islice(expected_lines, output.count("\n") + 2))
    return build_text_match(expected, strict=strict)(output) is not None
