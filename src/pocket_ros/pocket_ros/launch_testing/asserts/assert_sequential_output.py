"""What a process wrote, in order.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..util.proc_lookup import CommandArguments, ProcessChoice, RecordedOutput, resolveProcesses


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
