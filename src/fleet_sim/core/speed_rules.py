"""Rules that lower the speed limits of robots for a step, such as those of zones, while their laws move them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fleet_sim.core.world_rules import WorldRules


class SpeedRule(ABC):
    """A reason to drive slower for a step. Outside of the laws of motion robots have their own limits."""

    @abstractmethod
    def lower(self) -> None:
        """Lower the limits in `world.motion` where the rule holds."""

    @abstractmethod
    def restore(self) -> None:
        """Write back what `lower` found, bit for bit."""


class SpeedRules(WorldRules[SpeedRule]):
    """The rules of a simulation: `world.speed_rules`. They are applied from the next step on."""

    def __init__(self) -> None:
        super().__init__()
        self.asking: Callable[[], int] = self._rules.__len__
        """Returns how many there are, for who asks in every step."""

    def __bool__(self) -> bool:
        return bool(self._rules)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Lower the limits for what runs inside, whatever it raises."""
        for rule in self._rules:
            rule.lower()
        try:
            yield
        finally:
            # In reverse: a rule found what those before it had lowered.
            for rule in reversed(self._rules):
                rule.restore()
