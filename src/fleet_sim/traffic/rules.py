"""Rules of zones, by cell: how fast, and which way."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import Zone, ZoneKind
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.traffic.sight import Sight

ALONG = -1e-9
"""Straight across the way of a one-way zone is allowed: robots must reach what stands beside it."""


class Rules:
    """The zones of a site that limit speeds and directions. A cell is in a zone if its middle is.

    Cells with the same rules have the same `label` (H * W,), by which `speeds` (L,) in m/s and `ways` (one array (K, 2)
    of directions per label) are found. Directions are unit vectors as (column, row) of the grid.
    """

    def __init__(self, site: Site) -> None:
        grid = site.grid
        # No-go zones are blocked cells already.
        zones = [zone for zone in site.zones if zone.kind is not ZoneKind.NO_GO]
        self._shape = grid.free_mask.shape
        self.label: Ints = np.zeros(grid.count, np.int64)
        combinations = np.zeros((0, 1), bool)
        if zones:
            middles = grid.middles
            inside = np.array([zone.contains(middles) for zone in zones])
            # One combination of zones is one label.
            combinations, labels = np.unique(inside, axis=1, return_inverse=True)
            self.label[:] = np.ravel(labels)
        speeds, ways = [], []
        for combination in combinations.T:
            here = [zone for zone, inside_it in zip(zones, combination.tolist(), strict=True) if inside_it]
            # Where several zones overlap, the slowest limit counts.
            speeds.append(min([zone.speed for zone in here if zone.kind is ZoneKind.SPEED_LIMIT], default=np.inf))
            ways.append(_ways(here, grid.origin[2]))
        self.speeds: Floats = np.array(speeds)
        self.ways = ways
        self._sights: dict[int, Sight] = {}

    @property
    def uniform(self) -> bool:
        """Whether all cells have the same rules."""
        return len(self.speeds) == 1

    def touched(self, begin: tuple[float, float], end: tuple[float, float]) -> list[int]:
        """Return the labels of the cells that the line from `begin` to `end`, in cells, leads through."""
        if self.uniform:
            return [0]
        # A line that a label does not block is nowhere on it.
        return [label for label in range(len(self.speeds)) if not self._sight(label).is_clear(begin, end, 0.0)]

    def _sight(self, label: int) -> Sight:
        sight = self._sights.get(label)
        if sight is None:
            sight = self._sights[label] = Sight((self.label == label).reshape(self._shape))
        return sight

    def allows(self, labels: list[int], direction: tuple[float, float]) -> bool:
        """Return whether one may drive in `direction` (column, row) where all of `labels` hold."""
        return all(self._allows(label, direction) for label in labels)

    def _allows(self, label: int, direction: tuple[float, float]) -> bool:
        ways = self.ways[label]
        # All ways of a place have to agree; none at all allows everything.
        return not len(ways) or bool((ways @ np.array(direction) >= ALONG).all())

    def allowed_mask(self, direction: tuple[int, int]) -> Bools:
        """Return the cells (H * W,) in which one may drive in `direction` (column, row)."""
        by_label = np.array([self._allows(label, direction) for label in range(len(self.speeds))])
        return np.asarray(by_label[self.label])

    def limit(self, labels: list[int]) -> float:
        """Return the lowest speed limit in m/s of `labels`, inf for none."""
        return float(self.speeds[labels].min())


def _ways(zones: list[Zone], yaw: float) -> Floats:
    # In the frame of the grid, which may be turned in the world.
    directions = np.array([zone.direction - yaw for zone in zones if zone.kind is ZoneKind.ONE_WAY])
    # Rows count downwards.
    sines, cosines = trig.sin_cos(directions)
    return np.stack((cosines, -sines), axis=1)
