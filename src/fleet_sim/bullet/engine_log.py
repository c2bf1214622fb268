"""What the engine prints, as lines of our log instead of text between the output of programs."""

from __future__ import annotations

import ctypes
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

log = logging.getLogger("fleet_sim.bullet")

_MOST_KNOWN = 1000
"""Messages that are remembered, so that a robot spawned a thousand times is complained about once."""
# As in `b3Warning[folder/file.cpp,126]:` and a line break; the message itself may end without one.
_LABEL = re.compile(r"b3(Printf|Warning|Error)(?:\[[^\]]*\])?:\s*")
_LEVELS = {"Printf": logging.DEBUG, "Warning": logging.WARNING, "Error": logging.ERROR}
_known: set[str] = set()


@contextmanager
def logged() -> Iterator[None]:
    """Log what C code prints inside the block, each message once; warnings and errors of the engine as such.

    The process has one standard output, so the block should be one call into the engine: what another thread prints at
    the same moment would be logged, too.
    """
    if os.name != "posix":
        yield
        return
    with tempfile.TemporaryFile() as caught:
        try:
            with _redirected(caught):
                yield
        finally:
            caught.seek(0)
            _log(caught.read().decode(errors="replace"))


@contextmanager
def _redirected(target: IO[bytes]) -> Iterator[None]:
    """Send what the process writes to its outputs 1 and 2, also from C, to the file `target` while the context is open.

    All buffers are flushed at both ends, so that no text ends up on the wrong side.
    """
    flush = ctypes.CDLL(None).fflush
    for stream in (sys.stdout, sys.stderr):
        # None where a program has no console.
        if stream is not None:
            stream.flush()
    # libc has a buffer of its own: what is in it belongs to the old output.
    flush(None)
    saved = [os.dup(number) for number in (1, 2)]
    try:
        for number in (1, 2):
            os.dup2(target.fileno(), number)
        yield
    finally:
        flush(None)
        for number, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, number)
            os.close(copy)


def _log(text: str) -> None:
    for level, message in messages_of(text):
        if message not in _known and len(_known) < _MOST_KNOWN:
            _known.add(message)
            log.log(level, "PyBullet: %s", message)


def messages_of(text: str) -> list[tuple[int, str]]:
    """Return the messages in `text` with their levels; what has no label is for debugging."""
    first, *labelled = _LABEL.split(text)
    found = [(logging.DEBUG, line) for line in first.splitlines() if line.strip()]
    for label, lines in zip(labelled[::2], labelled[1::2], strict=True):
        words = lines.split()
        if len(words) == 1 and found:
            # The engine reports the name of the link that it complains about as a warning of its own.
            level, before = found.pop()
            found.append((level, f"{before}: {words[0]}"))
        elif words:
            found.append((_LEVELS[label], " ".join(words)))
    return found
