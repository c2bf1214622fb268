"""Links of one robot that touch each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.collision.convex.distances import ExactDistances, LinkPair
from fleet_sim.core import mimic
from fleet_sim.core.robot_model import BASE, RobotModel
from fleet_sim.core.world import World


class _Links(NamedTuple):
    counted: list[LinkPair]
    exempt: list[LinkPair]


class LinkContacts:
    """Finds the pairs of links of a robot that are within `margin` m of each other.

    Pairs that are joined by a joint never count, nor do those that are within the margin in the rest posture: all
    joints at 0, or at the limit nearest to it. Their shapes overlap by design, as of fingers or of cables.
    """

    def __init__(self, world: World, exact: ExactDistances, *, margin: float) -> None:
        self._world = world
        self._exact = exact
        self._margin = margin
        self._known: dict[int, _Links] = {}
        """The pairs of each model by its number."""

    def touching(self, row: int) -> list[LinkPair]:
        """Return the pairs of links of `row` that touch, smaller index first, sorted."""
        return self._exact.touching_links(row, self._links_of(row).counted, self._margin)

    def exempt(self, row: int) -> list[LinkPair]:
        """Return the pairs of links of `row` that never count for how they are at rest."""
        return self._links_of(row).exempt

    def _links_of(self, row: int) -> _Links:
        number = int(self._world.robots.model[row])
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._measure(row, self._world.models[number])
        return known

    def _measure(self, row: int, model: RobotModel) -> _Links:
        """Return which pairs of links of a robot can touch by moving, and which touch already when it rests.

        Parents and children always touch and are left out. A robot rests with all joints at 0, or at the nearest limit.
        """
        lower, upper = model.lower[model.movable], model.upper[model.movable]
        rest = np.where(model.limited_mask[model.movable], np.clip(0.0, lower, np.maximum(lower, upper)), 0.0)
        solid = sorted({shape.link for shape in model.collisions})
        apart = [
            (one, other)
            for index, one in enumerate(solid)
            for other in solid[index + 1 :]
            if other > BASE and model.parents[other] != one
        ]
        resting = set(self._exact.touching_links(row, apart, self._margin, mimic.led_positions(model, rest)))
        return _Links([pair for pair in apart if pair not in resting], sorted(resting))
