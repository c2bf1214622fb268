"""Poses as settings: the ways to write one, and the field of a settings class that is one."""

from __future__ import annotations

import math
from typing import Any

from fleet_sim.base.errors import InvalidValueError, did_you_mean
from fleet_sim.base.geometry import TURN, Pose
from fleet_sim.base.limits import LARGEST_EXTENT
from fleet_sim.base.settings import setting

ORIGIN = Pose((0.0, 0.0, 0.0))

_POSE_KEYS = ("position", "orientation", "rpy", "yaw")
_POSE_SCHEMA = {
    "description": "[x, y, z], [x, y, z, yaw], or a mapping of position with yaw, rpy (rad) or orientation (xyzw).",
    "anyOf": [
        {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 4},
        {"type": "object", "properties": {key: {} for key in _POSE_KEYS}, "additionalProperties": False},
    ],
}


def read_pose(value: object) -> Pose | None:
    """Return a Pose from any of the ways to write one; raises InvalidValueError, also for one beyond all bounds."""
    pose = _read_pose(value)
    # `not ... <=`, so that NaN is refused too.
    if pose is not None and not max(map(abs, pose.position)) <= LARGEST_EXTENT:
        raise InvalidValueError(f"a position is within {LARGEST_EXTENT:g} m along each axis, got {value!r}")
    return pose


def _read_place(value: object) -> Pose:
    pose = read_pose(value)
    if pose is None:
        raise InvalidValueError("must be a pose, got nothing; leave the key out for the default")
    return pose


def _read_pose(value: object) -> Pose | None:
    """Return the pose in a mapping, in [x, y, z] or in [x, y, z, yaw]: m, and rad or what angles are given in.

    A mapping has `position` and one of `orientation` (xyzw), `rpy` and `yaw`. Raises InvalidValueError otherwise.
    """
    if value is None or isinstance(value, Pose):
        return value
    if isinstance(value, dict):
        unknown = [str(key) for key in value if key not in _POSE_KEYS]
        if unknown:
            raise InvalidValueError(f"unknown key {unknown[0]!r} of a pose.{did_you_mean(unknown[0], _POSE_KEYS)}")
        # Three ways to say one thing; two of them could contradict each other.
        if len(value.keys() & {"orientation", "rpy", "yaw"}) > 1:
            raise InvalidValueError(f"a pose has one of orientation, rpy and yaw, got {value!r}")
        x, y, z = _numbers(value.get("position", (0.0, 0.0, 0.0)), (3,))
        if "orientation" in value:
            return Pose((x, y, z), _numbers(value["orientation"], (4,)))
        rpy = value["rpy"] if "rpy" in value else (0.0, 0.0, value.get("yaw", 0.0))
        return Pose.from_euler(x, y, z, *map(_angle, _numbers(rpy, (3,))))
    x, y, z, *yaw = _numbers(value, (3, 4))
    return Pose.from_yaw(x, y, z, *map(_angle, yaw)) if yaw else Pose((x, y, z))


def _angle(value: float) -> float:
    """Return an angle of at most one turn; raises InvalidValueError for what must be degrees."""
    if abs(value) > TURN:
        in_radians = value * math.pi / 180.0 if abs(value) <= 360.0 else None
        hint = f"; {value:g} degrees are {in_radians:.4f}" if in_radians is not None else ""
        raise InvalidValueError(f"angles are in radians, at most one turn, got {value:g}{hint}")
    return value


def _numbers(value: object, lengths: tuple[int, ...]) -> list[float]:
    """Return a list of numbers of one of `lengths`; raises InvalidValueError for anything else, as truth values."""
    items = list(value) if isinstance(value, (list, tuple)) else []
    good = all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in items)
    # Exactly as many numbers as meant: a fourth one would be taken for something that it is not.
    if len(items) not in lengths or not good:
        meaning = " (x, y, z, yaw)" if lengths == (3, 4) else ""
        raise InvalidValueError(f"expected {' or '.join(map(str, lengths))} numbers{meaning}, got {value!r}")
    try:
        return [float(item) for item in items]
    except OverflowError as error:
        raise InvalidValueError(f"a number is too large: {str(error)[:80]}") from error


def pose_setting(default: Pose | None = None, *, doc: str, aliases: tuple[str, ...] = ()) -> Any:
    """Return a dataclass field for a pose."""
    if default is not None:
        return setting(default, reader=_read_place, schema=_POSE_SCHEMA, doc=doc, aliases=aliases)
    schema = {"anyOf": [_POSE_SCHEMA, {"type": "null"}]}
    return setting(None, reader=read_pose, schema=schema, doc=doc, aliases=aliases)
