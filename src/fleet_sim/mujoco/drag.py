"""Drag: what slows down free bodies besides damping in proportion to their velocities."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.mujoco.bound import Bound
from fleet_sim.spatial import quaternions


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


def drag_links(bound: Bound, dt: float) -> None:
    """Slow down the links of robots, each by its own velocities, as PyBullet does; after the user's forces are applied.

    Their bases are free bodies, or stand still.
    """
    links, data, model = bound.links, bound.data, bound.model
    if not len(links):
        return
    twists = data.cvel[links]
    angular = twists[:, :3]
    # Velocities are those at the centre of mass of the robot.
    arms = data.xipos[links] - data.subtree_com[model.body_rootid[links]]
    linear = twists[:, 3:] + quaternions.cross(angular, arms)
    rates = np.stack((_lengths(linear), _lengths(angular)), axis=1)
    # No more than what stops it within the substep.
    rates = np.minimum(bound.link_damping * (1.0 + rates), 0.5 / dt)
    axes = data.ximat[links].reshape(-1, 3, 3)
    local = np.matmul(angular[:, None, :], axes)[:, 0] * model.body_inertia[links]
    torque = np.matmul(axes, local[:, :, None])[:, :, 0]
    force = model.body_mass[links][:, None] * linear
    data.xfrc_applied[links] = np.concatenate((-rates[:, :1] * force, -rates[:, 1:] * torque), axis=1)


def _lengths(vectors: Floats) -> Floats:
    lengths: Floats = np.sqrt(vectors[:, 0] * vectors[:, 0] + vectors[:, 1] * vectors[:, 1] + vectors[:, 2] ** 2)
    return lengths
