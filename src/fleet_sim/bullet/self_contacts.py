"""Links of one robot that touch each other."""

from __future__ import annotations

import numpy as np

from fleet_sim.bullet.bodies import BulletBodies
from fleet_sim.core import mimic
from fleet_sim.core.robot_model import BASE, RobotModel

LinkPair = tuple[int, int]


class SelfContacts:
    """Finds the pairs of links of a robot that are within `margin` m of each other.

    Pairs that are joined by a joint never count, nor do those that are within the margin in the rest posture: all
    joints at 0, or at the limit nearest to it. Their shapes overlap by design, as of fingers or of cables.
    """

    def __init__(self, bodies: BulletBodies, *, margin: float) -> None:
        self._bodies = bodies
        self._margin = margin
        self._known: dict[int, tuple[list[LinkPair], list[LinkPair]]] = {}
        """By number of the model: the pairs that count, and those that are exempt for the rest posture."""

    def touching(self, row: int) -> list[LinkPair]:
        """Return the pairs of links of `row` that touch, smaller index first, sorted; it must have a body."""
        body = int(self._bodies.table.body[row])
        return self._within(body, self._pairs_of(row)[0])

    def exempt(self, row: int) -> list[LinkPair]:
        """Return the pairs of links of `row` that never count for how they are at rest."""
        return self._pairs_of(row)[1]

    def _pairs_of(self, row: int) -> tuple[list[LinkPair], list[LinkPair]]:
        world = self._bodies.world
        number = int(world.robots.model[row])
        known = self._known.get(number)
        if known is None:
            # In a body of its own, as that of the robot has a state that measuring would change.
            body = self._bodies.create_loose(world.shapes[int(world.shape_id[row])])
            try:
                known = self._known[number] = self._measure(body, world.models[number])
            finally:
                self._bodies.remove_loose(body)
        return known

    def _measure(self, body: int, model: RobotModel) -> tuple[list[LinkPair], list[LinkPair]]:
        client = self._bodies.client
        lower, upper = model.lower[model.movable], model.upper[model.movable]
        rest = np.where(model.limited_mask[model.movable], np.clip(0.0, lower, np.maximum(lower, upper)), 0.0)
        for joint, position in zip(model.movable.tolist(), mimic.led_positions(model, rest).tolist(), strict=True):
            client.resetJointState(body, joint, position)
        solid = sorted({shape.link for shape in model.collisions})
        apart = [
            (one, other)
            for index, one in enumerate(solid)
            for other in solid[index + 1 :]
            if other > BASE and model.parents[other] != one
        ]
        resting = set(self._within(body, apart))
        return [pair for pair in apart if pair not in resting], sorted(resting)

    def _within(self, body: int, pairs: list[LinkPair]) -> list[LinkPair]:
        ask = self._bodies.client.getClosestPoints
        return [pair for pair in pairs if ask(body, body, self._margin, *pair)]
