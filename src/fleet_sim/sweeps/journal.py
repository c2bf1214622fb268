"""The journal of a sweep: a line of JSON for each run that ended, in the order in which they end.

It is what a sweep goes on from: a line is written as soon as a run has ended, and a line that was cut off is not there.
Any other line that is not as it was written is refused.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO
from zlib import crc32

from fleet_sim.errors import ConfigError
from fleet_sim.output import refusals
from fleet_sim.parallel import Ended
from fleet_sim.sweeps.plan import SweepPlan

MISSING = -1


SEAL = ', "crc": '
"""What a line ends with is a sum over the rest of it, so that one that was changed is no result."""


def _sealed(text: str) -> str:
    return f"{text[:-1]}{SEAL}{crc32(text.encode())}}}"


def _check_seal(line: bytes) -> None:
    """Raise ValueError for a line that is not as it was written."""
    rest, mark, seal = line.decode().rstrip("\n").rpartition(SEAL)
    if not mark or seal != f"{crc32((rest + '}').encode())}}}":
        raise ValueError("it was changed or damaged")


class SweepJournal:
    """The journal of `plan` in the file `path`: a new one, or with `resume` the one that is there. A context manager.

    Raises ConfigError for the journal of another sweep, and where there is one and `resume` was not asked for.
    """

    def __init__(self, path: str | Path, plan: SweepPlan, *, resume: bool) -> None:
        self.path = Path(path)
        self._plan = plan
        # Where the line of each run is: eight bytes, however much was measured in it.
        self._file: BinaryIO | None = None
        # An array of numbers: a sweep may have millions of runs.
        self._places = array("q", [MISSING]) * len(plan)
        self.known = 0
        self.failed = 0
        self.deaths = 0
        self.seconds = 0.0
        """Real time of all runs together."""

        try:
            self._open(resume=resume)
        except BaseException:
            self.close()
            raise

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self._places[number] != MISSING

    def _open(self, *, resume: bool) -> None:
        """Open the journal, cut off behind its last whole line; raises ConfigError where it must not be resumed."""
        # What the sweep varies and measures: another one must not go on here.
        head = json.dumps({"sweep": self._plan.fingerprint()})
        if self.path.exists() and self.path.stat().st_size and not resume:
            raise ConfigError(
                "there are results of an earlier sweep; go on with --resume, or remove it", source=str(self.path)
            )
        with refusals(self.path):
            file = self._file = self.path.open("ab+")
            end = self._read(file, head) if resume else 0
            # A line that was cut off is written again.
            file.truncate(end)
            file.seek(end)
            if not end:
                self._write(head)

    def _read(self, file: BinaryIO, head: str) -> int:
        """Read the lines that there are; return where the last whole one ends."""
        file.seek(0)
        end = 0
        for index, line in enumerate(file):
            if not line.endswith(b"\n"):
                break
            try:
                content = json.loads(line)
                # The first line has no seal: it is compared with what it should be.
                if index:
                    _check_seal(line)
                    self._count(content, end)
            except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
                message = f"line {index + 1} is none of a sweep: {error}; remove the file to begin anew"
                raise ConfigError(message, source=str(self.path)) from error
            if not index and content != json.loads(head):
                raise ConfigError("holds results of another sweep; remove it to begin anew", source=str(self.path))
            end += len(line)
        return end

    def add(self, ended: Ended) -> None:
        """Write how a run ended. One that is there already is not counted twice."""
        if ended.number in self:
            return
        content: dict[str, Any] = {"run": ended.number, "s": round(ended.seconds, 4)}
        content |= {"error": ended.error, "trace": ended.trace} if ended.error else {"values": ended.value}
        content |= {"deaths": ended.deaths} if ended.deaths else {}
        with refusals(self.path):
            place = self._write(_sealed(json.dumps(content, allow_nan=False)))
        self._count(content, place)

    def _write(self, line: str) -> int:
        """Write a line and return where it begins."""
        assert self._file is not None
        place = self._file.tell()
        self._file.write(line.encode() + b"\n")
        # The system has it now: the end of this process loses nothing.
        self._file.flush()
        return place

    def _count(self, content: dict[str, Any], place: int) -> None:
        """Take in the line of one run, which stands at `place`; raises for what no sweep writes."""
        number = content["run"]
        if type(number) is not int or not 0 <= number < len(self._places):
            raise IndexError(f"there is no run {number!r}")
        if not isinstance(content.get("values", {}), dict):
            raise TypeError("values by name are missing")
        # A run that was begun twice may have two lines; the first one counts.
        if self._places[number] == MISSING:
            self.known += 1
            self.failed += "error" in content
            self.deaths += content.get("deaths", 0)
            self.seconds += content["s"]
            self._places[number] = place

    def entries(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number and the line of each run that ended, by number."""
        with self.path.open("rb") as file:
            for number, place in enumerate(self._places):
                if place != MISSING:
                    file.seek(place)
                    yield number, json.loads(file.readline())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            # Every line was flushed, or reported as refused. Closing tries once more to write the rest of such a line.
            with suppress(OSError):
                self._file.close()

    def __enter__(self) -> SweepJournal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
