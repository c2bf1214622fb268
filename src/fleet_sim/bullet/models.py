"""Bodies from robot description files: URDF, SDF and MJCF."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.bullet.client import BulletClient
from fleet_sim.bullet.mesh_files import renew_meshes
from fleet_sim.bullet.shapes import check_file
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.schema import UNIT_QUATERNION
from fleet_sim.core.shapes import BodyShape
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial import quaternions

_UNPLACED = (".sdf", ".xml", ".mjcf")
"""Formats that PyBullet loads only at the pose which the file gives."""


class LoadedModel(NamedTuple):
    """A body, and the pose of its base's centre of mass in the base frame."""

    body: int
    com_position: Floats
    com_orientation: Floats

    @property
    def has_offset(self) -> bool:
        """Whether the centre of mass differs from the base frame."""
        return bool(self.com_position.any() or (self.com_orientation != UNIT_QUATERNION).any())


def load_model(
    client: BulletClient,
    shape: BodyShape,
    mass: float,
    position: Floats,
    orientation: Floats,
    *,
    visuals: bool,
    inertia_from_file: bool = False,
    self_collision: bool = False,
    model: RobotModel | None = None,
) -> LoadedModel:
    """Load `shape.model_path` with its base link frame at a world pose (3,), (4,).

    The base is fixed where the shape says so or `mass` is 0, so that no physics moves it. The model's own masses are
    kept, or scaled to `mass` in all where it is another than theirs. Inertias are worked out from collision shapes, or
    with `inertia_from_file` those of a URDF file. With `self_collision` links that no joint joins push each other.
    Raises InvalidValueError for a missing or unusable
    file, one that holds not exactly one model, or whose joints are not those of `model`.
    """
    path = shape.model_path
    check_file(path, "model")
    fixed = shape.fixed_base or mass == 0.0
    flags = _flags(client, visuals, inertia_from_file, self_collision and mass > 0.0)
    if model is not None:
        # Before loading: PyBullet keeps meshes by file name, and the file may have changed since.
        renew_meshes(client, model)
    pose = position.tolist(), orientation.tolist()
    body = _only_body(client, path, *pose, useFixedBase=fixed, flags=flags, globalScaling=shape.scale)
    loaded = LoadedModel(body, *inertial_frame(client, body))
    # loadMJCF and loadSDF take no flag for a fixed base either.
    if Path(path).suffix.lower() in _UNPLACED:
        _place(client, loaded, position, orientation)
        if fixed:
            client.changeDynamics(body, -1, mass=0.0)
    if model is not None:
        _check_joints(client, body, model)
        if mass > 0.0:
            _scale_masses(client, body, model, mass)
    return loaded


def _flags(client: BulletClient, visuals: bool, inertia_from_file: bool, self_collision: bool) -> int:
    flags = 0 if visuals else client.URDF_IGNORE_VISUAL_SHAPES
    if inertia_from_file:
        flags |= client.URDF_USE_INERTIA_FROM_FILE
    if self_collision:
        # Without the second flag, links of one joint, which overlap where they meet, would push each other.
        flags |= client.URDF_USE_SELF_COLLISION | client.URDF_USE_SELF_COLLISION_EXCLUDE_PARENT
    return int(flags)


def _only_body(client: BulletClient, path: str, *urdf_pose: list[float], **urdf_options: float) -> int:
    """Load the one model in `path` and return its body; raises InvalidValueError where it cannot, or has several.

    A URDF file is loaded at `urdf_pose` with `urdf_options`, which files of other formats do not take.
    """
    suffix = Path(path).suffix.lower()
    try:
        if suffix == ".sdf":
            bodies = client.loadSDF(path)
        elif suffix in _UNPLACED:
            bodies = client.loadMJCF(path)
        else:
            bodies = (client.loadURDF(path, *urdf_pose, **urdf_options),)
    except client.module.error as error:
        raise InvalidValueError(f"PyBullet cannot load the model file {path!r}: {error}") from error
    if len(bodies) != 1:
        # None is left behind that stands for no entity.
        for body in bodies:
            client.removeBody(body)
        raise InvalidValueError(
            f"the model file {path!r} has {len(bodies)} models; an object or agent needs exactly one, so split the file"
        )
    return int(bodies[0])


def _check_joints(client: BulletClient, body: int, model: RobotModel) -> None:
    """Remove `body` and raise InvalidValueError unless its joints are those of `model`, in the same order."""
    count = client.getNumJoints(body)
    names = tuple(client.getJointInfo(body, joint)[1].decode() for joint in range(count))
    if names != model.joint_names:
        client.removeBody(body)
        raise InvalidValueError(
            f"PyBullet finds joints in {model.path!r} that differ from those read before: {', '.join(names)} instead "
            f"of {', '.join(model.joint_names)}; if the file was changed since, restart the simulation"
        )


def _scale_masses(client: BulletClient, body: int, model: RobotModel, mass: float) -> None:
    """Scale the masses of `body` to `mass` kg in total, unless they add up to it already."""
    own = sum(inertial.mass for inertial in model.inertials)
    # A file without masses gives no proportions to scale by: the base gets it all.
    if own == 0.0:
        client.changeDynamics(body, -1, mass=mass)
    elif not math.isclose(own, mass, rel_tol=1e-9):
        for link in range(-1, model.num_joints):
            information = client.getDynamicsInfo(body, link)
            # For the same shape inertia grows with the mass.
            inertia = [mass / own * value for value in information[2]]
            client.changeDynamics(body, link, mass=mass / own * information[0], localInertiaDiagonal=inertia)


def inertial_frame(client: BulletClient, body: int) -> tuple[Floats, Floats]:
    """Return the pose (3,), (4,) of the base's centre of mass in the base frame."""
    information = client.getDynamicsInfo(body, -1)
    return np.array(information[3]), np.array(information[4])


def _place(client: BulletClient, loaded: LoadedModel, position: Floats, orientation: Floats) -> None:
    turned = orientation[None]
    # PyBullet places the centre of mass of the base, not its frame.
    centre = position + quaternions.rotate(turned, loaded.com_position[None])[0]
    turn = quaternions.multiply(turned, loaded.com_orientation[None])[0]
    client.resetBasePositionAndOrientation(loaded.body, centre.tolist(), turn.tolist())
