"""The default context and small helpers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from threading import Lock

from .arguments import split_arguments
from .constants import S_TO_NS
from .context import Context

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
