"""PoseWriter: brings the bodies in PyBullet to the poses and joints of the columns, or to those before the step."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.bullet.bodies import BulletBodies
from fleet_sim.bullet.client import NO_BODY
from fleet_sim.bullet.detached import DetachedBodies
from fleet_sim.bullet.staged_poses import StagedPoses
from fleet_sim.core.world import World
from fleet_sim.errors import StateError


class PoseWriter:
    """Makes the bodies that are missing and writes what is outdated. `BulletMirror` says when, and which poses."""

    def __init__(self, world: World, bodies: BulletBodies, detached: DetachedBodies, staged: StagedPoses) -> None:
        self._world = world
        self._bodies = bodies
        self._detached = detached
        self._staged = staged

    def make_missing(self, rows: Rows) -> int:
        """Make the bodies that `rows` lack, at the poses of the columns; return how many."""
        missing = self._bodies.missing(rows)
        if len(missing):
            self._create(missing)
        return len(missing)

    def _create(self, rows: Rows) -> None:
        world = self._world
        # Bodies of users that outlived their entity stand for it again; the others are made.
        new = self._detached.take_back(rows)
        self._bodies.create(new, world.position[new], world.orientation[new])
        world.bullet_behind[rows] = False
        self._bodies.joints.write(rows, world.joints.position)
        world.robots.joints_behind[rows] = False

    def write(self, rows: Rows | None) -> int:
        """Make missing bodies of `rows` (None: all) and write what is outdated; return how many poses."""
        world, bodies = self._world, self._bodies
        created = 0
        # Comparing counts is cheaper than looking at each row, and usually no body is missing.
        if rows is not None or bodies.count < len(world):
            created = self.make_missing(world.rows if rows is None else rows)
        if rows is None:
            behind = np.flatnonzero(world.bullet_behind)
            # Freed rows keep their flags until they are reused.
            behind = behind[bodies.table.body[behind] != NO_BODY]
        else:
            behind = rows[world.bullet_behind[rows]]
        if len(behind):
            bodies.refresh_masses(behind)
            bodies.refresh_materials(behind)
            bodies.refresh_colors(behind)
            bodies.write_poses(behind, world.position[behind], world.orientation[behind])
            world.bullet_behind[behind] = False
        self._write_joints(rows)
        return created + len(behind)

    def _write_joints(self, rows: Rows | None) -> None:
        """Write the outdated joints of `rows`."""
        flags = self._world.robots.joints_behind
        behind = np.flatnonzero(flags) if rows is None else rows[flags[rows]]
        behind = behind[self._bodies.table.body[behind] != NO_BODY]
        if len(behind):
            self._bodies.joints.write(behind, self._world.joints.position)
            flags[behind] = False

    def write_staged(self, rows: Rows | None) -> None:
        """Like `write`, with the poses from the beginning of the step; raises StateError where none were kept."""
        if not self._staged.taken:
            raise StateError(
                "PyBullet was queried in phase 1 of a step begun with stage=False; begin it with stage=True"
            )
        world, bodies = self._world, self._bodies
        rows = world.rows if rows is None else rows
        missing = bodies.missing(rows)
        if len(missing):
            known_mask, positions, orientations = self._staged.poses(missing)
            bodies.create(missing, positions, orientations)
            self._staged.note_poses(missing, known_mask, positions, orientations)
            self._write_staged_joints(missing[known_mask])
            fresh = missing[~known_mask]
            bodies.joints.write(fresh, world.joints.position)
            world.robots.joints_behind[fresh] = False
        behind = self._staged.unwritten(rows)
        if len(behind):
            known_mask, positions, orientations = self._staged.poses(behind)
            bodies.write_poses(behind, positions, orientations)
            self._staged.note_poses(behind, known_mask, positions, orientations)
        self._write_staged_joints(self._staged.unwritten_joints(rows))

    def _write_staged_joints(self, rows: Rows) -> None:
        """Write the joints of `rows`, alive when the step began, at their positions at that time."""
        if len(rows):
            self._bodies.joints.write(rows, self._staged.joints(rows)[1])
            self._staged.note_joints(rows)
