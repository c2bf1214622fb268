"""Executors: they wait until something is ready and run its callback.

The wait set is built as nodes and endpoints come and go, not at each wait, so a wait costs what is ready, not
what
exists.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from .context import Context
from .exceptions import InvalidHandle
from .executor_base import Executor
from .executor_exceptions import (
    ConditionReachedException,
    ExternalShutdownException,
    ShutdownException,
    TimeoutException,
    TimeoutObject,
)
from .task import Future, Task
from .utilities import timeout_sec_to_nsec

__all__ = [
    "ConditionReachedException",
    "Executor",
    "ExternalShutdownException",
    "Future",
    "InvalidHandle",
    "MultiThreadedExecutor",
    "ShutdownException",
    "SingleThreadedExecutor",
    "Task",
    "TimeoutException",
    "TimeoutObject",
    "WaitableEntityType",
    "await_or_execute",
]


async def await_or_execute(callback: Callable[..., Any], *args: Any) -> Any:
    """Call a function, or call a coroutine function and wait for what it answers."""
    result = callback(*args)
    return await result if inspect.isawaitable(result) else result


WaitableEntityType = TypeVar("WaitableEntityType")


class SingleThreadedExecutor(Executor):
    """Runs callbacks in the thread that spins."""

    def _spin_once(self, timeout_sec: float | None, done: Callable[[], bool] | None) -> None:
        try:
            job = self._next(timeout_sec_to_nsec(timeout_sec), done)
        except (ShutdownException, ConditionReachedException):
            return
        if job is None:
            return
        with self._idle:
            self._running += 1
        try:
            job.run()
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()


class MultiThreadedExecutor(Executor):
    """Runs callbacks in a pool of threads; callback groups say which may run at the same time."""

    def __init__(self, num_threads: int | None = None, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        if num_threads is None:
            # The processors this process may use, which in a container are often fewer than there are.
            num_threads = len(os.sched_getaffinity(0))
        elif num_threads == 1:
            warnings.warn(
                "MultiThreadedExecutor is used with a single thread. Use the SingleThreadedExecutor instead.",
                stacklevel=2,
            )
        self._executor = ThreadPoolExecutor(num_threads, thread_name_prefix="executor")
        self._errors: deque[BaseException] = deque()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        success = super().shutdown(timeout_sec)
        self._executor.shutdown(wait=success)
        return success

    def _spin_once(self, timeout_sec: float | None, done: Callable[[], bool] | None) -> None:
        try:
            job = self._next(
                timeout_sec_to_nsec(timeout_sec), lambda: bool(self._errors) or bool(done and done())
            )
        except ExternalShutdownException:
            job = None
        except (ShutdownException, ConditionReachedException):
            job = None
        if job is not None:
            with self._idle:
                self._running += 1
            self._executor.submit(self._run_in_pool, job.run)
        if self._errors:
            raise self._errors.popleft()

    def _run_in_pool(self, job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:  # handed to the thread that spins, which raises it
            self._errors.append(error)
            self.wake()
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()
