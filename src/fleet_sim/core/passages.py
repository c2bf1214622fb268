"""Passages: places in a building that open when a robot is to pass, as doors are."""

from __future__ import annotations

from typing import Protocol

from fleet_sim.arrays import Bools, Floats, Rows


class Passages(Protocol):
    """Knows the passages of a world that open for robots; each is named by the row of its first part."""

    def opening_for_robots(self) -> Rows:
        """Return the passages (P,) that open when a robot asks."""

    def parts_of(self, passage: int) -> Rows:
        """Return the bodies (K,) that stand in the way while it is closed, and move while it opens."""

    def poses_at(self, parts: Rows, opening: float) -> tuple[Floats, Floats]:
        """Return positions (K, 3) and orientations (K, 4) of parts of a passage that is open by 0 to 1."""

    def reach(self, parts: Rows, opening: float, points: Floats, radius: float) -> Bools:
        """Return which `points` (N, 2) are nearer than `radius` m to parts of a passage that is open by `opening`."""

    def are_open(self, passages: Rows) -> Bools:
        """Return which of `passages` (P,) are open, wholly."""

    def keep_open(self, passages: Rows, seconds: float = 0.0) -> None:
        """Open `passages` (P,), and keep them open in the next step and for `seconds`, whatever they are told."""
