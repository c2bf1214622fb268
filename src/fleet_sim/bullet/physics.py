"""Rigid-body physics: dynamic rows are moved by PyBullet and read back, kinematic rows push them."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.bullet.client import NO_BODY, SUBSTEP
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.core.drives import DrivenSubsteps, Twist
from fleet_sim.spatial import quaternions

Forced = list[tuple[int, list[int], list[float]]]
"""(body, joints, forces) of force-controlled motors."""

SWEEP_LIMIT = 1.0
"""Distance in one step (m) above which a kinematic body counts as teleported, not as driven."""


class BulletPhysics:
    """Steps PyBullet's dynamics by the simulation's dt, in substeps short enough to be stable.

    Kinematic rows that moved in this step get the velocity of that motion, so that they push and carry dynamic bodies,
    and end exactly at the pose in their columns.
    """

    def __init__(self, mirror: BulletMirror, *, substep: float = SUBSTEP) -> None:
        self.mirror = mirror
        self.world = mirror.world
        self.substep = substep
        mirror.keeps_previous = True
        mirror.forces.enabled = True
        mirror.read_back = self.read_back

    def step(self, dt: float) -> int:
        """Advance dynamic rows by `dt` seconds; call it after phase 2. Returns the number of rows read back.

        Dynamic rows whose pose or velocity was written since the last step start from their columns. Does nothing where
        no entity is dynamic and the user made no body.
        """
        mirror = self.mirror
        if not mirror.engine_moves:
            mirror.forces.clear()
            return 0
        mirror.ensure()
        rows = self._dynamic_rows()
        client, bodies = mirror.client, mirror.bodies
        bodies.refresh_masses(self.world.rows)
        bodies.refresh_materials(self.world.rows)
        mirror.filters.refresh()
        mirror.reactions.prepare()
        movers, joint_movers = self._start_movers(dt), self._start_joint_movers(dt)
        # The tolerance keeps rounding from adding a substep where dt is a multiple of it.
        count = max(1, math.ceil(dt / self.substep - 1e-9))
        # PyBullet computes a motor's maximum impulse from the substep at the time of the command.
        client.set_timestep(dt / count)
        bodies.joints.send_commands(rows)
        driven = DrivenSubsteps(self.world.drives, self.world.alive, count, dt / count)
        self._run(count, bodies.joints.forced(rows), driven)
        bodies.met = True
        mirror.reactions.measure()
        if len(movers):
            # This removes the error of integration, and writing a pose also stops the body.
            bodies.write_poses(movers, self.world.position[movers], self.world.orientation[movers])
        if len(joint_movers):
            bodies.joints.write(joint_movers, self.world.joints.position)
        self.read_back(rows)
        return len(rows)

    def _run(self, count: int, forced: Forced, driven: DrivenSubsteps) -> None:
        """Make `count` substeps; PyBullet clears motor forces after each, so they are sent before each."""
        client = self.mirror.client
        step = client.stepSimulation
        for index in range(count):
            self.mirror.forces.apply()
            for body, joints, forces in forced:
                client.setJointMotorControlArray(body, joints, client.TORQUE_CONTROL, forces=forces)
            if len(driven.rows):
                self._drive(driven, index)
            step()
        if len(driven.rows):
            self._drive(driven, None)
        self.mirror.forces.clear()

    def _drive(self, driven: DrivenSubsteps, index: int | None) -> None:
        """Give the driven bodies their velocities before substep `index`; None: after the last one."""
        bodies, rows = self.mirror.bodies, driven.rows
        turns = bodies.read_poses(rows)[1] if bodies.with_offset else None
        now = Twist(*bodies.read_velocities(rows, turns))
        wanted = driven.end(now) if index is None else driven.begin(index, now)
        bodies.set_velocities(rows, *wanted, turns)

    def read_back(self, rows: Rows | None = None) -> None:
        """Copy poses and velocities of dynamic `rows` (all by default) from PyBullet into the columns."""
        world, bodies = self.world, self.mirror.bodies
        if rows is None:
            rows = self._dynamic_rows()
        if not len(rows):
            return
        positions, orientations = bodies.read_poses(rows)
        # Bodies at rest return the same numbers; their bounds need not be computed again.
        moved_mask = (positions != world.position[rows]).any(1) | (orientations != world.orientation[rows]).any(1)
        moved = rows[moved_mask]
        world.position[rows] = positions
        world.orientation[rows] = orientations
        world.velocity[rows], world.angular_velocity[rows] = bodies.read_velocities(rows)
        world.touch(moved)
        # `touch` has just set it, but these poses come from PyBullet itself.
        world.bullet_behind[rows] = False
        bodies.joints.read_back(rows[world.robots.motors[rows]])

    def contact_pairs(self, limit: float = math.inf) -> Rows:
        """Return the pairs of rows (M, 2) in contact in the last step: smaller row first, sorted, each pair once.

        Only contacts with a distance of at most `limit` metres are included (negative: penetration). Contacts with the
        floor or other bodies without an entity are not.
        """
        client = self.mirror.client
        if not client.connected:
            return np.empty((0, 2), np.int64)
        contacts = client.getContactPoints() or ()
        bodies = np.array([contact[1:3] for contact in contacts if contact[8] <= limit], np.int64).reshape(-1, 2)
        pairs = np.sort(self.mirror.rows_of_bodies(bodies), axis=1)
        return np.unique(pairs[(pairs[:, 0] >= 0) & (pairs[:, 0] != pairs[:, 1])], axis=0)

    def _dynamic_rows(self) -> Rows:
        rows = np.flatnonzero(self.world.dynamic & self.world.alive)
        return rows[self.mirror.bodies.table.body[rows] != NO_BODY]

    def _start_movers(self, dt: float) -> Rows:
        """Move kinematic rows that drove in this step back to their start, with the velocity to their end poses."""
        world, bodies = self.world, self.mirror.bodies
        rows = np.flatnonzero(world.moved & world.alive & ~world.dynamic)
        known_mask, positions, orientations = self.mirror.staged.poses(rows)
        travel = world.position[rows] - positions
        turn = quaternions.to_rotation_vectors(
            quaternions.multiply(world.orientation[rows], quaternions.conjugate(orientations))
        )
        drove_mask = known_mask & _within(travel, SWEEP_LIMIT) & (travel.any(1) | turn.any(1))
        movers = rows[drove_mask]
        if len(movers):
            bodies.write_poses(movers, positions[drove_mask], orientations[drove_mask])
            bodies.set_velocities(movers, travel[drove_mask] / dt, turn[drove_mask] / dt)
        return movers

    def _start_joint_movers(self, dt: float) -> Rows:
        """Set moved joints of kinematic rows back to their start, with the velocity to their end positions."""
        world, robots, joints = self.world, self.world.robots, self.world.joints
        rows = np.flatnonzero(robots.joints_moved & world.alive & ~(robots.motors & world.dynamic))
        if not len(rows):
            return rows
        known_mask, staged = self.mirror.staged.joints(rows)
        rows = rows[known_mask]
        count = len(staged)
        travel = joints.position[:count] - staged
        # A joint that moved faster than it can was set to its position, not driven.
        swept_mask = np.abs(travel) <= 2.0 * joints.max_velocity[:count] * dt
        start = np.where(swept_mask, staged, joints.position[:count])
        self.mirror.bodies.joints.write(rows, start, np.where(swept_mask, travel / dt, 0.0))
        return rows


def _within(vectors: Floats, limit: float) -> Bools:
    return np.asarray((vectors * vectors).sum(1) <= limit * limit)
