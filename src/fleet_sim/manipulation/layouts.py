"""A cache of the resting poses of objects in a bin, so that the fall is not simulated at each reset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.spatial import quaternions


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions (N, 3) and orientations (N, 4) of objects at rest, in the frame of a square bin, lowest first."""

    positions: Floats
    orientations: Floats

    def turned(self, quarters: int) -> Layout:
        """Return the same heap rotated about the vertical by `quarters` quarter turns."""
        orientation = quaternions.from_yaws(np.full(len(self.positions), 0.5 * np.pi * quarters))
        return Layout(
            quaternions.rotate(orientation, self.positions), quaternions.multiply(orientation, self.orientations)
        )


class LayoutLibrary:
    """Layouts by kind of object.

    A layout of N objects serves every smaller number: objects rest on those below them, so the lowest ones stay at rest
    without those above. That is why layouts are sorted by height.
    """

    def __init__(self) -> None:
        self._layouts: dict[str, tuple[int, Layout]] = {}

    def find(self, kind: str, number: int) -> Layout | None:
        """Return the layout of a kind that was made from at least `number` objects, or None."""
        made_of, layout = self._layouts.get(kind, (0, None))
        return layout if made_of >= number else None

    def add(self, kind: str, made_of: int, layout: Layout) -> Layout:
        """Store a layout that was made from `made_of` objects; returns it sorted, lowest object first."""
        order = np.argsort(layout.positions[:, 2], kind="stable")
        ordered = Layout(layout.positions[order], layout.orientations[order])
        self._layouts[kind] = made_of, ordered
        return ordered
