"""Actions by name, for config files, commands and bridges."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from fleet_sim.base.errors import InvalidValueError, brief
from fleet_sim.base.geometry import Path, Pose
from fleet_sim.base.limits import read_json
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.base.settings.poses import read_pose
from fleet_sim.robots.actions.action import Action
from fleet_sim.robots.actions.drive import MoveAction, MoveTo, TourAction
from fleet_sim.robots.actions.follow import DriveByAction, FollowAction, TeleopAction, TurnAction, Wait
from fleet_sim.robots.actions.joints import JointAction, JointTrajectoryAction, PoseAction
from fleet_sim.robots.actions.pick_and_drop import Drop, Pick, target_text
from fleet_sim.robots.joint_arguments import check_arguments
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.world.commands import BodyId, ObjectId, plain

ACTIONS = Registry(
    "action",
    subclasses_of(Action),
    group="fleet_sim.action",
    built_in={
        "move": MoveAction,
        "move_to": MoveTo,
        "pick": Pick,
        "drop": Drop,
        "wait": Wait,
        "joint": JointAction,
        "joint_trajectory": JointTrajectoryAction,
        "pose": PoseAction,
        "tour": TourAction,
        "drive_by": DriveByAction,
        "turn": TurnAction,
        "teleop": TeleopAction,
        "follow": FollowAction,
    },
)
"""Every action that can be made from its name and parameters."""

_POSES = ("target_pose", "approach_pose", "drop_pose", "attach_relative_pose", "drop_relative_pose")


def register_action(name: str, cls: type[Action]) -> None:
    """Make `cls` available under `name`; raises DuplicateNameError, or InvalidValueError unless it is an Action."""
    ACTIONS.register(name, cls)


def parse_action_goal(action_type: str, action_params: str | Mapping[str, Any]) -> Action:
    """Return the action `action_type` with parameters from JSON text or a mapping.

    Poses are [x, y, z], [x, y, z, yaw], [x, y, z, qx, qy, qz, qw] or a mapping as in a scenario file; `path` is a list
    of poses, and "move" takes `target_pose` as well. `action_type` may be a dotted path; in a message only one that the
    user's own scenario or code named before. Raises UnknownNameError and InvalidValueError.
    """
    cls = ACTIONS.find(action_type)
    what = f"action {action_type!r}: parameters"
    try:
        params = read_json(action_params or "{}", what) if isinstance(action_params, str) else dict(action_params)
    except InvalidValueError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            f"action {action_type!r}: expected parameters by name, got {brief(action_params)}"
        ) from error
    if not isinstance(params, dict):
        raise InvalidValueError(f"action {action_type!r}: expected an object of parameters, got {brief(params)}")
    for key in _POSES:
        if params.get(key) is not None:
            params[key] = _pose(params[key], key)
    if cls is MoveAction and "target_pose" in params and "path" not in params:
        params["path"] = [params.pop("target_pose")]
    if "path" in params:
        if not isinstance(params["path"], (list, tuple)):
            raise InvalidValueError(
                f"action {action_type!r}: path must be a list of poses, got {brief(params['path'])}"
            )
        params["path"] = Path([_pose(entry, "path") for entry in params["path"]])
    check_arguments(cls, params, f"action {action_type!r}")
    try:
        return cls(**params)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"action {action_type!r}: {error}") from error


def describe_action(action: Action) -> dict[str, Any]:
    """Return `action` as plain data, its `type` and parameters, from which `parse_action_goal` makes an equal action.

    Parameters are read from the attributes of their names. Raises InvalidValueError for a class that is not registered,
    and for a parameter that is not a plain value.
    """
    cls = type(action)
    name = next((name for name, known in ACTIONS.known().items() if known is cls), None)
    if name is None:
        raise InvalidValueError(
            f"{cls.__name__} has no name by which it could be made again; give it one with register_action()"
        )
    described: dict[str, Any] = {"type": name}
    for parameter in inspect.signature(cls).parameters.values():
        if not hasattr(action, parameter.name):
            raise InvalidValueError(
                f"{cls.__name__} does not keep its parameter {parameter.name!r}; keep it in an attribute of that name"
            )
        value = getattr(action, parameter.name)
        # By identity: `==` gives no plain answer for arrays.
        if value is not parameter.default:
            described[parameter.name] = _plain(value, f"{name}.{parameter.name}")
    return described


def _plain(value: Any, where: str) -> Any:
    """Return a parameter of an action as plain data; objects become texts that mean the same in a repeated run.

    Raises InvalidValueError, naming `where`, for what cannot be written.
    """
    if isinstance(value, Pose):
        return [*value.position, *value.orientation]
    if isinstance(value, Path):
        return [_plain(pose, where) for pose in value]
    if isinstance(value, (SimObject, BodyId, ObjectId)):
        # A bare number may mean another object where the log is replayed.
        return target_text(value)
    return plain(value, where)


def _pose(value: Any, key: str) -> Pose:
    """Return a pose from a Pose or 3, 4 or 7 numbers; raises InvalidValueError, naming `key`."""
    if isinstance(value, Pose):
        return value
    numbers = list(value) if isinstance(value, (list, tuple)) else []
    if len(numbers) == 7:
        return Pose(numbers[:3], numbers[3:])
    try:
        return read_pose(value) or Pose((0.0, 0.0, 0.0))
    except InvalidValueError as error:
        raise InvalidValueError(
            f"{key}: expected [x, y, z], [x, y, z, yaw] or [x, y, z, qx, qy, qz, qw], got {brief(value)} ({error})"
        ) from error
