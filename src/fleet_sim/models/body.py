"""Builds the model of a body that is already loaded in PyBullet, by querying PyBullet."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from fleet_sim.core.robot_model import BASE, FIXED, RobotModel
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial import quaternions


def model_of_body(body_id: int, client: Any) -> RobotModel:
    """Return the model of a loaded body: links and joints, without geometries and masses.

    `client` is a simulation's `sim.bullet`, any object with PyBullet's functions, or a PyBullet client id such as
    `sim.client`. Raises InvalidValueError for a client or body that does not exist.
    """
    call, failure = _caller(client)
    try:
        infos = [call("getJointInfo", body_id, joint) for joint in range(call("getNumJoints", body_id))]
        base, name = (part.decode() for part in call("getBodyInfo", body_id)[:2])
        frames = [call("getDynamicsInfo", body_id, link)[3:5] for link in range(BASE, len(infos))]
    except failure as error:
        raise InvalidValueError(f"PyBullet cannot return the joints of body {body_id!r}: {error}") from error
    return _model(name, base, infos, frames)


def _caller(client: Any) -> tuple[Callable[..., Any], type[Exception]]:
    """Return a function that calls a PyBullet function by name, and the type of error PyBullet raises."""
    if isinstance(client, bool) or client is None:
        raise InvalidValueError(f"physics_client: expected sim.bullet or a PyBullet client id, got {client!r}")
    if not isinstance(client, int):
        return lambda function, *arguments: getattr(client, function)(*arguments), client.error
    # A caller that has a client id must have imported PyBullet already.
    module = sys.modules.get("pybullet")
    if module is None:
        raise InvalidValueError(f"physics_client: there is no PyBullet client {client}; nothing has loaded PyBullet")
    return lambda function, *arguments: getattr(module, function)(*arguments, physicsClientId=client), module.error


def _model(name: str, base: str, infos: list[Any], inertial_frames: list[Any]) -> RobotModel:
    """Return the model of a body from PyBullet's records of its joints and inertial frames."""
    count = len(infos)

    def numbers(index: int, width: int) -> Any:
        return np.array([info[index] for info in infos], np.float64).reshape((count, width) if width else (count,))

    # PyBullet returns joint frames in the parent's inertial frame and axes in the child's; the model has link frames.
    positions = np.array([frame[0] for frame in inertial_frames]).reshape(-1, 3)
    turns = np.array([frame[1] for frame in inertial_frames]).reshape(-1, 4)
    parents = np.array([info[16] for info in infos], np.int64)
    # Frames begin with that of the base, whose index among the parents is -1.
    at_parent, at_child = turns[parents + 1], turns[1:]
    kinds = np.array([info[2] for info in infos], np.int64)
    axes = quaternions.rotate(at_child, numbers(13, 3))
    # PyBullet gives fixed joints a zero axis; here every axis is a unit vector.
    axes[kinds == FIXED] = (1.0, 0.0, 0.0)
    # PyBullet's orientation maps the parent's inertial frame to the child's, which is the inverse of a frame's.
    turned = quaternions.multiply(at_parent, quaternions.conjugate(numbers(15, 4)))
    orientations = quaternions.multiply(turned, quaternions.conjugate(at_child))
    return RobotModel(
        name=name,
        path="",
        base_name=base,
        link_names=tuple(info[12].decode() for info in infos),
        joint_names=tuple(info[1].decode() for info in infos),
        joint_types=kinds,
        parents=parents,
        joint_positions=positions[parents + 1] + quaternions.rotate(at_parent, numbers(14, 3)),
        joint_orientations=orientations,
        axes=axes,
        lower=numbers(8, 0),
        upper=numbers(9, 0),
        max_velocities=numbers(11, 0),
        max_forces=numbers(10, 0),
        damping=numbers(6, 0),
        friction=numbers(7, 0),
    )
