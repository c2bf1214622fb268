"""Assertions about output and exit codes.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from ...places import offer_places
from ..util import (
    NO_CMD_ARGS,
    CommandArguments,
    ProcessChoice,
    RecordedEnds,
    RecordedOutput,
    name_of,
    resolveProcesses,
)

# Search text for what a test expects.


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


# How processes ended. PYTEST_DONT_REWRITE


EXIT_OK = 0
EXIT_SIGINT = 130
EXIT_SIGQUIT = 131
EXIT_SIGKILL = 137
EXIT_SIGSEGV = 139
EXIT_FORCED = 1


def assertExitCodes(
    proc_info: RecordedEnds,
    allowable_exit_codes: Sequence[int] = (EXIT_OK,),
    process: ProcessChoice = None,
    cmd_args: CommandArguments = None,
    *,
    strict_proc_matching: bool = True,
) -> None:
    """Assert that processes, all of them unless one is named, ended with one of the codes.

    A process that a signal ended has the negative number of the signal.
    """
    for code in allowable_exit_codes:
        if not isinstance(code, int):
            raise AssertionError(f"Provided exit code {code!r} is not an int")
    chosen = resolveProcesses(
        proc_info, process=process, cmd_args=cmd_args, strict_proc_matching=strict_proc_matching
    )
    for action in chosen:
        event = proc_info[action]
        if not hasattr(event, "returncode"):
            raise AssertionError(f"Proc {event.process_name} has not exited")
        if event.returncode not in allowable_exit_codes:
            raise AssertionError(f"Proc {event.process_name} exited with code {event.returncode}")


# What processes wrote. PYTEST_DONT_REWRITE


_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")


def assertInStream(
    proc_output: RecordedOutput,
    expected_output: Expected,
    process: ProcessChoice,
    cmd_args: CommandArguments = None,
    *,
    output_filter: Callable[[str], str] | None = None,
    strict_proc_matching: bool = True,
    strip_ansi_escape_sequences: bool = True,
    stream: str = "stderr",
) -> None:
    """Assert that a process wrote the text, or what a compiled pattern or a list of both matches in order.

    `process` is an action, part of a name, or None for any process.
    """
    if stream not in ("stdout", "stderr"):
        raise ValueError(f"Invalid value for stream; must be 'stdout' or 'stderr', got {stream!r}")
    if output_filter is not None and not callable(output_filter):
        raise ValueError("output_filter is not callable")
    chosen = resolveProcesses(
        proc_output, process=process, cmd_args=cmd_args, strict_proc_matching=strict_proc_matching
    )
    match = build_text_match(expected_output)
    for action in chosen:
        pieces = [io.text for io in proc_output[action] if io.fd == (1 if stream == "stdout" else 2)]
        text = b"".join(pieces).decode(errors="replace")
        if strip_ansi_escape_sequences:
            text = _ANSI.sub("", text)
        if output_filter is not None:
            text = output_filter(text)
        if match(text) is not None:
            return
    names = ", ".join(sorted(name_of(action) for action in chosen))
    raise AssertionError(
        f"Did not find '{expected_output}' in {stream} of any of the matching processes: {names}"
    )


def assertDefaultStream() -> str:
    """The stream that `assertInStream` looks at unless told otherwise."""
    return "stderr"


def assertInStdout(
    proc_output: RecordedOutput,
    expected_output: Expected,
    process: ProcessChoice,
    cmd_args: CommandArguments = None,
    **options: Any,
) -> None:
    """`assertInStream` on standard output."""
    assertInStream(proc_output, expected_output, process, cmd_args, stream="stdout", **options)


def assertInStderr(
    proc_output: RecordedOutput,
    expected_output: Expected,
    process: ProcessChoice,
    cmd_args: CommandArguments = None,
    **options: Any,
) -> None:
    """`assertInStream` on standard error."""
    assertInStream(proc_output, expected_output, process, cmd_args, stream="stderr", **options)


# What a process wrote, in order. PYTEST_DONT_REWRITE


class SequentialTextChecker:
    """Finds texts one after the other: each is looked for behind the end of the one before.

    The output is one text: several may be in one line, and one may go over the end of a line.
    """

    def __init__(self, output: list[str]) -> None:
        self._text = "".join(output)
        self._next = 0

    def assertInText(self, msg: str) -> None:
        """Fail unless the text comes from here on."""
        found = self._text.find(msg, self._next)
        if found < 0:
            passed = self._text.count("\n", 0, self._next)
            raise AssertionError(
                f"Did not find {msg!r} in line {passed + 1} or behind it; the output there is:\n"
                f"{self.get_nearby_lines()}"
            )
        self._next = found + len(msg)

    def get_nearby_lines(self) -> str:
        """The lines around the place from which the next text is looked for."""
        passed = self._text.count("\n", 0, self._next)
        return "\n".join(self._text.splitlines()[max(0, passed - 2) : passed + 5])

    def assertInStdout(self, msg: str) -> None:
        """`assertInText`."""
        self.assertInText(msg)


@contextmanager
def assertSequentialStdout(
    proc_output: RecordedOutput, process: ProcessChoice, cmd_args: CommandArguments = None
) -> Iterator[SequentialTextChecker]:
    """A SequentialTextChecker on the standard output of one process."""
    action = resolveProcesses(proc_output, process=process, cmd_args=cmd_args)[0]
    pieces = b"".join(io.text for io in proc_output[action] if io.from_stdout)
    yield SequentialTextChecker([pieces.decode(errors="replace")])


__all__ = [
    "EXIT_OK",
    "EXIT_SIGINT",
    "EXIT_SIGKILL",
    "EXIT_SIGQUIT",
    "EXIT_SIGSEGV",
    "NO_CMD_ARGS",
    "SequentialTextChecker",
    "assertDefaultStream",
    "assertExitCodes",
    "assertInStderr",
    "assertInStdout",
    "assertInStream",
    "assertSequentialStdout",
]

offer_places(__name__)
