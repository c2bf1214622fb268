"""RobotProfile: the kind of robot a model describes, and its most needed data."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from fleet_sim.core.robot_model import BASE, REVOLUTE, RobotModel
from fleet_sim.errors import unknown_name
from fleet_sim.models.body import model_of_body
from fleet_sim.models.loading import load_robot_model
from fleet_sim.models.reach import arm_reach
from fleet_sim.models.resolver import resolve_urdf
from fleet_sim.models.structure import Structure

RobotType = Literal["arm", "mobile", "mobile_manipulator", "static"]
OBJECT = "static"
"""The type of a model without movable joints: an object, not a robot."""


@dataclass(frozen=True)
class RobotProfile:
    """The detected properties of a robot.

    `robot_type` is "arm", "mobile", "mobile_manipulator" or "static". `num_joints` includes fixed joints; the
    tuples have one entry per movable joint, in the order of `movable_joint_indices`; limits are in rad or m, and
    lower >= upper means no limits. The end effector is the link that carries fingers or a tool: None and -1 without an
    arm. `reach` is its largest distance in m from the arm's first revolute joint, None without an arm.
    """

    urdf_path: str
    robot_type: RobotType
    num_joints: int = 0
    movable_joint_names: tuple[str, ...] = ()
    movable_joint_indices: tuple[int, ...] = ()
    joint_lower_limits: tuple[float, ...] = ()
    joint_upper_limits: tuple[float, ...] = ()
    joint_max_velocities: tuple[float, ...] = ()
    ee_link_name: str | None = None
    ee_link_index: int = BASE
    reach: float | None = None
    wheel_joint_names: tuple[str, ...] = ()
    arm_joint_names: tuple[str, ...] = ()

    @property
    def arm_reach(self) -> float | None:
        """Alias of `reach`."""
        return self.reach


def auto_detect_profile(
    urdf_path_or_body_id: str | Path | int,
    physics_client: Any = None,
    *,
    search_paths: Sequence[str | Path] = (),
    **overrides: object,
) -> RobotProfile:
    """Return the profile of a model, given by name or path, or of a body loaded in PyBullet.

    `physics_client` is only needed for a body: `sim.bullet` or a PyBullet client id. `overrides` replace detected
    fields. Raises UnknownNameError for an unknown model or field, InvalidValueError for an invalid file.
    """
    if isinstance(urdf_path_or_body_id, int):
        profile = profile_of(model_of_body(urdf_path_or_body_id, physics_client))
    else:
        path = resolve_urdf(urdf_path_or_body_id, search_paths=search_paths)
        profile = profile_of(load_robot_model(path, search_paths=search_paths))
    fields = [field.name for field in dataclasses.fields(RobotProfile)]
    for name in overrides:
        if name not in fields:
            raise unknown_name("field of RobotProfile", name, fields)
    return dataclasses.replace(profile, **overrides)  # type: ignore[arg-type]  # checked by name


def detect_robot_type(body_id: int, client: Any) -> RobotType:
    """Return the type of a body loaded in PyBullet, without the rest of its profile."""
    kind: RobotType = Structure(model_of_body(body_id, client)).robot_type  # type: ignore[assignment]
    return kind


@lru_cache(maxsize=256)
def profile_of(model: RobotModel) -> RobotProfile:
    """Return the profile of `model`, cached per model."""
    structure, movable = Structure(model), model.movable
    tip, limbs = structure.end_effector, structure.limbs
    kind: RobotType = structure.robot_type  # type: ignore[assignment]
    arm = limbs[0] if limbs and tip is not None else []
    shoulder = next((joint for joint in arm if model.joint_types[joint] == REVOLUTE), None)
    return RobotProfile(
        urdf_path=model.path,
        robot_type=kind,
        num_joints=model.num_joints,
        movable_joint_names=model.movable_names,
        movable_joint_indices=tuple(movable.tolist()),
        joint_lower_limits=tuple(model.lower[movable].tolist()),
        joint_upper_limits=tuple(model.upper[movable].tolist()),
        joint_max_velocities=tuple(model.max_velocities[movable].tolist()),
        ee_link_name=None if tip is None else model.link_names[tip],
        ee_link_index=BASE if tip is None else tip,
        reach=arm_reach(model, tip, shoulder) if tip is not None and shoulder is not None else None,
        wheel_joint_names=tuple(
            name for name, wheel in zip(model.joint_names, structure.wheel_mask, strict=True) if wheel
        ),
        arm_joint_names=tuple(model.joint_names[joint] for joint in arm),
    )
