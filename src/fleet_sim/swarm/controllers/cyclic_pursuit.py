"""Cyclic pursuit: each agent follows the next one of a ring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.quaternions import wrapped
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.parameters import Configured, choice_setting, documented, unbounded_setting

ORDERS = ("around", "spawned")


@documented
@dataclass(eq=False, repr=False)
class CyclicPursuitController(Configured, Controller):
    """Drives at a constant speed and turns towards the next agent of the group.

    The order is computed at the start, and again when agents are added or removed: with `order` "around"
    counter-clockwise about the middle of the group, with "spawned" in order of spawning, and after the last one the
    first.

    The angular velocity is `gain` times the bearing. N agents end up evenly spaced on a circle of radius
    `speed` / (`gain` pi / N), or on a smaller one that they go round more than once per chase (Marshall, Broucke and
    Francis, "Formations of Vehicles in Cyclic Pursuit", 2004); the first where they begin about a circle.
    """

    speed: float = setting(0.3, low=0, unit="m/s", doc="Constant linear velocity.")
    gain: float = setting(1.0, low=0, unit="1/s", doc="Angular velocity per rad of bearing.")
    max_turn: float = unbounded_setting(np.inf, "Limit of the turning speed.", unit="rad/s")
    order: str = choice_setting("around", ORDERS, "Who follows whom.")

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        target = self._targets(group)
        way = group.columns.position[target, :2] - group.positions
        bearings = wrapped(trig.arctan2(way[:, 1], way[:, 0]) - group.headings)
        turns = np.minimum(np.maximum(self.gain * bearings, -self.max_turn), self.max_turn)
        return np.stack((np.full(len(group), self.speed), turns), axis=1)

    def _targets(self, group: Group) -> Rows:
        """Return the rows (N,) of whom the agents of `group` chase."""
        whole = group.whole
        # Ids, not rows: a row can be used again by another agent.
        rows, ids = whole.rows, whole.columns.object_id[whole.rows]
        chased = self.column(whole, "chased", dtype=np.int64, default=-1)
        # While nobody comes or goes, `chased` holds every id of the group exactly once.
        if (np.sort(chased) != np.sort(ids)).any():
            ring = np.arange(len(rows))
            if self.order == "around":
                offsets = whole.positions - whole.positions.mean(axis=0)
                ring = np.argsort(trig.arctan2(offsets[:, 1], offsets[:, 0]), kind="stable")
            chased[ring] = ids[np.roll(ring, -1)]
        order = np.argsort(ids)
        targets: Rows = rows[order[np.searchsorted(ids[order], chased[group.numbers])]]
        return targets
