"""Who may not drive at present, and why: asked wherever a robot is told to drive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from fleet_sim.arrays import Bools, Rows


class DriveRule(ABC):
    """A reason why a robot does not drive, besides a fixed base and being carried. A feature adds one to the world.

    The rule refuses commands; stopping a robot that drives already is its feature's business.
    """

    reason: ClassVar[str]
    """Why, as it stands in acknowledgements and errors, such as "its battery is empty"."""

    @abstractmethod
    def refuses(self, rows: Rows) -> Bools:
        """Return which of `rows` (N,) may not be told to drive now."""


class DriveRules:
    """The rules of a simulation: `world.drive_rules`."""

    def __init__(self) -> None:
        self._rules: list[DriveRule] = []

    def add(self, rule: DriveRule) -> None:
        """Let `rule` count from now on."""
        self._rules.append(rule)

    def __iter__(self) -> Iterator[DriveRule]:
        return iter(self._rules)
