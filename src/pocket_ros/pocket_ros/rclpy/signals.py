"""What SIGINT and SIGTERM do while a context is initialised.

Both shut down every initialised context. SIGINT then has its usual effect (KeyboardInterrupt in the main
thread); after SIGTERM
the spin functions raise ExternalShutdownException.
"""

from __future__ import annotations

import signal
import threading
from enum import IntEnum
from types import FrameType
from typing import Any

from ..module_places import not_covered


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
    from .context import shutdown_all

    previous = _previous.get(number)
    shutdown_all()
    if callable(previous):
        previous(number, frame)


__getattr__ = not_covered("rclpy.signals")
