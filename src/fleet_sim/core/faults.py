"""Isolation of exceptions in user callbacks, handlers, controllers and plugins, in one place."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Final, Literal, TypeVar

from fleet_sim.errors import StateError

log = logging.getLogger("fleet_sim")

Result = TypeVar("Result")

MAX_FAILURES = 100
"""In a row, after which a part is called no more, where a simulation sets nothing else."""


class CallOutcome(Enum):
    """What `FaultGuard.attempt` returns in place of a result."""

    FAILED = "failed"


FAILED: Final = CallOutcome.FAILED


class FaultGuard:
    """Calls user code so that its exceptions do not stop the simulation.

    The first fault of each function is logged with its traceback, however many entities it is called for; all are
    counted in `counts` by description. With `raise_on_fault` the exception is counted and re-raised.

    Code that is called again and again is a `part`: it is switched off after `max_failures` faults in a row (0: never),
    until the simulation is reset. `switched_off` counts these parts by description.
    """

    def __init__(self, *, raise_on_fault: bool = False, max_failures: int = MAX_FAILURES) -> None:
        self.raise_on_fault = raise_on_fault
        self.max_failures = max_failures
        self.counts: Counter[str] = Counter()
        self.switched_off: Counter[str] = Counter()
        self.age = 0
        """How often `revive` was called."""
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
        # As in `attempt`, without the cost of one call more for each piece of user code.
        try:
            return function(*args, **kwargs)
        except Exception:
            self._note_failure(what, function)
            return None

    def attempt(
        self, what: str, function: Callable[..., Result], *args: object, **kwargs: object
    ) -> Result | Literal[CallOutcome.FAILED]:
        """Return `function(*args, **kwargs)`, or FAILED if it raised an exception: None may be a result."""
        try:
            return function(*args, **kwargs)
        except Exception:
            self._note_failure(what, function)
            return FAILED

    def _note_failure(self, what: str, function: Callable[..., object]) -> None:
        """Count the exception that is being handled; with `raise_on_fault` raise it again, else log the first one."""
        name, code = _identity(function)
        label = f"{what} ({name})"
        self.counts[label] += 1
        if self.raise_on_fault:
            raise
        # By code as well: all lambdas share one name.
        if (label, code) not in self._logged:
            self._logged.add((label, code))
            log.exception("fault in %s; it is counted and not reported again", label)

    def part(self, what: str) -> GuardedPart:
        """Return a new part: it stands for one piece of code that is called again and again."""
        return GuardedPart(self, what)

    def part_of(self, saved: tuple[str, int]) -> GuardedPart:
        """Return a part like the one that `GuardedPart.state_of` returned `saved` of."""
        part = self.part(str(saved[0]))
        # As if it had failed so often just now.
        part.fail(int(saved[1]))
        return part

    def switch_off(self, what: str, function: Callable[..., object]) -> None:
        """Count a part that is called no more; the first one of its description is logged."""
        label = f"{what} ({_identity(function)[0]})"
        self.switched_off[label] += 1
        # Many parts may share a description, such as one controller of a thousand robots.
        if self.switched_off[label] == 1:
            log.error(
                "%s failed %d times in a row (max_failures) and is switched off until a reset", label, self.max_failures
            )

    def revive(self) -> None:
        """Switch all parts on again, as after a reset."""
        # Parts compare it with their own: those that failed before are on again.
        self.age += 1
        self.switched_off.clear()


class GuardedPart:
    """One piece of user code. A success resets its count of faults."""

    __slots__ = ("_age", "_failures", "_guard", "_what")

    def __init__(self, guard: FaultGuard, what: str) -> None:
        self._guard = guard
        self._what = what
        self._failures = 0
        self._age = guard.age

    @property
    def is_off(self) -> bool:
        """Whether the part failed too often."""
        # 0 means never; faults of before a reset do not count.
        return 0 < self._guard.max_failures <= self._failures and self._age == self._guard.age

    def state_of(self) -> tuple[str, int]:
        """Return what it stands for, and how often it failed in a row."""
        return self._what, self._failures if self._age == self._guard.age else 0

    def fail(self, times: int) -> None:
        """Count as having failed `times` times in a row."""
        self._failures, self._age = times, self._guard.age

    def call(self, function: Callable[..., Result], *args: object, **kwargs: object) -> Result | None:
        """Return `function(*args, **kwargs)`, or None if it raised an exception or the part is off."""
        # Asked only after a fault, so that code that works costs nothing.
        if self._failures and self.is_off:
            return None
        guard = self._guard
        result = guard.attempt(self._what, function, *args, **kwargs)
        if result is not FAILED:
            self._failures = 0
            return result
        # Faults from before a reset do not count: the part was switched on again.
        self._failures = self._failures + 1 if self._age == guard.age else 1
        self._age = guard.age
        if self.is_off:
            guard.switch_off(self._what, function)
        return None


def _identity(function: Callable[..., object]) -> tuple[str, object]:
    """Return the name of `function`, and its code, which is the same for all instances of a method or closure."""
    # Parts of the package wrap what users give; the name in the log is to be the users' own.
    while isinstance(function, partial):
        function = function.func
    plain = getattr(function, "__func__", function)
    if not hasattr(plain, "__qualname__"):
        plain = type(plain)
    return plain.__qualname__, getattr(plain, "__code__", None)
