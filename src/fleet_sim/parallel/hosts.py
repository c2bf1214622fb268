"""Workers that keep what they have made between calls, each with a part of something large.

`WorkCrew` gives jobs to whoever is free. Here the caller chooses the worker, as each holds another part.
"""

from __future__ import annotations

import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from fleet_sim.errors import FleetSimError, InvalidValueError
from fleet_sim.parallel.executor import Answer, Attempt, Begin, Job
from fleet_sim.parallel.local import WorkerProcess
from fleet_sim.parallel.ray_cluster import actor_class, connect


class Host(ABC):
    """A worker that does what `begin` returned, call after call, with all that it keeps in between.

    One call at a time: `send`, then `receive`. A host that died stays dead; what it held is lost.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def send(self, content: Any) -> None:
        """Begin a call."""

    @abstractmethod
    def close(self) -> None:
        """End the worker, whatever it does. May be called again."""

    @abstractmethod
    def _answer(self) -> Answer | None:
        """Wait for the answer to the call; return None where the worker died."""

    def receive(self) -> Any:
        """Return what the call returned; raises FleetSimError with its error, or where the worker died."""
        answer = self._answer()
        if answer is None:
            raise FleetSimError(f"{self.name}: its process died, and what it held is lost; make a new one")
        if answer.error:
            raise FleetSimError(f"{self.name}: {answer.error}")
        return answer.value


class LocalHost(Host):
    """A process of this machine."""

    def __init__(self, name: str, begin: Begin) -> None:
        super().__init__(name)
        self._process = WorkerProcess(pickle.dumps(begin))
        self._closed = False

    def send(self, content: Any) -> None:
        """Begin a call; a process that is dead is noticed by `receive`."""
        self._process.give(Attempt(Job(0, content), 0, 0.0))

    def _answer(self) -> Answer | None:
        """Wait for the answer of the process; None where the process ended without one."""
        while True:
            try:
                said: Answer | str = self._process.pipe.recv()
            except (EOFError, OSError):
                return None
            # The first word of a process is only that it is there.
            if isinstance(said, Answer):
                return said

    def close(self) -> None:
        """End the process."""
        if not self._closed:
            self._closed = True
            self._process.close()


class RayHost(Host):
    """An actor of Ray, on this machine or another one of the cluster."""

    def __init__(self, name: str, begin: Begin, ray: Any) -> None:
        super().__init__(name)
        self._ray = ray
        made = ray.put(ray.cloudpickle.dumps(begin))
        self._actor = actor_class(ray).remote(made, list(sys.path))
        self._call: Any = None

    def send(self, content: Any) -> None:
        """Begin a call; an actor that is dead is noticed by `receive`."""
        self._call = self._actor.perform.remote(content)

    def _answer(self) -> Answer | None:
        try:
            answer: Answer = self._ray.get(self._call)
        except self._ray.exceptions.RayError:
            return None
        return answer

    def close(self) -> None:
        """End the actor."""
        if self._ray.is_initialized():
            self._ray.kill(self._actor)


def local_hosts(begins: Sequence[tuple[str, Begin]]) -> list[Host]:
    """Start a process of this machine for each pair of a name and what it begins with."""
    return [LocalHost(name, begin) for name, begin in begins]


def ray_hosts(begins: Sequence[tuple[str, Begin]], address: str) -> list[Host]:
    """Start an actor for each, on the cluster at `address` (see RayExecutor); raises InvalidValueError for too many."""
    ray = connect(address)
    processors = int(ray.cluster_resources().get("CPU", 0))
    if len(begins) > processors:
        # They would wait for processors that never come.
        raise InvalidValueError(f"the cluster has {processors} processors, fewer than processes: {len(begins)}")
    return [RayHost(name, begin, ray) for name, begin in begins]
