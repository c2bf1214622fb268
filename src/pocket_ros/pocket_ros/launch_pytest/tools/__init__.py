"""Waiting for the processes of a launch, in coroutines and, with `_sync`, in functions."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from ...launch import Event, LaunchContext
from ...launch.actions import ExecuteLocal
from ...launch.event_handlers import OnActionEventBase, OnProcessExit, OnProcessIO, OnProcessStart
from ...places import offer_places

# Waiting until a process of a launch has started, written or ended. Each function comes twice: as a
# coroutine, and with `_sync` for tests that are functions, which run in a thread of their own beside
# the launch. `timeout` is in seconds, None waits without end. What has happened already is not waited
# for.


_Handler = Callable[[Callable[..., None]], OnActionEventBase]
_Check = Callable[[str], Any]
_P = ParamSpec("_P")
_T = TypeVar("_T")


async def _wait(
    context: LaunchContext, handler: _Handler, condition: Callable[[], Any], timeout: float | None
) -> Any:
    """Ask for the condition now and at each event; what it said last."""
    if context.asyncio_loop is None:  # the launch has ended, or has not begun
        return condition()
    happened = asyncio.Event()
    registered = handler(lambda *_: happened.set())
    context.register_event_handler(registered, append=True)
    try:
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        while not (answer := condition()):
            left = None if end is None else end - loop.time()
            try:
                await asyncio.wait_for(happened.wait(), left)
            except asyncio.TimeoutError:
                return condition()
            happened.clear()
        return answer
    finally:
        context.unregister_event_handler(registered)


def _run(context: LaunchContext, waiting: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that runs on the loop of the launch, while this thread waits."""
    loop = context.asyncio_loop
    if loop is None:
        return _without_loop(waiting)
    if threading.current_thread() is threading.main_thread():  # where tests beside a launch are not
        if loop.is_running():
            waiting.close()
            raise RuntimeError(
                "functions that end with _sync would stop the launch here; in coroutines use those without"
            )
        return loop.run_until_complete(waiting)
    return asyncio.run_coroutine_threadsafe(waiting, loop).result()


def _without_loop(waiting: Coroutine[Any, Any, Any]) -> Any:
    """The result where no launch runs and nothing more can happen: the coroutine then waits for nothing."""
    try:
        waiting.send(None)
    except StopIteration as ended:
        return ended.value
    raise RuntimeError("a launch began while it was waited for; ask again")


@dataclass(frozen=True)
class _Stream:
    """Standard output or error of a process: what was written to it, and the handler of what comes."""

    read: Callable[[], str]
    handler: _Handler

    @classmethod
    def output(cls, action: ExecuteLocal) -> _Stream:
        return cls(action.get_stdout, lambda notify: OnProcessIO(target_action=action, on_stdout=notify))

    @classmethod
    def error(cls, action: ExecuteLocal) -> _Stream:
        return cls(action.get_stderr, lambda notify: OnProcessIO(target_action=action, on_stderr=notify))

    async def wait(self, context: LaunchContext, check: _Check, timeout: float | None) -> Any:
        """Wait until the check is true of what was written; what it said last."""
        return await _wait(context, self.handler, lambda: check(self.read()), timeout)

    async def require(self, context: LaunchContext, check: _Check, timeout: float | None) -> None:
        """Wait until the check raises no AssertionError any more; the last one it raised is raised."""

        def holds() -> bool:
            try:
                check(self.read())
            except AssertionError:
                return False
            return True

        if not await _wait(context, self.handler, holds, timeout):
            check(self.read())


async def wait_for_output(
    launch_context: LaunchContext,
    execute_process_action: ExecuteLocal,
    validate_output: _Check,
    timeout: float | None = None,
) -> Any:
    """Wait until `validate_output` is true of what the process wrote to standard output; what it said last.

    The action needs `cached_output=True`; RuntimeError says so.
    """
    return await _Stream.output(execute_process_action).wait(launch_context, validate_output, timeout)


async def assert_output(
    launch_context: LaunchContext,
    execute_process_action: ExecuteLocal,
    validate_output: _Check,
    timeout: float | None = None,
) -> None:
    """Wait until `validate_output` raises no AssertionError any more; the last one it raised is raised."""
    await _Stream.output(execute_process_action).require(launch_context, validate_output, timeout)


async def wait_for_stderr(
    launch_context: LaunchContext,
    execute_process_action: ExecuteLocal,
    validate_output: _Check,
    timeout: float | None = None,
) -> Any:
    """`wait_for_output` of standard error."""
    return await _Stream.error(execute_process_action).wait(launch_context, validate_output, timeout)


async def assert_stderr(
    launch_context: LaunchContext,
    execute_process_action: ExecuteLocal,
    validate_output: _Check,
    timeout: float | None = None,
) -> None:
    """`assert_output` of standard error."""
    await _Stream.error(execute_process_action).require(launch_context, validate_output, timeout)


async def wait_for_start(
    launch_context: LaunchContext, execute_process_action: ExecuteLocal, timeout: float | None = None
) -> bool:
    """Wait until the process has started; whether it has."""
    action = execute_process_action

    def handler(notify: Callable[..., None]) -> OnActionEventBase:
        return OnProcessStart(target_action=action, on_start=notify)

    def started() -> bool:
        return bool((action.process_details or {}).get("pid"))

    return bool(await _wait(launch_context, handler, started, timeout))


async def wait_for_exit(
    launch_context: LaunchContext, execute_process_action: ExecuteLocal, timeout: float | None = None
) -> bool:
    """Wait until the process has ended; whether it has."""
    action = execute_process_action
    exits: list[Event] = []

    def handler(notify: Callable[..., None]) -> OnActionEventBase:
        def on_exit(event: Event, context: LaunchContext) -> None:
            exits.append(event)
            notify()

        return OnProcessExit(target_action=action, on_exit=on_exit)

    def ended() -> bool:
        future = action.get_asyncio_future()  # done later than the return code: all output is there
        return bool(exits) or (future is not None and future.done())

    return bool(await _wait(launch_context, handler, ended, timeout))


def _for_functions(waiting: Callable[_P, Coroutine[Any, Any, _T]], name: str) -> Callable[_P, _T]:
    """The function that waits in its thread as a coroutine does on the loop of the launch."""
    parameters = inspect.signature(waiting)

    @functools.wraps(waiting)
    def wait(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        context: LaunchContext = parameters.bind(*args, **kwargs).arguments["launch_context"]
        result: _T = _run(context, waiting(*args, **kwargs))
        return result

    wait.__name__ = wait.__qualname__ = name
    wait.__doc__ = f"`{waiting.__name__}` for functions."
    return wait


wait_for_output_sync = _for_functions(wait_for_output, "wait_for_output_sync")
assert_output_sync = _for_functions(assert_output, "assert_output_sync")
wait_for_stderr_sync = _for_functions(wait_for_stderr, "wait_for_stderr_sync")
assert_stderr_sync = _for_functions(assert_stderr, "assert_stderr_sync")
wait_for_start_sync = _for_functions(wait_for_start, "wait_for_start_sync")
wait_for_exit_sync = _for_functions(wait_for_exit, "wait_for_exit_sync")


__all__ = [
    "assert_output",
    "assert_output_sync",
    "assert_stderr",
    "assert_stderr_sync",
    "process",
    "wait_for_exit",
    "wait_for_exit_sync",
    "wait_for_output",
    "wait_for_output_sync",
    "wait_for_start",
    "wait_for_start_sync",
    "wait_for_stderr",
    "wait_for_stderr_sync",
]

offer_places(__name__)
