"""Robots that the engine moves: what their laws plan becomes the velocities of a drive, and the engine moves them.

A law runs on the columns as for any other robot: from the pose that the engine has, upright, and from the velocity that
the law planned, less what the engine did not do of it. So it meets contacts and loads as deviations, and arrives where
the engine is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Rows
from fleet_sim.base.params import ControllerMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.motion.laws import drives_by_motors
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

IDLE, POSE = ControllerMode.IDLE.code, ControllerMode.POSE.code
NEAR, ALIGNED = 1e-3, 1e-3
"""How near (m) to where its law stops, and how well turned (rad), a robot must be by its engine to have arrived."""
NOISE = (0.02, 0.02, 0.1)
"""Deviations (m/s, m/s, rad/s) below which a velocity is as planned: laws tell by exact zeros what stands."""
_FLAGS = ("moved", "bullet_behind", "bounds_behind")


class _Begun(NamedTuple):
    """Rows with their state before the laws: by the engine, and as their laws see it, (x, y, turn)."""

    rows: Rows
    engine: tuple[Floats, Floats, Floats, Floats]
    flags: tuple[Bools, ...]
    headings: Floats
    velocities: Floats


class EngineDriven:
    """Turns the motion that laws plan for bodies of the engine into drives: `begin` before the laws, `end` after."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._begun: _Begun | None = None

    def begin(self) -> None:
        """Let the laws see robots of the engine upright, with the velocities they planned."""
        world, motion, table = self._world, self._world.motion, self._world.drives
        self._begun = None
        rows = self._rows() if world.physics else NO_ROWS
        if table.in_use and np.count_nonzero(table.driven):
            self._let_go(rows)
        if not len(rows):
            return
        table.use()
        new = rows[~table.driven[rows]]
        headings = quaternions.yaws(world.orientation[rows])
        # Who was not driven until now goes on as it moves.
        self._take_twist(new, world.velocity[new], world.angular_velocity[new])
        table.lost[new] = table.missed[new] = 0.0
        engine = world.position[rows], world.orientation[rows], world.velocity[rows], world.angular_velocity[rows]
        sine, cosine = trig.sin_cos(headings)
        ahead, aside, turn = motion.body_linear[rows, 0], motion.body_linear[rows, 1], motion.body_angular[rows, 2]
        velocities = np.stack((cosine * ahead - sine * aside, sine * ahead + cosine * aside, turn), axis=1)
        flags = tuple(getattr(world, name)[rows] for name in _FLAGS)
        self._begun = _Begun(rows, engine, flags, headings, velocities)
        world.orientation[rows] = quaternions.from_yaws(headings)
        world.velocity[rows] = velocities * (1.0, 1.0, 0.0)
        world.angular_velocity[rows] = velocities * (0.0, 0.0, 1.0)
        for row in rows[motion.control[rows] == POSE].tolist():
            self._flatten_path(row)

    def end(self, ended: Rows, dt: float) -> Rows:
        """Hand what was planned over to the engine; return which of `ended` have arrived.

        Those of the engine have where it had them before this step; others need one step more.
        """
        begun, world, table, motion = self._begun, self._world, self._world.drives, self._world.motion
        if begun is None:
            return ended
        rows, self._begun = begun.rows, None
        way = np.empty((len(rows), 3))
        way[:, :2] = (world.position[rows] - begun.engine[0])[:, :2]
        way[:, 2] = quaternions.wrapped(quaternions.yaws(world.orientation[rows]) - begun.headings)
        planned = np.concatenate((world.velocity[rows, :2], world.angular_velocity[rows, 2:]), axis=1)
        table.mean[rows] = way / dt
        table.change[rows], table.after[rows] = planned - begun.velocities, planned
        table.driven[rows] = True
        world.position[rows], world.orientation[rows], world.velocity[rows], world.angular_velocity[rows] = begun.engine
        for name, values in zip(_FLAGS, begun.flags, strict=True):
            getattr(world, name)[rows] = values
        far_mask = np.sqrt(way[:, 0] * way[:, 0] + way[:, 1] * way[:, 1]) > NEAR
        far_mask |= (np.abs(way[:, 2]) > ALIGNED) & motion.align_final[rows]
        arrived: Rows = ended[~np.isin(ended, rows[far_mask])] if len(ended) else ended
        table.ends[rows] = np.isin(rows, arrived) | (motion.control[rows] == IDLE)
        return arrived

    def read_back(self) -> None:
        """Let the laws go on with the velocities they planned, less what the engine did not do of them."""
        world, table = self._world, self._world.drives
        if not table.in_use:
            return
        rows = np.flatnonzero(table.driven & world.alive)
        if not len(rows):
            return
        # What lasts for two steps: shaking takes and gives.
        one, other = table.missed[rows], table.missed_before[rows]
        missed = np.where(np.abs(one) < np.abs(other), one, other)
        missed[(one * other < 0.0) | (np.abs(missed) < NOISE)] = 0.0
        # Sums with zeros are exact.
        left = table.after[rows] + missed
        left[table.ends[rows]] = 0.0
        self._take_twist(rows, left, left)

    def _rows(self) -> Rows:
        """Return the rows that follow a law in this step, and that their engine moves."""
        world = self._world
        mask = world.dynamic & (world.motion.control != IDLE) & world.alive & (world.parent == NO_ROW)
        rows = np.flatnonzero(mask)
        if not len(rows):
            return rows
        laws = world.motion.law[rows]
        # Law 0 cannot move, and what drives by motors moves by its joints.
        planned = [law for law in np.unique(laws).tolist() if law and not drives_by_motors(law)]
        return rows[np.isin(laws, planned)]

    def _let_go(self, rows: Rows) -> None:
        """End the drives of those that are not among `rows` any more: who was stopped stands, others roll on."""
        world, table = self._world, self._world.drives
        gone_mask = table.driven.copy()
        gone_mask[rows] = False
        gone = np.flatnonzero(gone_mask)
        table.driven[gone] = False
        stopped = gone[world.alive[gone] & world.dynamic[gone] & ~table.ends[gone] & (world.motion.law[gone] != 0)]
        # For one step, as a stop at once; then they are free.
        table.driven[stopped] = table.ends[stopped] = True
        table.mean[stopped] = table.change[stopped] = table.after[stopped] = 0.0

    def _take_twist(self, rows: Rows, linear: Floats, angular: Floats) -> None:
        """Set the twists of `rows` in their own frames from world velocities (N, 3), upright."""
        motion = self._world.motion
        sine, cosine = trig.sin_cos(quaternions.yaws(self._world.orientation[rows]))
        x, y = linear[:, 0], linear[:, 1]
        motion.body_linear[rows] = np.stack((cosine * x + sine * y, cosine * y - sine * x, np.zeros(len(rows))), axis=1)
        motion.body_angular[rows] = angular * (0.0, 0.0, 1.0)

    def _flatten_path(self, row: int) -> None:
        """Put the waypoints of `row` at the height that it has, and upright: these are the engine's."""
        world, motion, pool = self._world, self._world.motion, self._world.waypoints
        at = slice(int(motion.path_start[row]), int(motion.path_start[row] + motion.path_length[row]))
        pool.position[at, 2] = world.position[row, 2]
        if motion.path_fresh[row]:
            pool.orientation[at] = quaternions.from_yaws(quaternions.yaws(pool.orientation[at]))
