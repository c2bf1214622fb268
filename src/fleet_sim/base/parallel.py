"""Jobs in many processes of this machine: a LocalExecutor makes a WorkCrew, which yields how each ended."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from fleet_sim.base.errors import FleetSimError, InvalidValueError
from fleet_sim.base.files import listed

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

    A job that goes beyond a limit is ended and fails. A job whose process died is run again, in all `attempts` times
    at most.
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
    deaths: int = 0
    since: float = 0.0

    def ended(self, answer: Answer) -> Ended:
        """Return how the job ended, now."""
        return Ended(self.job.number, *answer, time.monotonic() - self.since, self.deaths)


# The inside of a worker: takes jobs and returns how they ended, whatever they raise.


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


GROUPS: set[int] = set()
"""Groups of processes that a job has started, and that end with its worker."""


def _end_with_parent(lifeline: Connection) -> None:
    try:
        lifeline.recv()
    except (EOFError, OSError):
        for group in list(GROUPS):
            end_group(group)
        # Not sys.exit: the main thread is in the middle of a job.
        os._exit(1)


def end_group(group: int) -> None:
    """End all processes of a group, whatever they do; it may be over."""
    GROUPS.discard(group)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def memory_of(process: int | str = "self") -> float | None:
    """Return the memory that a process has, in MB; None where the system does not tell."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _told_of(process: int | str) -> list[bytes]:
    """Return what the kernel says of a process or thread after its name: state, parent, group; [] for none."""
    with suppress(OSError), open(f"/proc/{process}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()
    return []


def computes(process: int) -> bool:
    """Return whether a thread of a process computes, or waits for a processor; False where the system does not tell."""
    return any(_told_of(f"{process}/task/{thread.name}")[:1] == [b"R"] for thread in listed(f"/proc/{process}/task"))


def memory_of_group(group: int) -> float:
    """Return the memory of all processes of a group, in MB; 0 where the system does not tell."""
    names = [path.name for path in listed("/proc", "[0-9]*")]
    return sum(memory_of(name) or 0.0 for name in names if _told_of(name)[2:3] == [str(group).encode()])


# Jobs in processes of this machine.


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
        return WorkCrew(begin, self.workers, self._limits)


class WorkerProcess:
    """A process and the pipe to it."""

    def __init__(self, begin: bytes) -> None:
        # Spawned, not forked: threads of the parent, such as those of ROS, must not be copied.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        lifeline, self._lifeline = context.Pipe(duplex=False)
        arguments = (theirs, lifeline, begin, list(sys.path))
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        # Libraries start a thread for each processor, which many workers together would be slowed down by. Sets of
        # texts have one order in all workers, so that equal jobs have equal results.
        with _environment({**ONE_THREAD, "PYTHONHASHSEED": "0"}):
            self.process.start()
        # Only the worker holds that end now, so its death closes the pipe.
        theirs.close()
        lifeline.close()
        self.attempt: Attempt | None = None
        self.ready = False
        """Whether it can do jobs. Until then no time of a job passes."""

    def send(self, content: Any) -> None:
        """Begin a job; a process that is dead is noticed by its end."""
        try:
            self.pipe.send(content)
        except OSError:
            self.process.kill()

    def close(self) -> None:
        """End the process, whatever it does. May be called again."""
        # Ends also what the worker has started: it watches this pipe.
        self._lifeline.close()
        self.pipe.close()
        self.process.join(2.0)
        self.process.kill()
        self.process.join()


class WorkCrew:
    """Processes that do jobs of one kind. A context manager, at whose end they end."""

    def __init__(self, begin: Begin, count: int, limits: JobLimits) -> None:
        self._count, self._limits = count, limits
        # Pickled once, and unpickled where an error can be told.
        self._begin = pickle.dumps(begin)
        self._workers: list[WorkerProcess] = []
        self._again: deque[Attempt] = deque()

    def run(self, jobs: Iterable[Job]) -> Generator[Ended, None, None]:
        """Run `jobs` and yield how each ended, in the order in which they end: exactly once for each job.

        Jobs are taken from `jobs` when a worker is free. When the iterator is closed, what is being done is ended.
        """
        attempts = map(Attempt, jobs)
        self._again.clear()
        try:
            while self._fill(attempts):
                yield from self._look()
        finally:
            for worker, _ in self._busy():
                self._remove(worker)

    def _busy(self) -> list[tuple[WorkerProcess, Attempt]]:
        return [(worker, worker.attempt) for worker in self._workers if worker.attempt is not None]

    def _fill(self, attempts: Iterator[Attempt]) -> bool:
        """Give jobs to free processes, starting some up to the limit; return whether any is at work."""
        free = [worker for worker in self._workers if worker.attempt is None]
        # Processes are started one by one, as long as there are jobs for them.
        while free or len(self._workers) < self._count:
            # Those whose worker died first, then new ones.
            attempt = self._again.popleft() if self._again else next(attempts, None)
            if attempt is None:
                break
            if not free:
                free.append(WorkerProcess(self._begin))
                self._workers.append(free[0])
            # Waiting for a worker does not count.
            attempt.since = time.monotonic()
            free[-1].attempt = attempt
            free.pop().send(attempt.job.content)
        return bool(self._busy())

    def _look(self) -> Iterator[Ended]:
        """Wait until a process answers or ends, or LOOK where there are limits; yield the jobs that ended."""
        busy = self._busy()
        # The end of a process closes its pipe, so that pipes alone tell everything.
        ready = wait([worker.pipe for worker, _ in busy], LOOK if self._limits.any else None)
        for worker, attempt in busy:
            ended: Ended | None = None
            if worker.pipe in ready:
                ended = self._answered(worker, attempt)
            elif worker.ready and (error := self._excess(worker, attempt)):
                ended = attempt.ended(Answer(error=error))
                self._remove(worker)
            if ended is not None:
                yield ended

    def _excess(self, worker: WorkerProcess, attempt: Attempt) -> str:
        """Return which limit an attempt is beyond; "" for none."""
        seconds, megabytes = self._limits.seconds, self._limits.megabytes
        if seconds is not None and time.monotonic() - attempt.since > seconds:
            return f"it took longer than {seconds:g} s"
        if megabytes is not None and (memory_of(worker.process.pid or 0) or 0.0) > megabytes:
            return f"it took more than {megabytes:g} MB of memory"
        return ""

    def _answered(self, worker: WorkerProcess, attempt: Attempt) -> Ended | None:
        """Read what a worker sent, or that it is gone; return how its job ended, None where it did not."""
        try:
            said: Answer | str = worker.pipe.recv()
        except (EOFError, OSError):
            self._remove(worker)
            attempt.deaths += 1
            if attempt.deaths >= self._limits.attempts:
                return attempt.ended(Answer(error=f"its process died {attempt.deaths} times"))
            self._again.append(attempt)
            return None
        if isinstance(said, str):
            # Importing is no part of a job: its time counts from here on.
            worker.ready, attempt.since = True, time.monotonic()
            return None
        worker.attempt = None
        return attempt.ended(said)

    def _remove(self, worker: WorkerProcess) -> None:
        self._workers.remove(worker)
        worker.close()

    def __enter__(self) -> WorkCrew:
        return self

    def __exit__(self, *_: object) -> None:
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
