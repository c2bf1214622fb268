"""How things came to lie in a bin, remembered, so that they need not fall again at each reset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.spatial import quaternions


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions (N, 3) and orientations (N, 4) of things at rest, in the frame of a square bin, the lowest first."""

    positions: Floats
    orientations: Floats

    def turned(self, quarters: int) -> Layout:
        """Return the same heap turned by so many quarters about the vertical."""
        turn = quaternions.from_yaws(np.full(len(self.positions), 0.5 * np.pi * quarters))
        return Layout(quaternions.rotate(turn, self.positions), quaternions.multiply(turn, self.orientations))


class LayoutLibrary:
    """Layouts by kind of thing. The lowest things of a heap lie as well when those above them are left out."""

    def __init__(self) -> None:
        self._layouts: dict[str, tuple[int, Layout]] = {}

    def find(self, kind: str, number: int) -> Layout | None:
        """Return the heap of a kind that was made of at least `number` things, None where none is known."""
        made_of, layout = self._layouts.get(kind, (0, None))
        return layout if made_of >= number else None

    def add(self, kind: str, made_of: int, layout: Layout) -> Layout:
        """Remember a heap made of so many things, the lowest first; returns it in that order."""
        order = np.argsort(layout.positions[:, 2], kind="stable")
        ordered = Layout(layout.positions[order], layout.orientations[order])
        self._layouts[kind] = made_of, ordered
        return ordered
