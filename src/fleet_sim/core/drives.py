"""Drives: how bodies that an engine moves follow their laws of motion.

A law plans the pose at the end of a step. For what an engine moves, the plan becomes velocities in the plane, which the
engine's body gets before each substep; the engine alone moves it. Height and tilt are the engine's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.core.columns import ColumnTable, column

STRENGTH = 40.0, 1000.0
"""What a drive adds against friction and loads: at most this acceleration (m/s2), and about the vertical (rad/s2)."""


class DriveColumns(ColumnTable):
    """The drives of one step. Vectors are (x, y, turn): m/s in the world frame, rad/s about the vertical."""

    on_demand = True

    driven: Bools = column(bool, writer="motion", doc="a law moves it in this step, by its engine", hashed=False)
    ends: Bools = column(bool, writer="motion", doc="with this step its drive ends, at rest", hashed=False)
    mean: Floats = column(float, (3,), writer="motion", doc="mean velocity of the step", hashed=False)
    change: Floats = column(float, (3,), writer="motion", doc="by which it changes within the step", hashed=False)
    after: Floats = column(float, (3,), writer="motion", doc="velocity at the end of the step", hashed=False)
    missed: Floats = column(float, (3,), writer="engine", doc="mean velocity of the engine less `mean`", hashed=False)
    missed_before: Floats = column(float, (3,), writer="engine", doc="as `missed`, of the step before", hashed=False)
    lost: Floats = column(float, (3,), writer="engine", doc="taken by friction and loads in a substep", hashed=False)


class Twist(NamedTuple):
    """Velocities of base frames (N, 3) and angular velocities (N, 3), world frame."""

    linear: Floats
    angular: Floats


class DrivenSubsteps:
    """Gives the driven rows their velocities in the `count` substeps of `span` s of one step."""

    def __init__(self, table: DriveColumns, alive: Bools, count: int, span: float) -> None:
        self.rows: Rows = np.flatnonzero(table.driven & alive) if table.in_use else np.empty(0, np.int64)
        self._table, self._count = table, count
        self._most = tuple(strength * span for strength in STRENGTH)
        self._mean, self._change = table.mean[self.rows], table.change[self.rows]
        self._lost, self._missed = table.lost[self.rows], np.zeros((len(self.rows), 3))
        self._asked = self._sent = self._mean

    def begin(self, index: int, now: Twist) -> Twist:
        """Return the velocities to give before substep `index`, for those the engine has `now`.

        What the last substep took away, by friction or by a load that is pushed, is added to the velocity asked for.
        """
        if index == 0:
            self._lost, self._missed = self._table.lost[self.rows], np.zeros((len(self.rows), 3))
        else:
            self._look_back(now)
        # Evenly from the velocity before the step to that after it, in the middle of each substep.
        share = (index + 0.5) / self._count - 0.5
        self._asked = self._mean + share * self._change
        self._sent = self._asked + self._lost
        return _with_planar(now, self._sent)

    def end(self, now: Twist) -> Twist:
        """Note how the last substep went; return the velocities after the step: its means, so that they give its way.

        Whose drive ends stands.
        """
        rows, table = self.rows, self._table
        self._look_back(now)
        table.missed_before[rows] = table.missed[rows]
        table.lost[rows], table.missed[rows] = self._lost, self._missed / self._count
        return _with_planar(now, np.where(table.ends[rows][:, None], 0.0, self._mean + table.missed[rows]))

    def _look_back(self, now: Twist) -> None:
        """Note what the last substep took of the velocities sent, as far as a drive can add it, and of those asked."""
        planar = _planar(now)
        self._missed += planar - self._asked
        lost = self._sent - planar
        size = np.sqrt(lost[:, 0] * lost[:, 0] + lost[:, 1] * lost[:, 1])
        linear, angular = self._most
        lost[:, :2] *= (linear / np.maximum(size, linear))[:, None]
        lost[:, 2] = np.minimum(np.maximum(lost[:, 2], -angular), angular)
        self._lost = lost


def _planar(twist: Twist) -> Floats:
    return np.stack((twist.linear[:, 0], twist.linear[:, 1], twist.angular[:, 2]), axis=1)


def _with_planar(twist: Twist, planar: Floats) -> Twist:
    """Return `twist` with other velocities in the plane; the vertical velocity and the tilting stay."""
    linear, angular = twist.linear.copy(), twist.angular.copy()
    linear[:, :2], angular[:, 2] = planar[:, :2], planar[:, 2]
    return Twist(linear, angular)
