"""What a process wrote, in order.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..util.proc_lookup import resolveProcesses


class SequentialTextChecker:
    """Finds texts one after the other: each is looked for behind the one before."""

    def __init__(self, output: list[str]) -> None:
        self._lines = "".join(output).splitlines()
        self._next = 0

    def assertInText(self, msg: str) -> None:
        """Fail unless a line from here on has the text."""
        for number in range(self._next, len(self._lines)):
            if msg in self._lines[number]:
                self._next = number + 1
                return
        near = "\n".join(self._lines[max(0, self._next - 2) : self._next + 5])
        raise AssertionError(
            f"Did not find '{msg}' behind line {self._next} of the output; there was:\n{near}"
        )

    def assertInStdout(self, msg: str) -> None:
        """`assertInText`."""
        self.assertInText(msg)


@contextmanager
def assertSequentialStdout(
    proc_output: Any, process: Any, cmd_args: Any = None
) -> Iterator[SequentialTextChecker]:
    """A SequentialTextChecker on the standard output of one process."""
    action = resolveProcesses(proc_output, process=process, cmd_args=cmd_args)[0]
    pieces = b"".join(io.text for io in proc_output[action] if io.from_stdout)
    yield SequentialTextChecker([pieces.decode(errors="replace")])
