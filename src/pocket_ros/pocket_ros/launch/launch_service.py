"""Runs launch descriptions."""

from __future__ import annotations

import asyncio
import signal
import threading
import traceback
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import Any

from .description import Event, LaunchContext, LaunchDescription, LaunchDescriptionEntity
from .event_handlers import OnIncludeLaunchDescription
from .events import IncludeLaunchDescription, Shutdown
from .logging import get_logger, log_to_file
from .utilities import describe_substitutions, normalize_to_list_of_entities


class _NothingLeft(Event):
    """Nothing the launch waits for is left: wakes its loop."""

    name = "launch.events.NothingLeft"


class _Done(Coroutine[Any, Any, None]):
    """A coroutine with nothing left to do, of which nobody is warned who does not await it."""

    def send(self, value: object) -> Any:
        raise StopIteration

    def throw(self, *error: Any) -> Any:
        raise error[0]

    def close(self) -> None:
        pass

    def __await__(self) -> Generator[Any, Any, None]:
        yield from ()


class LaunchService:
    """Visits entities and handles events, on one event loop in one thread, until all is done.

    A first SIGINT, and SIGTERM, SIGHUP and SIGQUIT shut the launch down: every process is told to end, and
    `run` returns when the last one has. What a launch file raises ends the launch with return code 1.
    """

    def __init__(
        self, *, argv: Iterable[str] | None = None, noninteractive: bool = False, debug: bool = False
    ) -> None:
        self.context = LaunchContext(argv=argv, noninteractive=noninteractive)
        self.context.register_event_handler(OnIncludeLaunchDescription())
        self._debug = debug
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before_run: list[Event] = []
        self._lock = threading.Lock()
        self._pending: set[asyncio.Future[Any]] = set()
        self._return_code = 0
        self._thread: int | None = None
        self.task: asyncio.Task[Any] | None = None
        """What runs the launch: done when it has ended, None before it begins."""
        self.interrupted = False
        """Whether a person ended the launch by Ctrl-C."""
        self._logger = get_logger("launch")

    @property
    def event_loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop while the launch runs."""
        return self._loop

    @property
    def is_shutdown(self) -> bool:
        """Whether the launch is ending."""
        return self.context.is_shutdown

    def emit_event(self, event: Event) -> None:
        """Queue an event, from any thread, also before `run`."""
        with self._lock:
            if self._loop is None:
                self._before_run.append(event)
            else:
                self._loop.call_soon_threadsafe(self.context.emit_event_sync, event)

    def include_launch_description(self, launch_description: LaunchDescription) -> None:
        """Add a description, from any thread, also before `run`."""
        self.emit_event(IncludeLaunchDescription(launch_description))

    def shutdown(self, force_sync: bool = False) -> Coroutine[Any, Any, None] | None:
        """End the launch, from any thread; its own thread gets something to await, or to ignore.

        With `force_sync` there is nothing to await.
        """
        self.emit_event(Shutdown(reason="LaunchService.shutdown() called"))
        if force_sync or self._loop is None or self._thread != threading.get_ident():
            return None
        return _Done()

    def run(self, *, shutdown_when_idle: bool = True) -> int:
        """Run until the launch has ended; its return code, 0 unless something was raised.

        With `shutdown_when_idle=False` only a shutdown ends it.
        """
        return asyncio.run(self.run_async(shutdown_when_idle=shutdown_when_idle))

    async def run_async(self, *, shutdown_when_idle: bool = True) -> int:
        """`run` as a coroutine. Raises RuntimeError when the launch runs already."""
        with self._lock:
            if self._loop is not None:
                raise RuntimeError("this LaunchService runs already; create one for each launch")
            self._loop = self.context.asyncio_loop = asyncio.get_running_loop()
            if self.task is not None:  # the launch before has shut down; its queue belongs to its loop
                self.context.is_shutdown, self._return_code = False, 0
                self.context.events = asyncio.Queue()
            self.task = asyncio.current_task()
            self._thread = threading.get_ident()
            self.context.wait_for = self._wait_for
            for event in self._before_run:
                self.context.emit_event_sync(event)
            self._before_run.clear()
        restore = self._install_signal_handlers()
        try:
            await self._process_events(shutdown_when_idle)
        finally:
            restore()
            with self._lock:
                self._loop = self.context.asyncio_loop = self.context.wait_for = None
        return self._return_code

    # Events

    def _is_idle(self) -> bool:
        return self.context.events.empty() and not self._pending

    async def _process_events(self, shutdown_when_idle: bool) -> None:
        events = self.context.events
        while True:
            if self._is_idle():
                if self.context.is_shutdown:
                    return
                if shutdown_when_idle:
                    events.put_nowait(Shutdown(reason="idle"))
            self._process(await events.get())

    def _process(self, event: Event) -> None:
        if isinstance(event, Shutdown):
            if self.context.is_shutdown:
                return
            self.context.is_shutdown = True
        for handler in list(self.context.event_handlers):
            if not handler.matches(event):
                continue
            self.context._push_locals()
            try:
                for entity in normalize_to_list_of_entities(handler.handle(event, self.context)):
                    self._visit(entity)
            except (
                Exception
            ) as error:  # a user's launch file or handler: it ends the launch, not the interpreter
                self._fail(error)
            finally:
                self.context._pop_locals()

    def _visit(self, entity: LaunchDescriptionEntity) -> None:
        following = entity.visit(self.context)
        future = entity.get_asyncio_future()
        if future is not None:
            self._wait_for(future)
        for further in normalize_to_list_of_entities(following):
            self._visit(further)

    def _wait_for(self, future: asyncio.Future[Any]) -> None:
        if future not in self._pending and not future.done():
            self._pending.add(future)
            future.add_done_callback(self._on_done)

    def _on_done(self, future: asyncio.Future[Any]) -> None:
        self._pending.discard(future)
        if not future.cancelled() and (error := future.exception()) is not None:
            self._fail(error)
        if not self._pending:
            self.context.emit_event_sync(_NothingLeft())

    def _fail(self, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error))
        if self._debug:
            self._logger.error(text)
        else:
            log_to_file(self._logger, text)
        self._logger.error(f"Caught exception in launch (see debug for traceback): {error}")
        self._return_code = 1
        self.context.emit_event_sync(Shutdown(reason=f"Caught exception in launch: {error}"))

    # Signals

    def _install_signal_handlers(self) -> Callable[[], None]:
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        loop = asyncio.get_running_loop()
        # Children are in sessions of their own: a terminal that is closed tells only the launch.
        others = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, *others)}
        loop.add_signal_handler(signal.SIGINT, self._on_sigint)
        for number in others:
            loop.add_signal_handler(number, self._on_termination, number)

        def restore() -> None:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

        return restore

    def _on_sigint(self) -> None:
        again = " again, ignoring..." if self.interrupted else ""
        self._logger.warning(f"user interrupted with ctrl-c (SIGINT){again}")
        if not self.interrupted:
            self.interrupted = True
            self.context.emit_event_sync(Shutdown(reason="ctrl-c (SIGINT)", due_to_sigint=True))

    def _on_termination(self, number: signal.Signals) -> None:
        self._logger.warning(f"asked to end by {number.name}")
        self.context.emit_event_sync(Shutdown(reason=number.name))


# A launch description as text.


def _lines(entities: Iterable[LaunchDescriptionEntity]) -> Iterable[str]:
    for entity in entities:
        yield entity.describe()
        for line in _lines(entity.describe_sub_entities()):
            yield "    " + line
        for condition, held in entity.describe_conditional_sub_entities():
            yield "    " + condition
            for line in _lines(held):
                yield "        " + line


class LaunchIntrospector:
    """Describes a launch description without running it."""

    def format_launch_description(self, launch_description: LaunchDescription) -> str:
        """One line an entity, what it holds indented below."""
        return "\n".join([f"{launch_description.describe()}", *_lines(launch_description.entities)])


# The arguments of a launch description, as `--show-args` prints them.


def print_arguments_of_launch_description(launch_description: LaunchDescription) -> None:
    """Print each argument with its description and its default."""
    print("Arguments (pass arguments as '<name>:=<value>'):")
    arguments = launch_description.get_launch_arguments()
    if not arguments:
        print("\n  No arguments.")
    for argument in arguments:
        print(f"\n    '{argument.name}':")
        print("\n".join("        " + line for line in argument.description.splitlines()))
        if argument.default_value is not None:
            print(f"        (default: {describe_substitutions(argument.default_value)})")
