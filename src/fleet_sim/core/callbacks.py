"""User callbacks, each with its own rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fleet_sim.core.clock import Clock, Schedule
from fleet_sim.core.faults import FaultGuard, GuardedPart
from fleet_sim.errors import InvalidValueError


@dataclass
class _CallbackEntry:
    function: Callable[..., object]
    schedule: Schedule
    part: GuardedPart


class CallbackList:
    """Functions called as `function(owner, dt)`, `dt` being the seconds since that function's last call.

    The list may be changed while it runs: changes take effect in the next step.
    """

    def __init__(self, clock: Clock, guard: FaultGuard) -> None:
        self._clock = clock
        self._guard = guard
        self.entries: tuple[_CallbackEntry, ...] = ()
        """The functions with their rates; replaced where they change."""

    def add(self, function: Callable[..., object], frequency: float | None, what: str) -> None:
        """Call `function` `frequency` times per simulated second (None: at each step); raises InvalidValueError."""
        if not callable(function):
            raise InvalidValueError(f"{what}: expected a function, got {function!r}")
        self.entries = (
            *self.entries,
            _CallbackEntry(function, self._clock.schedule(frequency), self._guard.part(what)),
        )

    def remove(self, function: Callable[..., object]) -> bool:
        """Stop calling `function`; returns whether it was in the list."""
        # By `!=`, as bound methods are made anew at each access.
        kept = tuple(entry for entry in self.entries if entry.function != function)
        removed = len(kept) < len(self.entries)
        self.entries = kept
        return removed

    def run(self, owner: object) -> None:
        """Call the functions that are due in this step."""
        for entry in self.entries:
            elapsed = entry.schedule.poll()
            if elapsed is not None:
                entry.part.call(entry.function, owner, elapsed)

    @property
    def functions(self) -> list[Callable[..., object]]:
        """The functions, in order."""
        return [entry.function for entry in self.entries]

    def __len__(self) -> int:
        return len(self.entries)
