"""Numbers for joints as users write them - a list, or a mapping by name - checked against a robot's model.

A joint's place is its index among the movable joints of the model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError, StateError, did_you_mean
from fleet_sim.world.joints import DEFAULT_TOLERANCE
from fleet_sim.world.shapes import RobotModel

JointNumbers: TypeAlias = Sequence[float] | Floats | Mapping[Any, float]
"""One number per joint that moves, in order, or per joint (fixed ones count for nothing); or by name or index."""
Tolerance: TypeAlias = float | Sequence[float] | Mapping[str, float] | None
"""In rad or m: one for all, a list by joint index, a mapping by joint name, or None for the next in the chain."""

LIMIT_SLACK = 1e-6
"""Values this little (rad or m) beyond a limit are accepted, as descriptions round their limits."""


def place_of(model: RobotModel, joint: int | str) -> int:
    """Return the place of a joint that moves; raises UnknownNameError, and InvalidValueError for a fixed one."""
    # True would be joint 1.
    if isinstance(joint, bool) or not isinstance(joint, (int, str, np.integer)):
        raise InvalidValueError(f"a joint is given by name or index, got {joint!r}")
    index = model.joint_index(joint)
    place = int(model.slots[index])
    if place < 0:
        name = model.joint_names[index]
        kind = "spherical or planar, which is held fixed" if name in model.held else "fixed"
        raise InvalidValueError(
            f"joint {name!r} of {model.name!r} is {kind}; those that move are "
            f"{', '.join(model.movable_names) or 'none'}"
        )
    return place


def read_joint_numbers(model: RobotModel, numbers: JointNumbers, what: str) -> tuple[Ints, Floats]:
    """Return places (K,) and values (K,); raises InvalidValueError and UnknownNameError, naming `what`.

    NaN and infinity are rejected.
    """
    if isinstance(numbers, Mapping):
        places = np.array([place_of(model, joint) for joint in numbers], np.int64)
        return places, as_floats(list(numbers.values()), (len(places),), what)
    values = as_floats(numbers, (None,), what)
    count = len(model.movable)
    # Numbered as in PyBullet, fixed joints included; what stands for those is dropped.
    # A list of all joints wins where both counts agree: then none is fixed, and it is the same list.
    if len(values) == model.num_joints:
        values = values[model.movable]
    if len(values) != count:
        raise InvalidValueError(
            f"{what}: {model.name!r} has {count} joints that move ({', '.join(model.movable_names)}) and "
            f"{model.num_joints} in all, got {len(values)} numbers"
        )
    return np.arange(count), values


def limits_cause(model: RobotModel, places: Ints, values: Floats) -> str:
    """Return a message about the first value beyond its joint's limits, or ""."""
    joints = model.movable[places]
    lower, upper = model.lower[joints], model.upper[joints]
    # Joints without limits have 0 for both in many descriptions, which is no limit.
    outside_mask = (values < lower - LIMIT_SLACK) | (values > upper + LIMIT_SLACK)
    outside = np.flatnonzero(outside_mask & model.limited_mask[joints])
    if not len(outside):
        return ""
    first = int(outside[0])
    return (
        f"target {values[first]:g} of joint {model.joint_names[joints[first]]!r} is outside its limits "
        f"[{lower[first]:g}, {upper[first]:g}]"
    )


def read_tolerances(model: RobotModel, tolerance: Tolerance, default: Floats) -> Floats:
    """Return the tolerance (M,) of each joint that moves; None gives `default`.

    Joints missing in a short list or in a mapping get the general default. Raises InvalidValueError and
    UnknownNameError.
    """
    what = "joint tolerance in rad or m"
    count = len(model.movable)
    if tolerance is None:
        return default.copy()
    if isinstance(tolerance, Mapping):
        # By joint, so that fixed ones may be named, as in a table for several models.
        everywhere = np.full(model.num_joints, DEFAULT_TOLERANCE)
        for joint, value in tolerance.items():
            everywhere[model.joint_index(joint)] = as_float(value, what, low=0.0)
        return everywhere[model.movable]
    if isinstance(tolerance, (Sequence, np.ndarray)) and not isinstance(tolerance, str):
        given = as_floats(tolerance, (None,), what)
        if (given < 0.0).any():
            raise InvalidValueError(f"{what}: expected numbers of at least 0, got {tolerance!r}")
        # A list may be shorter than the joints: the rest has the default.
        everywhere = np.full(max(model.num_joints, len(given)), DEFAULT_TOLERANCE)
        everywhere[: len(given)] = given
        return everywhere[model.movable]
    return np.full(count, as_float(tolerance, what, low=0.0))


def read_joint_setting(value: Any) -> Any:
    """Check a spawn setting that is a list of numbers or a mapping by joint name; raises InvalidValueError."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, (tuple, list)):
        items: list[Any] = list(value or ())
    elif isinstance(value, Mapping):
        items = list(value.values())
        if not all(isinstance(name, str) for name in value):
            raise InvalidValueError(f"expected joint names, got {value!r}")
    else:
        raise InvalidValueError(f"expected a list of numbers or a mapping by joint name, got {value!r}")
    for item in items:
        as_float(item, "of a joint")
    return value


def read_tolerance_setting(value: Any) -> Any:
    """Check a tolerance as a spawn setting; raises InvalidValueError."""
    if isinstance(value, (int, float, np.floating)) and not isinstance(value, bool):
        return as_float(value, "joint tolerance in rad or m", low=0.0)
    return read_joint_setting(value)


# Checks arguments from a configuration before a constructor is called, so that errors name the parameter.


def check_sequence(actions: Iterable[Any], check: Callable[[Any], object]) -> list[Any]:
    """Return `actions` as a list after `check` of each, so that all of them are queued or none.

    Raises what `check` raises, and StateError for an action that is there twice.
    """
    chosen, seen = list(actions), set[int]()
    for action in chosen:
        check(action)
        # By identity: two actions with equal parameters are two.
        if id(action) in seen:
            raise StateError(f"{action!r} is there twice; one action serves once")
        seen.add(id(action))
    return chosen


def check_arguments(function: Callable[..., Any], arguments: Mapping[str, Any], what: str) -> None:
    """Raise InvalidValueError unless `function` accepts `arguments` by name and none is missing.

    A parameter declared `bool` must be given as one.
    """
    parameters = inspect.signature(function).parameters
    named = {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        for name in arguments:
            if name not in named:
                raise InvalidValueError(f"{what}: unknown parameter {name!r}.{did_you_mean(str(name), named)}")
    for name, parameter in named.items():
        if name not in arguments and parameter.default is parameter.empty:
            raise InvalidValueError(f"{what}: the parameter {name!r} is missing")
        if name in arguments and parameter.annotation in (bool, "bool") and not isinstance(arguments[name], bool):
            raise InvalidValueError(f"{what}: {name} must be true or false, got {arguments[name]!r}")
