"""Rules for which robots may not drive at present, checked whenever a robot is commanded to drive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from fleet_sim.arrays import Bools, Rows
from fleet_sim.core.world_rules import WorldRules


class DriveRule(ABC):
    """A reason why a robot may not drive, besides a fixed base and being carried. A feature adds one to the world.

    The rule only rejects commands; its feature must stop robots that are already driving. A feature that moves robots
    itself hears of stops by `stopped`.
    """

    reason: ClassVar[str]
    """The reason shown in acknowledgements and errors, e.g. "its battery is empty"."""

    @abstractmethod
    def refuses(self, rows: Rows) -> Bools:
        """Return which of `rows` (N,) may not drive now."""

    def stopped(self, rows: Rows, *, stay: bool) -> None:
        """Hear that `rows` (N,) were stopped: to `stay` where they are, or because what moved them has ended."""
        return


DriveRules = WorldRules[DriveRule]
"""The rules of a simulation: `world.drive_rules`."""
