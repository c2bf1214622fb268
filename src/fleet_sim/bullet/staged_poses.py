"""StagedPoses: what a query in phase 1 sees, which are the poses and joints from before the step."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.core.world import World


class StagedPoses:
    """Copies of base poses and joints, taken at the beginning of a step, with what PyBullet lacks of them.

    The copies are valid for rows that still hold the entity that was there when they were taken.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._top = 0
        self._position: Floats = np.empty((0, 3))
        self._orientation: Floats = np.empty((0, 4))
        self._id = np.empty(0, np.int64)
        self._unwritten: Bools = np.empty(0, bool)
        self._joints: Floats = np.empty(0)
        self._unwritten_joints: Bools = np.empty(0, bool)

    @property
    def taken(self) -> bool:
        """Whether there are copies for this step."""
        return self._top >= 0

    def drop(self) -> None:
        """Have no copies: a query in phase 1 then has nothing that it could see."""
        self._top = -1

    def take(self) -> None:
        """Copy the poses and joints of all living rows."""
        world = self._world
        # Kept from step to step and only grown, as staging happens in each step.
        if len(self._position) < world.capacity:
            self._position = np.empty((world.capacity, 3))
            self._orientation = np.empty((world.capacity, 4))
            self._id = np.empty(world.capacity, np.int64)
            self._unwritten = np.empty(world.capacity, bool)
        rows = world.rows
        top = self._top = int(rows.max()) + 1 if len(rows) else 0
        # Copying whole slices is several times faster than indexing the rows that are behind.
        self._position[:top] = world.position[:top]
        self._orientation[:top] = world.orientation[:top]
        self._id[:top] = world.object_id[:top]
        self._unwritten[:top] = world.bullet_behind[:top]
        self._joints = world.joints.position[: world.joints.used].copy()
        self._unwritten_joints = world.robots.joints_behind[:top].copy()

    def known_mask(self, rows: Rows) -> Bools:
        """Return which of `rows` were alive when the copies were taken."""
        known_mask: Bools = rows < self._top
        # A row taken by an entity spawned in this phase has another id than when poses were staged.
        known_mask[known_mask] = self._id[rows[known_mask]] == self._world.object_id[rows[known_mask]]
        return known_mask

    def poses(self, rows: Rows) -> tuple[Bools, Floats, Floats]:
        """Return which of `rows` are known, and their base poses then, (N, 3) and (N, 4).

        Other rows get the poses of the columns.
        """
        world = self._world
        positions, orientations = world.position[rows], world.orientation[rows]
        known_mask = self.known_mask(rows)
        known = rows[known_mask]
        positions[known_mask] = self._position[known]
        orientations[known_mask] = self._orientation[known]
        return known_mask, positions, orientations

    def joints(self, rows: Rows) -> tuple[Bools, Floats]:
        """Return which of `rows` are known, and the positions of all joints then, by slot."""
        return self.known_mask(rows), self._joints

    def unwritten(self, rows: Rows) -> Rows:
        """Return those of `rows` whose copied pose PyBullet does not have yet."""
        candidates = rows[rows < self._top]
        return candidates[self._unwritten[candidates]]

    def unwritten_joints(self, rows: Rows) -> Rows:
        """Return those of `rows` whose copied joints PyBullet does not have yet."""
        known = rows[self.known_mask(rows)]
        return known[self._unwritten_joints[known]]

    def note_poses(self, rows: Rows, known_mask: Bools, positions: Floats, orientations: Floats) -> None:
        """Note that PyBullet has these poses of `rows`; rows that moved since the copies stay behind."""
        world = self._world
        self._unwritten[rows[known_mask]] = False
        same_mask = (positions == world.position[rows]).all(1) & (orientations == world.orientation[rows]).all(1)
        world.bullet_behind[rows[same_mask]] = False

    def take_over(self, row: int) -> None:
        """Copy one row again: PyBullet was told something else of it, and has it already."""
        if row >= self._top:
            return
        world = self._world
        self._position[row], self._orientation[row] = world.position[row], world.orientation[row]
        self._unwritten[row] = self._unwritten_joints[row] = False
        slots = world.joints.of(world.robots, row)
        if slots.stop <= len(self._joints):
            self._joints[slots] = world.joints.position[slots]

    def note_joints(self, rows: Rows) -> None:
        """Note that PyBullet has the copied joints of `rows`."""
        robots = self._world.robots
        self._unwritten_joints[rows] = False
        # PyBullet now has positions from before this step: what has moved in it is behind again.
        robots.joints_behind[rows] = robots.joints_moved[rows]
