"""Drag: what slows down free bodies besides damping in proportion to their velocities."""

from __future__ import annotations

import numpy as np

from fleet_sim.mujoco.bound import Bound


def drag(bound: Bound, dt: float) -> None:
    """Add the part of the damping of free bodies that grows with the square of their speed, as in PyBullet.

    There a body at 1 m/s, or 1 rad/s, is slowed down twice as hard as in proportion, and a faster one harder still.
    Called between the velocities and the accelerations of a substep of `dt` s.
    """
    data, at = bound.data, bound.free_span
    moving = data.qvel[at]
    if not np.count_nonzero(moving):
        # All sleep.
        return
    # Of each body the linear and the angular velocity.
    velocities = moving.reshape(-1, 2, 3)
    squares = velocities * velocities
    # Component by component, so that the sum is the same in company as alone.
    speeds = np.sqrt(squares[:, :, 0] + squares[:, :, 1] + squares[:, :, 2])
    force = (bound.free_damping * velocities * speeds[:, :, None]).ravel()
    if not float(speeds.max()) * bound.drag_rate * dt < 0.5:
        # Never more than what stops it within the substep.
        most = np.abs(moving) * bound.free_inertia.ravel() / dt
        force = np.minimum(np.maximum(force, -most), most)
    data.qfrc_passive[at] -= force
