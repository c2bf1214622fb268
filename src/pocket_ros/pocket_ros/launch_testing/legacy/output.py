"""What output is tested for: lines or patterns that have to be in it, as bytes.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...ament_index_python import get_resource, has_resource

OutputTest = tuple[bytes, Callable[[bytes, bytes], bytes], Callable[[bytes, Any], bool], Sequence[Any]]
"""What is collected so far, how more is added, whether an expectation is met, and the expectations."""


def get_default_filtered_prefixes() -> list[bytes]:
    """What lines begin with that are not looked at: those on process ids and return codes."""
    return [b"pid", b"rc"]


def get_default_filtered_patterns() -> list[bytes]:
    """Patterns of lines that are not looked at: none."""
    return []


def get_rmw_output_filter(rmw_implementation: str, filter_type: str) -> list[bytes]:
    """Prefixes or patterns of lines that a middleware writes, from the ament index.

    Raises TypeError for a filter type that is neither "prefixes" nor "patterns".
    """
    if filter_type not in ("prefixes", "patterns"):
        raise TypeError(f"filter_type is {filter_type!r}; it can be 'prefixes' or 'patterns'")
    kind = f"rmw_output_{filter_type}"
    if not has_resource(kind, rmw_implementation):
        return []
    return [line.encode() for line in get_resource(kind, rmw_implementation)[0].splitlines()]


def create_output_lines_filter(
    filtered_prefixes: Iterable[bytes] | None = None,
    filtered_patterns: Iterable[bytes] | None = None,
    filtered_rmw_implementation: str | None = None,
) -> Callable[[bytes], bytes]:
    """A filter that removes lines with one of the prefixes and lines that match one of the patterns."""
    prefixes = list(filtered_prefixes or get_default_filtered_prefixes())
    patterns = list(filtered_patterns or get_default_filtered_patterns())
    if filtered_rmw_implementation:
        prefixes += get_rmw_output_filter(filtered_rmw_implementation, "prefixes")
        patterns += get_rmw_output_filter(filtered_rmw_implementation, "patterns")
    compiled = [re.compile(pattern) for pattern in patterns]

    def keep(line: bytes) -> bool:
        return not line.startswith(tuple(prefixes)) and not any(pattern.match(line) for pattern in compiled)

    return lambda output: b"".join(line for line in output.splitlines(keepends=True) if keep(line))


def create_output_lines_test(expected_lines: Sequence[bytes]) -> OutputTest:
    """A test for lines that contain each of these."""

    def matches(output: bytes, expected: bytes) -> bool:
        return any(expected in line for line in output.splitlines())

    return b"", bytes.__add__, matches, expected_lines


def create_output_regex_test(expected_patterns: Sequence[re.Pattern[bytes]]) -> OutputTest:
    """A test for output in which each of these is found."""

    def matches(output: bytes, expected: re.Pattern[bytes]) -> bool:
        return expected.search(output) is not None

    return b"", bytes.__add__, matches, expected_patterns


def create_output_test_from_file(output_file: str) -> OutputTest:
    """A test for the lines in `<output_file>.txt`, or else for the patterns in `<output_file>.regex`.

    Raises RuntimeError when there is neither.
    """
    if os.path.isfile(f"{output_file}.txt"):
        with open(f"{output_file}.txt", "rb") as stream:
            return create_output_lines_test(stream.read().splitlines())
    if os.path.isfile(f"{output_file}.regex"):
        with open(f"{output_file}.regex", "rb") as stream:
            return create_output_regex_test([re.compile(line) for line in stream.read().splitlines()])
    raise RuntimeError(f"could not find {output_file}.txt or {output_file}.regex")
