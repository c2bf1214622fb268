"""Futures, and the tasks that executors run."""

from __future__ import annotations

import inspect
import sys
import warnings
import weakref
from collections.abc import Callable, Generator
from threading import RLock, local
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")
_stepping = local()  # `task` is set while this thread resumes a coroutine for a Task


class Future(Generic[_T]):
    """The outcome of something that is not finished yet.

    Can be awaited in callbacks; safe from any thread.
    """

    def __init__(self, *, executor: object = None) -> None:
        self._done = False
        self._cancelled = False
        self._result: Any = None
        self._exception: BaseException | None = None
        self._exception_fetched = False
        self._callbacks: list[Callable[[Future[_T]], Any]] = []
        self._lock = RLock()
        self._executor: Callable[[], Any] = lambda: None
        if executor is not None:
            self._set_executor(executor)

    def __del__(self) -> None:
        if self._exception is not None and not self._exception_fetched:
            print(f"The following exception was never retrieved: {self._exception}", file=sys.stderr)

    def __await__(self) -> Generator[Any, None, _T | None]:
        while not self._done and not self._cancelled:
            # A Task waits for what is yielded; asyncio takes a bare yield as giving others a turn.
            yield self if getattr(_stepping, "task", None) is not None else None
        return self.result()

    def cancel(self) -> None:
        """Cancel, unless it is done already."""
        with self._lock:
            if self._done:
                return
            self._cancelled = True
        self._run_callbacks()

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._cancelled

    def done(self) -> bool:
        """Whether it has a result or an exception or was cancelled."""
        return self._done or self._cancelled

    def result(self) -> _T | None:
        """The result, None until there is one. Raises the exception that was set."""
        if self._exception is not None:
            raise self.exception()  # type: ignore[misc]
        return self._result  # type: ignore[no-any-return]

    def exception(self) -> BaseException | None:
        """The exception that was set, or None."""
        self._exception_fetched = True
        return self._exception

    def set_result(self, result: _T) -> None:
        """Finish with a result."""
        with self._lock:
            self._result = result
            self._done = True
            self._cancelled = False
        self._run_callbacks()

    def set_exception(self, exception: BaseException) -> None:
        """Finish with an exception."""
        with self._lock:
            self._exception = exception
            self._exception_fetched = False
            self._done = True
            self._cancelled = False
        self._run_callbacks()

    def add_done_callback(self, callback: Callable[[Future[_T]], Any]) -> None:
        """Call `callback` with this future when it is done, at once if it is.

        With an executor the call is a task of that executor; otherwise it happens where the result is set.
        """
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        self._run_callback(callback)

    def remove_done_callback(self, callback: Callable[[Future[_T]], Any]) -> bool:
        """Take a callback back; whether it was there."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)
                return True
            return False

    def _run_callbacks(self) -> None:
        with self._lock:
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            self._run_callback(callback)

    def _run_callback(self, callback: Callable[[Future[_T]], Any]) -> None:
        executor = None if isinstance(callback, _Direct) else self._executor()
        if executor is not None:
            executor.create_task(callback, self)
            return
        try:
            callback(self)
        except Exception as error:  # A faulty callback must not keep the others from being told.
            warnings.warn(f"Unhandled exception in done callback: {error}", stacklevel=2)

    def _set_executor(self, executor: object) -> None:
        self._executor = weakref.ref(executor)


class Task(Future[_T]):
    """A function or coroutine that an executor runs; a coroutine is resumed when what it awaits is done."""

    def __init__(
        self,
        handler: object,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        executor: object = None,
    ) -> None:
        super().__init__(executor=executor)
        self._resume: Callable[[Task[_T]], None] | None = None
        self.entity: Any = None  # whose callback this is, for executors
        self._args, self._kwargs = args or (), kwargs or {}
        self._handler: Any = handler
        self._coroutine: Any = None
        if inspect.iscoroutine(handler):
            self._coroutine = handler
        elif inspect.iscoroutinefunction(handler):
            self._coroutine = handler(*self._args, **self._kwargs)
        self._executing = False

    def __call__(self) -> None:
        """Run to the end or to the next await."""
        with self._lock:
            if self.done() or self._executing:
                return
            self._executing = True
        try:
            self._step()
        finally:
            self._executing = False

    def executing(self) -> bool:
        """Whether it is running right now."""
        return self._executing

    def cancel(self) -> None:
        if self._coroutine is not None and not self._executing:
            self._coroutine.close()
        super().cancel()

    def _step(self) -> None:
        try:
            if self._coroutine is None:
                result = self._handler(*self._args, **self._kwargs)
                if not inspect.iscoroutine(result):
                    self.set_result(result)
                    return
                self._coroutine = result
            awaited = self._send()
        except StopIteration as end:
            self.set_result(end.value)
        except BaseException as error:
            self.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            self._wait_for(awaited)

    def _send(self) -> Any:
        outer = getattr(_stepping, "task", None)
        _stepping.task = self
        try:
            return self._coroutine.send(None)
        finally:
            _stepping.task = outer

    def _wait_for(self, awaited: object) -> None:
        resume = self._resume
        if resume is None:
            return
        if isinstance(awaited, Future):
            self._executing = False
            _when_done(awaited, lambda: resume(self))
        else:
            # A bare yield: give others a turn.
            self._executing = False
            resume(self)


def _when_done(future: Future[Any], call: Callable[[], None]) -> None:
    """Call directly where the result is set, not through the future's executor."""
    with future._lock:
        if not future.done():
            future._callbacks.append(_Direct(call))
            return
    call()


class _Direct:
    """A done callback that needs no task of its own."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def __call__(self, _: Future[Any]) -> None:
        self._call()
