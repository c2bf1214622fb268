"""Drag: what slows down free bodies besides damping in proportion to their velocities."""

from __future__ import annotations

import numpy as np

from fleet_sim.mujoco.bodies import Bound


def drag(bound: Bound, dt: float) -> None:
    """Add the part of the damping of free bodies that grows with the square of their speed, as in PyBullet.

    There a body at 1 m/s, or 1 rad/s, is slowed down twice as hard as in proportion, and a faster one harder still.
    Called between the velocities and the accelerations of a substep of `dt` s.
    """
    data, at = bound.data, bound.free_v
    velocities = data.qvel[at]
    if not velocities.any():
        # All sleep.
        return
    damping = bound.model.dof_damping[at]
    squares = velocities * velocities
    # Component by component, so that the sum is the same in company as alone.
    linear = np.sqrt(squares[:, 0] + squares[:, 1] + squares[:, 2])
    angular = np.sqrt(squares[:, 3] + squares[:, 4] + squares[:, 5])
    speeds = np.empty_like(velocities)
    speeds[:, :3], speeds[:, 3:] = linear[:, None], angular[:, None]
    force = damping * velocities * speeds
    # Never more than what stops it within the substep.
    most = np.abs(velocities) * bound.free_inertia / dt
    data.qfrc_passive[at] -= np.minimum(np.maximum(force, -most), most)
