"""Jobs on a cluster of Ray: on this machine without any set-up, or on many."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fleet_sim.errors import FleetSimError, InvalidValueError, missing_extra
from fleet_sim.parallel.executor import ONE_THREAD, Answer, Attempt, Attempts, Begin, Ended, JobLimits, WorkCrew
from fleet_sim.parallel.local import LOOK
from fleet_sim.parallel.worker import answer_of, begun, memory_of

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
    try:
        import ray
    except ImportError as error:
        raise missing_extra("ray", "cluster", "running on a cluster") from error
    return ray
