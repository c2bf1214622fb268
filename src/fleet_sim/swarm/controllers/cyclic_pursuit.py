"""Cyclic pursuit: everybody follows the next one round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet_sim.arrays import Floats, as_float
from fleet_sim.spatial.quaternions import wrapped
from fleet_sim.swarm.base import Controller
from fleet_sim.swarm.controllers.order import places_in_group

if TYPE_CHECKING:
    from fleet_sim.swarm.groups import Group

_WHAT = "CyclicPursuitController"


class CyclicPursuitController(Controller):
    """Drives at a constant speed and turns towards the next agent of the group, the last one towards the first.

    The turning speed is `gain` times the bearing. N agents end up evenly spaced on a circle of radius
    `speed` / (`gain` pi / N) (Marshall, Broucke and Francis, "Formations of Vehicles in Cyclic Pursuit", 2004).
    """

    def __init__(self, speed: float = 0.3, gain: float = 1.0, max_turn: float = np.inf) -> None:
        """`speed`: m/s. `gain`: turning speed per bearing, 1/s. `max_turn`: limit of the turning speed, rad/s."""
        self.speed = as_float(speed, f"{_WHAT}: speed in m/s", low=0.0)
        self.gain = as_float(gain, f"{_WHAT}: gain", low=0.0)
        self.max_turn = np.inf if max_turn == np.inf else as_float(max_turn, f"{_WHAT}: max_turn in rad/s", low=0.0)

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        rows, places = places_in_group(group)
        target = rows[(places + 1) % len(rows)]
        way = group.columns.position[target, :2] - group.positions
        bearings = wrapped(np.arctan2(way[:, 1], way[:, 0]) - group.headings)
        turns = np.minimum(np.maximum(self.gain * bearings, -self.max_turn), self.max_turn)
        return np.stack((np.full(len(group), self.speed), turns), axis=1)
