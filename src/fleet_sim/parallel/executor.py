"""What runs jobs, what a job ends with, and the limits it has.

An Executor makes a WorkCrew, which runs jobs and yields how each ended. Processes of this machine are in `local.py`, a
cluster of Ray is in `ray_cluster.py`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

Perform = Callable[[Any], Any]
"""Does one job: takes what describes it and returns its result."""

Begin = Callable[[], Perform]
"""Called once in each worker, before its first job: what all jobs need is read here. It is pickled."""

# Each of these libraries has a variable of its own.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS")
ONE_THREAD = dict.fromkeys(_THREADS, "1")
"""The environment of a worker: libraries that would start threads of their own do not."""


class Job(NamedTuple):
    """A job: its number, which the caller chooses, and what `Perform` is given."""

    number: int
    content: Any


@dataclass(frozen=True)
class JobLimits:
    """What a job may take. `seconds` and `megabytes` are None for no limit.

    A job that goes beyond a limit is ended and fails. A job whose process or machine died is run again, in all
    `attempts` times at most.
    """

    seconds: float | None = None
    megabytes: float | None = None
    attempts: int = 3

    @property
    def any(self) -> bool:
        """Whether running jobs have to be looked at."""
        return self.seconds is not None or self.megabytes is not None


@dataclass(frozen=True)
class Ended:
    """How a job ended: with a `value`, or with an `error` in a line and its `trace`.

    `seconds` of real time is how long the last attempt took. `deaths` is how many attempts before it ended with their
    process.
    """

    number: int
    value: Any = None
    error: str = ""
    trace: str = ""
    seconds: float = 0.0
    deaths: int = 0


class Answer(NamedTuple):
    """What came of a job in its worker: a value, or an error in a line and its trace."""

    value: Any = None
    error: str = ""
    trace: str = ""


@dataclass
class Attempt:
    """A job that is being done since the time `since`, after so many `deaths` of its workers."""

    job: Job
    deaths: int
    since: float

    def ended(self, answer: Answer) -> Ended:
        """Return how the job ended, now."""
        return Ended(self.job.number, *answer, time.monotonic() - self.since, self.deaths)


class Attempts:
    """The jobs that are still to be begun: those whose worker died first, then new ones."""

    def __init__(self, jobs: Iterator[Job], limits: JobLimits) -> None:
        self.limits = limits
        self._jobs = jobs
        self._again: deque[Attempt] = deque()

    def next(self) -> Attempt | None:
        """Return the next one, begun now; None where there is none left."""
        attempt = self._again.popleft() if self._again else next((Attempt(job, 0, 0.0) for job in self._jobs), None)
        if attempt is not None:
            # Waiting for a worker does not count.
            attempt.since = time.monotonic()
        return attempt

    def died(self, attempt: Attempt) -> Ended | None:
        """Take back an attempt whose worker died, to be made again; return how it ended if that was the last one."""
        attempt.deaths += 1
        if attempt.deaths >= self.limits.attempts:
            return attempt.ended(Answer(error=f"its process died {attempt.deaths} times"))
        self._again.append(attempt)
        return None

    def beyond(self, attempt: Attempt, memory: Callable[[], float | None]) -> Ended | None:
        """Return how an attempt ended that is beyond a limit; None for none. `memory` tells what its worker has."""
        seconds, megabytes = self.limits.seconds, self.limits.megabytes
        if seconds is not None and time.monotonic() - attempt.since > seconds:
            return attempt.ended(Answer(error=f"it took longer than {seconds:g} s"))
        if megabytes is not None and (memory() or 0.0) > megabytes:
            return attempt.ended(Answer(error=f"it took more than {megabytes:g} MB of memory"))
        return None


class WorkCrew(ABC):
    """Workers that do jobs of one kind. A context manager, at whose end they end."""

    def __init__(self, count: int, limits: JobLimits) -> None:
        self._count, self._limits = count, limits

    def run(self, jobs: Iterable[Job]) -> Generator[Ended, None, None]:
        """Run `jobs` and yield how each ended, in the order in which they end: exactly once for each job.

        Jobs are taken from `jobs` when a worker is free. When the iterator is closed, what is being done is ended.
        """
        attempts = Attempts(iter(jobs), self._limits)
        try:
            while self._fill(attempts):
                yield from self._look(attempts)
        finally:
            self._drop()

    @abstractmethod
    def _fill(self, attempts: Attempts) -> bool:
        """Give work to free workers; return whether anything is being done."""

    @abstractmethod
    def _look(self, attempts: Attempts) -> Iterator[Ended]:
        """Wait until something ends, or for a moment; yield what ended."""

    @abstractmethod
    def _drop(self) -> None:
        """End the workers that do something."""

    @abstractmethod
    def close(self) -> None:
        """End the workers, with what they do."""

    def __enter__(self) -> WorkCrew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Executor(Protocol):
    """Runs jobs in workers."""

    @property
    def workers(self) -> int:
        """How many jobs run at the same time."""

    def crew(self, begin: Begin) -> WorkCrew:
        """Return workers that do what `begin` returns; they are started when they are needed."""
