"""The process that writes a recording: records of a ring into messages, and messages into chunks of a file.

It ends when it is told to finish the file, when the file cannot be written, and when the run has ended without a word:
then it writes what it was given and leaves the file unfinished, as a run that was killed does.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import signal
import socket
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet_sim.apps.record import samples
from fleet_sim.apps.record.message_types import McapFile
from fleet_sim.apps.record.samples import RecordedTopic, RingReceiver, Sample, SampleDecoder
from fleet_sim.apps.record.topics import TOPICS, files_of
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.files import exists
from fleet_sim.world.commands import Frames
from fleet_sim.world.joints import keep_freed_memory
from fleet_sim.world.snapshot import EntityRoster, GivenColors

if TYPE_CHECKING:
    from fleet_sim.apps.record.readings import ReadingWriter

NICENESS = 5
"""What runs beside it comes first where there are not enough processors: the run, and who plans for it. The ring keeps
what is not written yet."""
PATIENCE = 0.7
"""In s of real time, from a sample to the chunk it is in, unless more come in less time."""


class RecordWriter:
    """Writes records, in the order in which they were put."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        self._file = file
        self._topics: list[RecordedTopic] = [topic(file, frames) for topic in TOPICS]
        self._samples = SampleDecoder()
        self._readings: ReadingWriter | None = None
        self._begun = b""
        self._orders: tuple[Any, ...] = ()
        self._roster: EntityRoster
        self._colors: GivenColors
        self._known: EntityRoster | None = None
        self._files: set[str] = set()

    def write(self, kind: int, content: bytes) -> None:
        """Write one record."""
        if kind == samples.PIECE:
            self._begun += content
            return
        if self._begun:
            content, self._begun = self._begun + content, b""
        if kind == samples.SAMPLE:
            orders, self._orders = self._orders, ()
            self._write_sample(self._samples.read(content, self._roster, self._colors, orders))
        else:
            self._note(*pickle.loads(content))

    def _note(self, what: str, *given: Any) -> None:
        """Note what changes the meaning of later samples, and write the rest at once."""
        if what == "roster":
            (self._roster,) = given
        elif what == "colors":
            (self._colors,) = given
        elif what == "orders":
            # Those of samples that were left out, too.
            self._orders += given
        elif what in ("attach", "describe"):
            getattr(self._file, what)(*given)
        else:
            getattr(self._reading_writer(), what)(*given)

    def _reading_writer(self) -> ReadingWriter:
        if self._readings is None:
            # Loaded when there is something to read: sensors take longer to load than all else here.
            from fleet_sim.apps.record.readings import ReadingWriter

            self._readings = ReadingWriter(self._file)
        return self._readings

    def _write_sample(self, sample: Sample) -> None:
        if self._roster is not self._known:
            self._known = self._roster
            for name, content in files_of(self._roster.bodies, self._files):
                self._file.attach(name, "application/octet-stream", content)
            for topic in self._topics:
                topic.on_bodies_changed(sample)
        for topic in self._topics:
            topic.write(sample)


class WriterProgram:
    """Waits for signals, and has the records written that they announce."""

    def __init__(self, talk: socket.socket, memory: memoryview, file: McapFile, frames: Frames) -> None:
        self._talk, self._ring, self._file = talk, RingReceiver(memory), file
        self._writer = RecordWriter(file, frames)
        self._flushed_at = time.monotonic()

    def run(self) -> None:
        """Write until there is nothing more to come; return whether the file is whole."""
        while True:
            head, wish = self._wait()
            if head is None:
                # The other process has ended, so that what it wrote last is visible.
                self._take(self._ring.last_head, 0)
                self._file.flush()
                return
            self._take(head, wish)
            if wish & samples.FINISH:
                self._file.finish()
                self._talk.sendall(samples.ANSWER.pack(samples.FINISHED, 0))
                return
            if time.monotonic() - self._flushed_at > PATIENCE:
                self._file.flush()
                self._flushed_at = time.monotonic()

    def _wait(self) -> tuple[int | None, int]:
        """Return up to where there are records, None when there will be no more, and what is wished for."""
        self._talk.settimeout(max(0.0, self._flushed_at + PATIENCE - time.monotonic()) + 0.001)
        try:
            signal = self._talk.recv(samples.SIGNAL.size, socket.MSG_WAITALL)
        except TimeoutError:
            # Long written, so visible here: the last few samples before a pause, of which it was not told.
            return self._ring.last_head, 0
        finally:
            self._talk.settimeout(None)
        if len(signal) < samples.SIGNAL.size:
            return None, 0
        head, wish = samples.SIGNAL.unpack(signal)
        return head, wish

    def _take(self, head: int, wish: int) -> None:
        """Write all up to `head` in the ring; who waits for room is told as soon as half of it is free."""
        asked = bool(wish & samples.ASK)
        for kind, content in self._ring.take(head):
            if asked and self._ring.leaves_half(head):
                self._answer_taken()
                asked = False
            self._writer.write(kind, content)
        if asked:
            self._answer_taken()

    def _answer_taken(self) -> None:
        self._talk.sendall(samples.ANSWER.pack(samples.TAKEN, self._ring.tail))

    def fail(self, error: Exception) -> None:
        """Say why there is no more; what is whole of the file stays, unless the system lets nobody write any more."""
        with contextlib.suppress(FleetSimError):
            # Of a full disk nothing is left: others need the room.
            self._file.abandon(kept=not isinstance(error.__cause__, OSError))
        known = isinstance(error, FleetSimError)
        reason = str(error) if known else f"recording: {error!r}"
        rest = "" if known else "\n" + "".join(traceback.format_exception(error))
        failure = pickle.dumps((reason, rest, exists(self._file.part)))
        # Nobody may be there to hear it.
        with contextlib.suppress(OSError):
            self._talk.sendall(samples.ANSWER.pack(samples.FAILED, len(failure)) + failure)


def main(arguments: Sequence[str]) -> None:
    """Write the recording; `arguments` are numbers of the socket, the memory and the file, and the recording's own."""
    # Whoever ends the run ends this process by it; it is not to end before it has written what it was given.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICENESS)
    keep_freed_memory()
    talk, memory, file = map(int, arguments[1:4])
    path, map_frame, namespace = arguments[4:]
    with socket.socket(fileno=talk) as connection, mmap.mmap(memory, 0) as mapped:
        os.close(memory)
        frames = Frames(map_frame, namespace)
        program = WriterProgram(
            connection, memoryview(mapped), McapFile(Path(path), stream=os.fdopen(file, "wb")), frames
        )
        try:
            program.run()
        except Exception as error:
            # Whatever it is, the run goes on, and who closes the recording is told.
            program.fail(error)
        # Not the interpreter's own end: views of the memory are still there.
        os._exit(0)
