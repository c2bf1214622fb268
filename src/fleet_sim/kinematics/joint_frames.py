"""Poses of links in the frames of their parent links, as published on TF."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.robot_model import PRISMATIC, REVOLUTE, RobotModel
from fleet_sim.spatial import poses, quaternions


def joint_frames(model: RobotModel, q: Floats) -> tuple[Floats, Floats]:
    """Return the poses of the child links of the M movable joints in their parent links, for joint values `q` (N, M).

    Positions are (N, M, 3), orientations (N, M, 4).
    """
    joints, robots = model.movable, len(q)
    values = np.ascontiguousarray(q).reshape(-1)
    kinds = np.tile(model.joint_types[joints], robots)
    axes = np.tile(model.axes[joints], (robots, 1))
    turns = quaternions.from_rotation_vectors(axes * np.where(kinds == REVOLUTE, values, 0.0)[:, None])
    slides = axes * np.where(kinds == PRISMATIC, values, 0.0)[:, None]
    positions, orientations = poses.compose(
        np.tile(model.joint_positions[joints], (robots, 1)),
        np.tile(model.joint_orientations[joints], (robots, 1)),
        slides,
        turns,
    )
    return positions.reshape(robots, -1, 3), orientations.reshape(robots, -1, 4)
