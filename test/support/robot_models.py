"""Robot models beside PyBullet: link poses worked out the plain way, and a comparison with a loaded body."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pybullet
import pytest

from fleet_sim.base.arrays import Floats
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import quaternions as poses
from fleet_sim.world.shapes import FIXED, PRISMATIC, REVOLUTE, RobotModel


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


def assert_equal_to_pybullet(model: RobotModel, client: int, body: int, *, frames: bool = True) -> None:
    """Compare names, types, parents, limits and, at random joint values, the link frames with those of a body."""
    infos = [pybullet.getJointInfo(body, joint, client) for joint in range(pybullet.getNumJoints(body, client))]
    assert model.base_name == pybullet.getBodyInfo(body, client)[0].decode()
    assert [_plain(name) for name in model.joint_names] == [_plain(info[1].decode()) for info in infos]
    assert model.link_names == tuple(info[12].decode() for info in infos)
    assert model.joint_types.tolist() == [info[2] for info in infos]
    assert model.parents.tolist() == [info[16] for info in infos]
    for joint, info in enumerate(infos):
        if model.limited_mask[joint]:
            assert (model.lower[joint], model.upper[joint]) == pytest.approx(info[8:10], abs=1e-6)
        if model.joint_types[joint] not in (FIXED, pybullet.JOINT_SPHERICAL) and info[10]:
            assert (model.max_forces[joint], model.max_velocities[joint]) == info[10:12]
    if frames:
        _assert_equal_frames(model, client, body)


def _assert_equal_frames(model: RobotModel, client: int, body: int) -> None:
    rng = np.random.default_rng(1)
    values = [0.0 if kind not in (REVOLUTE, PRISMATIC) else rng.uniform(-1, 1) for kind in model.joint_types]
    for joint, value in enumerate(values):
        if value:
            pybullet.resetJointState(body, joint, value, physicsClientId=client)
    com = pybullet.getDynamicsInfo(body, -1, client)[3:5]
    at, turn = pybullet.getBasePositionAndOrientation(body, client)
    at, turn = pybullet.multiplyTransforms(at, turn, *pybullet.invertTransform(*com))
    count = model.num_joints
    posed = poses.compose(np.tile(at, (count, 1)), np.tile(turn, (count, 1)), *link_poses(model, values))
    for joint, (position, orientation) in enumerate(zip(*posed, strict=True)):
        state = pybullet.getLinkState(body, joint, computeForwardKinematics=True, physicsClientId=client)
        np.testing.assert_allclose(position, state[4], atol=1e-6, err_msg=model.link_names[joint])
        same = abs(float(np.dot(orientation, state[5])))
        assert same == pytest.approx(1.0, abs=1e-6), model.link_names[joint]


def _plain(name: str) -> str:
    """Leave out the number of a fixed joint of MJCF: PyBullet counts on from file to file."""
    return re.sub(r"^jointfix_\d+", "jointfix", name)
