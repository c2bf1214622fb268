"""Jobs in many processes, on this machine or on a cluster of Ray.

An Executor makes a WorkCrew, which runs jobs and yields how each ended: in processes of this machine, or in a cluster.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Protocol

from fleet_sim.base.errors import FleetSimError, InvalidValueError, of_extra

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


# Jobs on a cluster of Ray: on this machine without any set-up, or on many.


PATIENCE = 10.0
"""How long the head of a cluster may take to answer, in s."""

TOKEN = (
    "A cluster may ask for a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to what `ray get-auth-token` prints on "
    "its head, before this command and before each `ray start`."
)
"""What to do where a cluster refuses, as Ray's own error only says that it is not there."""


class RayExecutor:
    """Runs jobs in actors of Ray, one per processor of the cluster, or `processes`.

    `address` is that of a cluster as `ray.init` takes it: "auto" for the one of this machine, "ray://host:10001", or
    "local" for one that is started here and ends with this process. Raises MissingDependencyError without Ray and
    FleetSimError where the cluster does not answer.
    """

    def __init__(self, address: str = "auto", processes: int | None = None, limits: JobLimits | None = None) -> None:
        self._ray = ray = connect(address)
        self._limits = limits or JobLimits()
        processors = int(ray.cluster_resources().get("CPU", 0))
        self.workers = processors if processes is None else processes
        if self.workers < 1:
            raise InvalidValueError("the cluster has no processor, or processes is below 1")

    def crew(self, begin: Begin) -> WorkCrew:
        """Return actors that do what `begin` returns."""
        return _Actors(self._ray, begin, self.workers, self._limits)


class Desk:
    """What an actor is: takes jobs, and says how much memory it has meanwhile."""

    def __init__(self, begin: bytes, path: Sequence[str]) -> None:
        # In front of what Ray has set, which finds Ray itself.
        sys.path[:0] = [folder for folder in path if folder not in sys.path]
        self._perform = begun(begin)

    def perform(self, content: Any) -> Answer:
        """Return what comes of a job."""
        return answer_of(self._perform, content)

    def memory(self) -> float | None:
        """Return the memory of the process, in MB."""
        return memory_of()


@dataclass
class _Actor:
    """An actor, and what is known of it: `begun` is an answer that it gives once it can do jobs."""

    handle: Any
    begun: Any
    ready: bool = False


class _Actors(WorkCrew):
    """The actors and what they do."""

    def __init__(self, ray: Any, begin: Begin, count: int, limits: JobLimits) -> None:
        super().__init__(count, limits)
        self._ray = ray
        self._desk = actor_class(ray)
        # Once for all actors: `begin` may hold a large scenario.
        self._begin = ray.put(ray.cloudpickle.dumps(begin))
        self._free: list[_Actor] = []
        self._busy: dict[Any, tuple[_Actor, Attempt]] = {}
        self._looked = 0.0

    def _fill(self, attempts: Attempts) -> bool:
        while len(self._busy) < self._count:
            attempt = attempts.next()
            if attempt is None:
                break
            actor = self._free.pop() if self._free else self._new_actor()
            self._busy[actor.handle.perform.remote(attempt.job.content)] = (actor, attempt)
        return bool(self._busy)

    def _new_actor(self) -> _Actor:
        handle = self._desk.remote(self._begin, list(sys.path))
        return _Actor(handle, handle.memory.remote())

    def _look(self, attempts: Attempts) -> Iterator[Ended]:
        """Wait for an actor, for LOOK at most; yield the jobs that ended, those beyond their limits included."""
        ready, _ = self._ray.wait(list(self._busy), num_returns=1, timeout=LOOK)
        for reference in ready:
            ended = self._take(reference, *self._busy.pop(reference), attempts)
            if ended is not None:
                yield ended
        # Not after each job: where many short ones end, a long one among them is looked at all the same.
        if self._limits.any and time.monotonic() > self._looked + LOOK:
            self._looked = time.monotonic()
            yield from self._end_those_beyond(attempts)

    def _drop(self) -> None:
        for actor, _ in self._busy.values():
            self._ray.kill(actor.handle)
        self._busy.clear()

    def _take(self, reference: Any, actor: _Actor, attempt: Attempt, attempts: Attempts) -> Ended | None:
        """Take what a job ended with, or that its actor is gone; None where it is done again."""
        try:
            answer: Answer = self._ray.get(reference)
        except self._ray.exceptions.RayError:
            return attempts.died(attempt)
        self._free.append(actor)
        return attempt.ended(answer)

    def _end_those_beyond(self, attempts: Attempts) -> Iterator[Ended]:
        """End jobs that are beyond a limit."""
        for reference, (actor, attempt) in list(self._busy.items()):
            if not actor.ready:
                # The start of the actor itself is no time of the job.
                actor.ready = bool(self._ray.wait([actor.begun], timeout=0)[0])
                attempt.since = time.monotonic()
                continue
            ended = attempts.beyond(attempt, partial(self._memory, actor))
            if ended is not None:
                del self._busy[reference]
                self._ray.kill(actor.handle)
                yield ended

    def _memory(self, actor: _Actor) -> float | None:
        try:
            memory: float | None = self._ray.get(actor.handle.memory.remote(), timeout=LOOK)
        # It is busy in code that lets nothing else in, or dead; then its job tells.
        except (self._ray.exceptions.RayError, TimeoutError):
            return None
        return memory

    def close(self) -> None:
        """End all actors."""
        for actor in self._free:
            self._ray.kill(actor.handle)
        self._free.clear()


def connect(address: str) -> Any:
    """Return Ray, connected to the cluster at `address` unless it is connected already; see RayExecutor."""
    ray = _ray()
    if not ray.is_initialized():
        try:
            _check_answers(address)
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=None)
        # Ray raises errors of many kinds here.
        except Exception as error:
            hint = "" if address == "local" else f" {TOKEN}"
            raise FleetSimError(f"no cluster of Ray at {address!r}: {error}.{hint}") from error
    return ray


def actor_class(ray: Any) -> Any:
    """Return the actor that a Desk is in Ray."""
    # Two at a time, so that an actor answers about its memory while it does a job.
    options = {"num_cpus": 1, "max_restarts": 0, "max_concurrency": 2, "runtime_env": {"env_vars": ONE_THREAD}}
    return ray.remote(**options)(Desk)


def _check_answers(address: str) -> None:
    """Raise OSError where nothing listens at an address of another machine: Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()


def _ray() -> Any:
    with of_extra("ray", "cluster", "running on a cluster"):
        import ray
    return ray
