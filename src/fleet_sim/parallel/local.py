"""Jobs in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from typing import Any

from fleet_sim.errors import InvalidValueError
from fleet_sim.parallel.executor import ONE_THREAD, Answer, Attempt, Attempts, Begin, Ended, JobLimits, WorkCrew
from fleet_sim.parallel.worker import memory_of, serve

LOOK = 0.2
"""How often running jobs are compared with their limits, in s."""


class LocalExecutor:
    """Runs jobs in `processes` processes of this machine, which are started when they are needed.

    A process that dies is replaced. Raises InvalidValueError where a limit cannot be kept on this system.
    """

    def __init__(self, processes: int = 1, limits: JobLimits | None = None) -> None:
        if processes < 1:
            raise InvalidValueError(f"processes must be at least 1, got {processes}")
        self.workers = processes
        self._limits = limits or JobLimits()
        if self._limits.megabytes is not None and memory_of() is None:
            raise InvalidValueError("a limit of memory needs /proc, which this system does not have")

    def crew(self, begin: Begin) -> WorkCrew:
        """Return processes that do what `begin` returns."""
        return _Processes(begin, self.workers, self._limits)


class WorkerProcess:
    """A process and the pipe to it."""

    def __init__(self, begin: bytes) -> None:
        # Spawned, not forked: threads of the parent, such as those of ROS, must not be copied.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        lifeline, self._lifeline = context.Pipe(duplex=False)
        arguments = (theirs, lifeline, begin, list(sys.path))
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        # Libraries start a thread for each processor, which many workers together would be slowed down by.
        with _environment(ONE_THREAD):
            self.process.start()
        # Only the worker holds that end now, so its death closes the pipe.
        theirs.close()
        lifeline.close()
        self.attempt: Attempt | None = None
        self.ready = False
        """Whether it can do jobs. Until then no time of a job passes."""

    def give(self, attempt: Attempt) -> None:
        """Let the process begin a job."""
        self.attempt = attempt
        # A process that is dead already is noticed by its end.
        try:
            self.pipe.send(attempt.job.content)
        except OSError:
            self.process.kill()

    def close(self) -> None:
        """End the process, whatever it does."""
        # Ends also what the worker has started: it watches this pipe.
        self._lifeline.close()
        self.pipe.close()
        self.process.kill()
        self.process.join()


class _Processes(WorkCrew):
    """The processes and what they do."""

    def __init__(self, begin: Begin, count: int, limits: JobLimits) -> None:
        super().__init__(count, limits)
        # Pickled once, and unpickled where an error can be told.
        self._begin = pickle.dumps(begin)
        self._workers: list[WorkerProcess] = []

    def _fill(self, attempts: Attempts) -> bool:
        """Give jobs to free processes, starting some up to the limit; return whether any is at work."""
        free = [worker for worker in self._workers if worker.attempt is None]
        # Processes are started one by one, as long as there are jobs for them.
        while free or len(self._workers) < self._count:
            attempt = attempts.next()
            if attempt is None:
                break
            if not free:
                free.append(WorkerProcess(self._begin))
                self._workers.append(free[0])
            free.pop().give(attempt)
        return any(worker.attempt is not None for worker in self._workers)

    def _look(self, attempts: Attempts) -> Iterator[Ended]:
        """Wait until a process answers or ends, or LOOK where there are limits; yield the jobs that ended."""
        busy = [(worker, worker.attempt) for worker in self._workers if worker.attempt is not None]
        # The end of a process closes its pipe, so that pipes alone tell everything.
        ready = wait([worker.pipe for worker, _ in busy], LOOK if self._limits.any else None)
        for worker, attempt in busy:
            ended: Ended | None = None
            if worker.pipe in ready:
                ended = self._hear(worker, attempt, attempts)
            elif worker.ready:
                ended = attempts.beyond(attempt, partial(memory_of, worker.process.pid or 0))
                if ended is not None:
                    self._remove(worker)
            if ended is not None:
                yield ended

    def _drop(self) -> None:
        for worker in [worker for worker in self._workers if worker.attempt is not None]:
            self._remove(worker)

    def _hear(self, worker: WorkerProcess, attempt: Attempt, attempts: Attempts) -> Ended | None:
        """Take what a worker says, or that it is gone; return how its job ended, None where it did not."""
        try:
            said: Answer | str = worker.pipe.recv()
        except (EOFError, OSError):
            self._remove(worker)
            return attempts.died(attempt)
        if isinstance(said, str):
            # Importing is no part of a job: its time counts from here on.
            worker.ready, attempt.since = True, time.monotonic()
            return None
        worker.attempt = None
        return attempt.ended(said)

    def _remove(self, worker: WorkerProcess) -> None:
        self._workers.remove(worker)
        worker.close()

    def close(self) -> None:
        """End all workers."""
        for worker in list(self._workers):
            self._remove(worker)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables that processes inherit which are started meanwhile."""
    before: dict[str, Any] = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
