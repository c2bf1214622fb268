"""What the engine prints, as lines of our log instead of text between the output of programs."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger("fleet_sim.bullet")

STDOUT, STDERR = 1, 2
_BUILD_TIME = re.compile(rb"pybullet build time: [^\n]*\n")
_MOST_KNOWN = 1000
"""Messages that are remembered, so that a robot spawned a thousand times is complained about once."""
# As in `b3Warning[folder/file.cpp,126]:` and a line break; the message itself may end without one.
_LABEL = re.compile(r"b3(Printf|Warning|Error)(?:\[[^\]]*\])?:\s*")
_LEVELS = {"Printf": logging.DEBUG, "Warning": logging.WARNING, "Error": logging.ERROR}
_known: set[str] = set()


@contextmanager
def logged() -> Iterator[None]:
    """Log what the engine prints inside the block, each message once; warnings and errors of the engine as such.

    It prints to standard output, of which a process has one: the block should be one call into the engine, as what
    another thread prints there behind a message of the engine is taken for a part of it. Standard error is left alone.
    """
    with _filtered(STDOUT, _take_messages):
        yield


@contextmanager
def import_of_engine() -> Iterator[None]:
    """Leave out what the engine prints to standard error when it is imported: when it was built."""
    with _filtered(STDERR, lambda content: _BUILD_TIME.sub(b"", content)):
        yield


def _take_messages(content: bytes) -> bytes:
    """Log the messages of the engine, which it labels, and return what stands before them."""
    text = content.decode(errors="surrogateescape")
    label = _LABEL.search(text)
    others = text if label is None else text[: label.start()]
    _log(text[len(others) :])
    return others.encode(errors="surrogateescape")


@contextmanager
def _filtered(number: int, kept: Callable[[bytes], bytes]) -> Iterator[None]:
    """Hold back what the process writes to its output `number` in the block, also from C, and write what is `kept`.

    All buffers are flushed at both ends, so that no text ends up on the wrong side.
    """
    if os.name != "posix":
        yield
        return
    flush = ctypes.CDLL(None).fflush
    stream = {STDOUT: sys.stdout, STDERR: sys.stderr}[number]
    # None where a program has no console.
    if stream is not None:
        stream.flush()
    # libc has a buffer of its own: what is in it belongs to the old output.
    flush(None)
    with tempfile.TemporaryFile() as target:
        saved = os.dup(number)
        try:
            os.dup2(target.fileno(), number)
            yield
        finally:
            flush(None)
            os.dup2(saved, number)
            os.close(saved)
            target.seek(0)
            content = kept(target.read())
            # A closed output is none of the engine's concern.
            with contextlib.suppress(OSError), open(number, "wb", closefd=False) as output:
                output.write(content)


def _log(text: str) -> None:
    for level, message in messages_of(text):
        if message not in _known and len(_known) < _MOST_KNOWN:
            _known.add(message)
            log.log(level, "PyBullet: %s", message)


def messages_of(text: str) -> list[tuple[int, str]]:
    """Return the messages in `text`, which begins with a label, with their levels."""
    _, *labelled = _LABEL.split(text)
    found = list[tuple[int, str]]()
    for label, lines in zip(labelled[::2], labelled[1::2], strict=True):
        words = lines.split()
        if len(words) == 1 and found:
            # The engine reports the name of the link that it complains about as a warning of its own.
            level, before = found.pop()
            found.append((level, f"{before}: {words[0]}"))
        elif words:
            found.append((_LEVELS[label], " ".join(words)))
    return found
