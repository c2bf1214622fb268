"""Filters and expectations on lines of output.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from ..text_match import build_line_match, build_text_match

_ANSI_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")


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


def remove_ansi_escape_sequences(text: str) -> str:
    """The text without the sequences by which terminals are told colors and the like."""
    return _ANSI_SEQUENCE.sub("", text)


def expect_output(
    text: str | None = None,
    *,
    lines: Iterable[str] | None = None,
    expected_text: Any = None,
    expected_lines: Any = None,
    strip_ansi_escape_sequences: bool = True,
    strict: bool = False,
) -> bool:
    """Whether output, given as text or lines, has what is expected.

    `expected_text` is what `build_text_match` takes, `expected_lines` what `build_line_match` takes, or an
    iterator; one that never ends does not match. Colors are removed from the output unless told otherwise.
    Raises ValueError where not just one of each two is given.
    """
    if (expected_text is None) == (expected_lines is None) or (text is None) == (lines is None):
        raise ValueError("give one of expected_text and expected_lines, and one of text and lines")
    output = text if text is not None else "\n".join(lines or [])
    if strip_ansi_escape_sequences:
        output = remove_ansi_escape_sequences(output)
    if expected_text is not None:
        return build_text_match(expected_text, strict=strict)(output) is not None
    found = output.splitlines()
    if isinstance(expected_lines, Iterable) and not isinstance(expected_lines, str):
        # One more than there are lines is enough to see that there are too many.
        expected_lines = list(islice(expected_lines, len(found) + 1))
    return build_line_match(expected_lines, strict=strict)(found) is not None
