"""Contexts: the lifetime of ROS communications in a process."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from enum import IntEnum
from threading import Lock, RLock
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..places import not_covered
from . import arguments
from . import logging as log_output
from .arguments import split_arguments
from .entity import Handle, WithBlock
from .exceptions import NotInitializedException, RCLError
from .time import S_TO_NS

if TYPE_CHECKING:
    from ..dds.participant import Participant
    from .graph import Graph


_MAX_DOMAIN_ID = 232
_contexts: weakref.WeakSet[Context] = weakref.WeakSet()


class Context(WithBlock):
    """From `init` to `shutdown`.

    Holds the command line's ROS arguments and the DDS participant of its nodes.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._initialised = False
        self._ok = False
        self._callbacks: list[Any] = []
        self._domain_id = 0
        self._participant: Participant | None = None
        self._graph: Graph | None = None
        self.arguments = arguments.RosArguments()

    @property
    def handle(self) -> ContextHandle:
        """What stands for the context in a `with` block."""
        return ContextHandle(self)

    def init(
        self, args: list[str] | None = None, *, initialize_logging: bool = True, domain_id: int | None = None
    ) -> None:
        """Initialise with ROS arguments (`sys.argv` where None) and a domain (`ROS_DOMAIN_ID` where None).

        Raises RuntimeError when initialised already and for a domain out of range, and as `parse_arguments`
        does; UnicodeEncodeError for arguments that are no text; NotImplementedError where the environment
        asks for security.
        """
        with self._lock:
            if self._initialised:
                raise RuntimeError("Context.init() must only be called once")
            for word in args or ():
                word.encode()  # raises UnicodeEncodeError for what is no text
            _refuse_security()
            self._domain_id = _domain_id() if domain_id is None else _checked_domain(domain_id)
            self.arguments = arguments.parse_arguments(sys.argv if args is None else args)
            if initialize_logging:
                log_output.use_console(self.arguments.console)
                for name, level in self.arguments.log_levels:
                    log_output.set_level(name, level)
            self._initialised = self._ok = True
            _contexts.add(self)

    def ok(self) -> bool:
        """Whether it is initialised and not shut down."""
        return self._ok

    def shutdown(self) -> None:
        """End communications: waits end, endpoints disappear.

        Raises RuntimeError when it was never initialised, RCLError when it is shut down already.
        """
        if not self._initialised:
            raise RuntimeError("Context must be initialized before it can be shutdown")
        if not self._end():
            raise RCLError("failed to shutdown: rcl_shutdown already called on the given context")

    def try_shutdown(self) -> None:
        """`shutdown`, unless there is nothing to shut down."""
        self._end()

    def on_shutdown(self, callback: Callable[[], None]) -> None:
        """Call `callback` on shutdown.

        Methods are held weakly. Raises TypeError for what cannot be called.
        """
        if not callable(callback):
            raise TypeError(f"callback should be a callable, got {type(callback)}")
        with self._lock:
            if not self._ok and self._initialised:
                callback()
                return
            held = weakref.WeakMethod(callback) if hasattr(callback, "__self__") else (lambda: callback)
            self._callbacks = [c for c in self._callbacks if c() is not None]
            self._callbacks.append(held)

    def get_domain_id(self) -> int:
        """The domain. Raises RuntimeError before `init`."""
        if not self._initialised:
            raise RuntimeError("Context must be initialized before it can have a domain id")
        return self._domain_id

    @property
    def participant(self) -> Participant:
        """The DDS participant, made when first needed.

        Raises NotInitializedException after shutdown, RCLError where the environment allows none, such as a
        wrong `CYCLONEDDS_URI`.
        """
        with self._lock:
            if not self._ok:
                raise NotInitializedException(
                    "cannot create a node or an endpoint without an initialised context"
                )
            if self._participant is None:
                from ..dds.library import DDSError
                from ..dds.participant import Participant

                user_data = f"enclave={self.arguments.enclave};".encode()
                try:
                    self._participant = Participant(self._domain_id, user_data)
                except (DDSError, ValueError, OSError) as error:
                    raise RCLError(str(error)) from error
            return self._participant

    @property
    def graph(self) -> Graph:
        """What this context tells the domain of its nodes, and knows of others.

        Raises as `participant` does.
        """
        with self._lock:
            if self._graph is None:
                from .graph import Graph

                self._graph = Graph(self.participant)
            return self._graph

    def destroy(self) -> None:
        """Shut down and free everything."""
        self._end()
        with self._lock:
            graph, self._graph = self._graph, None
            participant, self._participant = self._participant, None
        if graph is not None:
            graph.close()
        if participant is not None:
            participant.close()

    def __enter__(self) -> Context:
        if not self._initialised:
            self.init()
        return self

    def _end_block(self) -> None:
        self.try_shutdown()

    def _end(self) -> bool:
        with self._lock:
            if not self._ok:
                return False
            self._ok = False
            callbacks, self._callbacks = self._callbacks, []
        for held in callbacks:
            callback = held()
            if callback is not None:
                callback()
        return True


def shutdown_all() -> None:
    """Shut down every initialised context."""
    for context in list(_contexts):
        context.try_shutdown()


def _domain_id() -> int:
    text = os.environ.get("ROS_DOMAIN_ID") or "0"
    if not text.isdigit():
        raise RuntimeError(f"ROS_DOMAIN_ID is '{text}'; it is a number from 0 to {_MAX_DOMAIN_ID}")
    return _checked_domain(int(text))


def _refuse_security() -> None:
    """Who asked for encryption must not talk in the clear without knowing."""
    if os.environ.get("ROS_SECURITY_ENABLE") == "true":
        raise NotImplementedError(
            "ROS_SECURITY_ENABLE=true: pocket_ros has no DDS security, and would neither encrypt nor "
            "authenticate; unset it, or use a full ROS 2"
        )


def _checked_domain(domain_id: int) -> int:
    if not 0 <= domain_id <= _MAX_DOMAIN_ID:
        raise RuntimeError(f"Domain id {domain_id} must be between 0 and {_MAX_DOMAIN_ID}")
    return domain_id


@atexit.register
def _close_all() -> None:
    """Leave the domain properly, so that peers need not wait for a lease to expire."""
    for context in list(_contexts):
        context.destroy()


class ContextHandle(Handle[Context]):
    """The handle of a context."""

    def ok(self) -> bool:
        """Whether the context was initialised and not shut down."""
        return self.owner.ok()

    def get_domain_id(self) -> int:
        """The DDS domain of the context."""
        return self.owner.get_domain_id()

    def shutdown(self) -> None:
        """Shut the context down."""
        self.owner.shutdown()


__getattr__ = not_covered("rclpy.context")


# The default context and small helpers.


g_default_context: Context | None = None
g_context_lock = Lock()


def get_default_context(*, shutting_down: bool = False) -> Context:
    """The context that is used where none is given; a new one after the last was shut down."""
    global g_default_context
    with g_context_lock:
        if g_default_context is None:
            g_default_context = Context()
        context = g_default_context
        if shutting_down:
            g_default_context = None
    return context


def remove_ros_args(args: Sequence[str] | None = None) -> list[str]:
    """The arguments without the `--ros-args` sections."""
    return split_arguments(list(sys.argv if args is None else args))[0]


def ok(*, context: Context | None = None) -> bool:
    """Whether the context is initialised and not shut down."""
    return (get_default_context() if context is None else context).ok()


def shutdown(*, context: Context | None = None) -> None:
    """Shut a context down. Raises RuntimeError when that has happened already."""
    if context is None:
        context = get_default_context(shutting_down=True)
    try:
        context.shutdown()
    finally:
        context.destroy()


def try_shutdown(*, context: Context | None = None) -> None:
    """Shut a context down unless that has happened already."""
    if context is None:
        context = get_default_context(shutting_down=True)
    context.destroy()


def get_rmw_implementation_identifier() -> str:
    """The middleware that the wire format is that of."""
    return "rmw_cyclonedds_cpp"


def get_available_rmw_implementations() -> set[str]:
    """The one middleware there is."""
    return {"rmw_cyclonedds_cpp"}


def timeout_sec_to_nsec(timeout_sec: float | None) -> int:
    """Seconds as nanoseconds; -1 for None and negative values, which is forever."""
    if timeout_sec is None or timeout_sec < 0:
        return -1
    return int(float(timeout_sec) * S_TO_NS)


# What SIGINT and SIGTERM do while a context is initialised. Both shut down every initialised context.
# SIGINT then has its usual effect (KeyboardInterrupt in the main thread); after SIGTERM the spin
# functions raise ExternalShutdownException.


class SignalHandlerOptions(IntEnum):
    """Which signals are handled."""

    NO = 0
    SIGINT = 1
    SIGTERM = 2
    ALL = 3


_previous: dict[int, Any] = {}


def install_signal_handlers(options: SignalHandlerOptions = SignalHandlerOptions.ALL) -> None:
    """Handle the given signals. Only the main thread can; elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        return
    for bit, number in ((1, signal.SIGINT), (2, signal.SIGTERM)):
        if options & bit and number not in _previous:
            _previous[number] = signal.signal(number, _handle)


def uninstall_signal_handlers() -> None:
    """Put back what was there before."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number, handler in list(_previous.items()):
        if signal.getsignal(number) is _handle:
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        del _previous[number]


def get_current_signal_handlers_options() -> SignalHandlerOptions:
    """Which signals are handled now."""
    handled = (signal.SIGINT in _previous) + 2 * (signal.SIGTERM in _previous)
    return SignalHandlerOptions(handled)


def _handle(number: int, frame: FrameType | None) -> None:

    previous = _previous.get(number)
    shutdown_all()
    if callable(previous):
        previous(number, frame)
