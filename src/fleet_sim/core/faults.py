"""Isolation of exceptions in user callbacks, handlers, controllers and plugins, in one place."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from fleet_sim.errors import StateError

log = logging.getLogger("fleet_sim")

Result = TypeVar("Result")


class FaultGuard:
    """Calls user code so that its exceptions do not stop the simulation.

    The first fault of each function is logged with its traceback, however many entities it is called for; all are
    counted in `counts` by description. With `raise_on_fault` the exception is counted and re-raised.
    """

    def __init__(self, *, raise_on_fault: bool = False) -> None:
        self.raise_on_fault = raise_on_fault
        self.counts: Counter[str] = Counter()
        self._logged: set[tuple[str, object]] = set()

    @property
    def total(self) -> int:
        """Total number of faults."""
        return sum(self.counts.values())

    def note(self, what: str, message: str) -> None:
        """Count a fault that raised nothing; the first one of `what` is logged. With `raise_on_fault`, raise it."""
        self.counts[what] += 1
        if self.raise_on_fault:
            raise StateError(f"{what}: {message}")
        if self.counts[what] == 1:
            log.error("%s: %s; it is counted and not reported again", what, message)

    def call(self, what: str, function: Callable[..., Result], *args: object, **kwargs: object) -> Result | None:
        """Return `function(*args, **kwargs)`, or None if it raised an exception."""
        try:
            return function(*args, **kwargs)
        except Exception:
            name, code = _identity(function)
            label = f"{what} ({name})"
            self.counts[label] += 1
            if self.raise_on_fault:
                raise
            # By code as well: all lambdas share one name.
            if (label, code) not in self._logged:
                self._logged.add((label, code))
                log.exception("fault in %s; it is counted and not reported again", label)
            return None


def _identity(function: Callable[..., object]) -> tuple[str, object]:
    """Return the name of `function`, and its code, which is the same for all instances of a method or closure."""
    while isinstance(function, partial):
        function = function.func
    plain = getattr(function, "__func__", function)
    if not hasattr(plain, "__qualname__"):
        plain = type(plain)
    return plain.__qualname__, getattr(plain, "__code__", None)
