"""The poses of all links of a model, worked out link by link; the plain way, to test others against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.robot_model import PRISMATIC, REVOLUTE, RobotModel
from fleet_sim.spatial import poses, quaternions


def link_poses(model: RobotModel, values: Sequence[float]) -> tuple[Floats, Floats]:
    """Positions (J, 3) and orientations (J, 4) of all links, for a base at the origin."""
    positions, orientations = (
        np.zeros((model.num_joints + 1, 3)),
        np.tile(quaternions.IDENTITY, (model.num_joints + 1, 1)),
    )
    for joint, value in enumerate(values):  # the entry of the base is the last, which is also the -1st
        parent = model.parents[joint]
        axis = model.axes[joint][None] * value
        revolute, prismatic = (model.joint_types[joint] == kind for kind in (REVOLUTE, PRISMATIC))
        frame = poses.compose(
            positions[parent][None],
            orientations[parent][None],
            model.joint_positions[joint][None],
            model.joint_orientations[joint][None],
        )
        moved = poses.compose(*frame, axis * prismatic, quaternions.from_rotation_vectors(axis * revolute))
        positions[joint], orientations[joint] = moved[0][0], moved[1][0]
    return positions[:-1], orientations[:-1]
