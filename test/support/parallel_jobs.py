"""What workers do in tests: they import this module, so that jobs can be pickled by name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def squares() -> Callable[[Any], Any]:
    """Begin a worker that squares numbers."""
    return lambda number: number * number


def trouble() -> Callable[[Any], Any]:
    """Begin a worker that does what it is told: (what, with what)."""

    def do(told: tuple[str, Any]) -> Any:
        what, value = told
        if what == "raise":
            raise RuntimeError(value)
        if what == "hang":
            time.sleep(600.0)
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "die once":
            # The file tells the next attempt that this one was there.
            if not Path(value).exists():
                Path(value).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return "alive"
        if what == "fill":
            return len(bytearray(value)) and time.sleep(600.0)
        if what == "threads":
            return os.environ["OMP_NUM_THREADS"]
        return value

    return do


def broken() -> Callable[[Any], Any]:
    """Fail to begin a worker."""
    raise ValueError("no such scenario")
