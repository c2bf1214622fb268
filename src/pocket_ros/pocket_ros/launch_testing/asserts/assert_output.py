"""What processes wrote.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..text_match import Expected, build_text_match
from ..util.proc_lookup import CommandArguments, ProcessChoice, RecordedOutput, name_of, resolveProcesses

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
