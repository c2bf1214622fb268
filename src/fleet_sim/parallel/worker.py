"""The inside of a worker: takes jobs and returns how they ended, whatever they raise."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from fleet_sim.errors import FleetSimError
from fleet_sim.parallel.executor import Answer, Begin, Perform

READY = "ready"
"""What a worker says when it can do its first job."""


def answer_of(perform: Perform, content: Any) -> Answer:
    """Return what comes of a job."""
    try:
        return Answer(perform(content))
    # Whatever code of users raises belongs to this job alone.
    except Exception as error:
        return failure(error)


def begun(begin: bytes) -> Perform:
    """Return what does the jobs of a worker, from a pickled Begin; where it cannot be made, each job fails for that."""
    try:
        made: Begin = pickle.loads(begin)
        return made()
    # The same code of users is behind it as behind the jobs.
    except Exception as error:
        # A copy, as Python forgets `error` at the end of this block.
        reason = error

    def refuse(content: Any) -> Any:
        raise reason

    return refuse


def failure(error: BaseException) -> Answer:
    """Return the answer of a job that raised `error`."""
    # Our own errors tell what was wrong; of others the kind is needed, too.
    text = str(error) if isinstance(error, FleetSimError) else f"{type(error).__name__}: {error}"
    return Answer(error=" ".join(text.split()), trace="".join(traceback.format_exception(error)))


def serve(pipe: Connection, lifeline: Connection, begin: bytes, path: Sequence[str]) -> None:
    """Do the jobs that come through `pipe` until it is closed: what a process of LocalExecutor runs.

    The process ends with the one that started it, even where that was killed: then `lifeline` is closed.
    """
    # Modules that the parent finds are found, such as those beside a script.
    sys.path[:] = path
    # Ctrl-C reaches the whole group of processes; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    perform = begun(begin)
    pipe.send(READY)
    while True:
        try:
            content = pipe.recv()
        except EOFError:
            return
        pipe.send(answer_of(perform, content))


def _end_with_parent(lifeline: Connection) -> None:
    try:
        lifeline.recv()
    except (EOFError, OSError):
        # Not sys.exit: the main thread is in the middle of a job.
        os._exit(1)


def memory_of(process: int | str = "self") -> float | None:
    """Return the memory that a process has, in MB; None where the system does not tell."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
