"""WriterProcess: samples of a run on their way into a file, which another process writes."""

from __future__ import annotations

import logging
import mmap
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Lock
from typing import IO, Any

from fleet_sim.core.snapshot_board import SnapshotBoard
from fleet_sim.core.snapshot_taking import EntityRoster, GivenColors, KnownPaths, StateArrays, keep_paths
from fleet_sim.errors import FleetSimError
from fleet_sim.output import part_beside, refusals
from fleet_sim.record import bells, parcels, writer_program
from fleet_sim.record.mcap_file import open_part
from fleet_sim.record.ring import RingGiver
from fleet_sim.record.samples import SampleGiver
from fleet_sim.record.settings import PATH_PERIOD, RecordParams

logger = logging.getLogger(__name__)

RING = 16 << 20
"""Bytes of the ring: 120 samples of 1,000 robots, where everything changes. In a larger one, the run would write to new
memory for longer, which costs it three times as much."""
BATCH = 1 << 20
"""Bytes after which the other process is told: each time it is woken costs the run some µs."""
SOONEST = 0.1
"""In s of real time, after which it is told of fewer."""


class WriterProcess:
    """Gives samples to a process of its own, which makes messages and chunks of them; the run copies arrays only.

    `put` may be called by one thread, `finish` by any. `error` is what ended the writing before the end, `dropped` how
    many samples were left out. The process ends with this one, however this one ends, and writes what it was given.
    Raises InvalidValueError where the file cannot be begun.
    """

    def __init__(self, path: Path, params: RecordParams) -> None:
        self.error: FleetSimError | None = None
        self.dropped = 0
        self._path, self._part, self._params = path, part_beside(path), params
        # Guards all that follows.
        self._lock = Lock()
        self._over = False
        with open_part(path) as file:
            try:
                with refusals(path):
                    self._start(file.fileno())
            except BaseException:
                self._part.unlink(missing_ok=True)
                raise
        self._ring = RingGiver(self._memory)
        self._roster: EntityRoster | None = None
        self._colors: GivenColors | None = None
        self._samples = SampleGiver()
        self._paths: KnownPaths | None = None
        self._looked = -PATH_PERIOD
        self._told, self._told_at, self._asked = 0, 0.0, False

    def _start(self, file: int) -> None:
        """Start the process that writes, with the ring in shared memory and the file already open."""
        self._socket, theirs = socket.socketpair()
        with theirs, _anonymous_file() as memory:
            os.truncate(memory.fileno(), RING)
            # All of it at once, where the system can: the run is not to wait for each page of it.
            self._mapped = mmap.mmap(memory.fileno(), RING, mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))
            self._memory = memoryview(self._mapped)
            given = (theirs.fileno(), memory.fileno(), file)
            # Where this process finds its modules, the other one does. Not multiprocessing: it would run the user's
            # own program again, up to a guard that not every program has.
            names = (self._params.map_frame, self._params.namespace)
            program = (
                f"import sys; sys.path[:] = {sys.path!r}; from {writer_program.__name__} import main; main(sys.argv)"
            )
            self._process = subprocess.Popen(
                [sys.executable, "-c", program, *map(str, given), self._path, *names],
                pass_fds=given,
                stdin=subprocess.DEVNULL,
                # Ctrl-C is for this process, which then ends the recording.
                start_new_session=True,
                # It computes nothing that is worth a thread.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )

    # ---- giving ------------------------------------------------------------------------------------------------------

    def put(self, now: int, board: SnapshotBoard, orders: tuple[Any, ...] = ()) -> bool:
        """Give the state of this moment, of the time `now` in ns; return whether it was taken.

        Where there is no room, see `on_full`.
        """
        with self._lock:
            state, roster, colors = self._look(now, board)
            if roster is not self._roster:
                self._roster = roster
                self._give(roster)
                self._samples.start_anew()
            if colors is not self._colors:
                self._colors = colors
                self._give(colors)
            if orders:
                self._give(parcels.ChangedOrders(orders))
            taken = self._give_state(now, board, state)
            self.dropped += not taken and not self._over
            return taken

    def _look(self, now: int, board: SnapshotBoard) -> tuple[StateArrays, EntityRoster, GivenColors]:
        """Return what a sample is made of; paths are those of the last look at them, where that was a moment ago."""
        known = self._paths if now - self._looked < PATH_PERIOD else None
        state, roster, colors = board.look(known)
        if known is None or known.roster is not roster:
            self._paths, self._looked = keep_paths(state, roster), now
        return state, roster, colors

    def _give_state(self, now: int, board: SnapshotBoard, state: StateArrays) -> bool:
        """Give a sample to the writer; return False where there is no room and it may be left out."""
        waits, samples = self._params.on_full == "wait", self._samples
        length = samples.longest(state)
        if length > self._ring.longest:
            data = bytearray(length)
            length = samples.write(memoryview(data), now, board.tick, board.time, state, with_kernels=board.compiled)
            taken = self._give_bytes(parcels.SAMPLE, memoryview(data)[:length], waits=waits)
            if not taken:
                # The next one cannot build on it.
                samples.start_anew()
            return taken
        place = self._place(parcels.SAMPLE, length, waits=waits)
        if place is None:
            return False
        self._ring.shorten(samples.write(place, now, board.tick, board.time, state, with_kernels=board.compiled))
        self._commit()
        return True

    def give(self, parcel: object) -> None:
        """Give one of the objects of `parcels`; waits until there is room."""
        with self._lock:
            self._give(parcel)

    def _give(self, parcel: object) -> None:
        self._give_bytes(parcels.OBJECT, pickle.dumps(parcel, pickle.HIGHEST_PROTOCOL), waits=True)

    def _give_bytes(self, kind: int, data: bytes | memoryview, *, waits: bool) -> bool:
        """Give a record, in pieces where it is long."""
        size = self._ring.longest
        for begin in range(0, len(data), size):
            piece = data[begin : begin + size]
            is_last = begin + size >= len(data)
            # The rest of a record that was begun is waited for in any case.
            place = self._place(kind if is_last else parcels.PIECE, len(piece), waits=waits or begin > 0)
            if place is None:
                return False
            place[:] = piece
            self._commit()
        return True

    def _place(self, kind: int, length: int, *, waits: bool) -> memoryview | None:
        """Return room in the ring; None once the writer has ended, or where there is none and nobody `waits`."""
        while not self._over:
            place = self._ring.place(kind, length)
            if place is not None:
                return place
            self._tell(wait=waits)
            if not self._hear(wait=waits) and not waits:
                return None
        return None

    def _commit(self) -> None:
        self._ring.commit()
        if self._ring.head - self._told >= BATCH or time.monotonic() - self._told_at > SOONEST:
            # Asked for early, it has answered when there is no room any more.
            self._tell(wait=False)
            self._hear(wait=False)

    # ---- the other process -------------------------------------------------------------------------------------------

    def _tell(self, *, wait: bool, finish: bool = False) -> None:
        """Say up to where there are records; ask up to where they were taken, where that matters soon."""
        wish = bells.FINISH if finish else 0
        if self._ring.is_half_full and not self._asked:
            wish |= bells.ASK
        self._told, self._told_at = self._ring.head, time.monotonic()
        try:
            self._socket.sendall(bells.BELL.pack(self._ring.head, wish), 0 if wait else socket.MSG_DONTWAIT)
            self._asked = self._asked or bool(wish & bells.ASK)
        except BlockingIOError:
            # It has enough to do; the next bell says this, too.
            return
        except OSError:
            # What it said before it ended is still to be heard.
            self._hear(wait=True)

    def _hear(self, *, wait: bool) -> bool:
        """Take one answer, if there is one or `wait` says so; return whether there was."""
        if self._over:
            return False
        try:
            head = self._socket.recv(bells.ANSWER.size, socket.MSG_WAITALL if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            head = b""
        if len(head) < bells.ANSWER.size:
            code = self._process.wait()
            if self._part.exists() and not self._part.stat().st_size:
                self._part.unlink()
            self._fail(
                bells.WritingFailure(f"the process that writes has ended, with code {code}", "", self._part.exists())
            )
            return True
        kind, number = bells.ANSWER.unpack(head)
        if kind == bells.TAKEN:
            self._ring.tail, self._asked = number, False
        elif kind == bells.FAILED:
            self._fail(pickle.loads(self._socket.recv(number, socket.MSG_WAITALL)))
        else:
            self._over = True
        return True

    def _fail(self, failure: bells.WritingFailure) -> None:
        self._over = True
        self.error = FleetSimError(failure.reason)
        rest = f"; what was written so far is in {self._part}" if failure.kept else ""
        logger.error("the recording ends here, the run goes on: %s%s%s", failure.reason, rest, failure.traceback)

    def finish(self) -> None:
        """Return when all samples are written and the file has its name, or could not be written."""
        with self._lock:
            if not self._over:
                self._tell(wait=True, finish=True)
            while not self._over:
                self._hear(wait=True)
            self._process.wait()
            self._socket.close()
            self._memory.release()
            self._mapped.close()


def _anonymous_file() -> IO[bytes]:
    """Return an open file without a name, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("fleet_sim recording"), "w+b")
    return tempfile.TemporaryFile()
