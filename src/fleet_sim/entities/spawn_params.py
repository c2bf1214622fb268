"""Spawn parameters of objects and agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.config.modes import CollisionMode, MotionMode, MovementDirection
from fleet_sim.core.collision_filters import LARGEST_GROUP
from fleet_sim.core.features import FEATURES, read_features
from fleet_sim.entities.joint_values import read_joint_setting, read_tolerance_setting
from fleet_sim.entities.motor_params import MotorParams, read_joint_motors
from fleet_sim.entities.shape_params import ShapeParams, Vector, pose_setting
from fleet_sim.errors import ConfigError, InvalidValueError, did_you_mean
from fleet_sim.gate.bounds import LARGEST_MASS, LARGEST_SPEED
from fleet_sim.geometry import Pose
from fleet_sim.kinematics.params import IKParams
from fleet_sim.settings import Checked, read, setting, time_setting
from fleet_sim.settings.fields import fields_of

Limit = float | Vector
Shapes = ShapeParams | list[ShapeParams] | None

ORIGIN = Pose((0.0, 0.0, 0.0))


@dataclass
class SimObjectSpawnParams(Checked):
    """The parameters of an object to spawn. Checked when constructed and when changed."""

    visual_shape: Shapes = setting(None, doc="What it looks like: a shape, or a list of shapes.")
    collision_shape: Shapes = setting(None, doc="What it collides as: a shape, or a list of shapes.")
    initial_pose: Pose = pose_setting(ORIGIN, aliases=("pose",), doc="Where it starts.")
    mass: float | None = setting(
        0.0, low=0, high=LARGEST_MASS, unit="kg", doc="0: kinematic; null: what a robot description says."
    )
    pickable: bool = setting(True, column="body.pickable", doc="Whether robots may pick the object up.")
    name: str | None = setting(None, doc="Unique name; in a grid, the prefix of the names.")
    visual_frame_pose: Pose | None = pose_setting(doc="Pose of the visual shape in the body frame.")
    collision_frame_pose: Pose | None = pose_setting(doc="Pose of the collision shape in the body frame.")
    collision_mode: CollisionMode = setting(CollisionMode.NORMAL_3D, doc="How it takes part in collision checks.")
    collision_group: int = setting(
        1, low=0, high=LARGEST_GROUP, column="body.collision_group", doc="The groups it is in, as bits: 1, 2, 4, ..."
    )
    collision_mask: int = setting(
        -1,
        low=-1,
        high=LARGEST_GROUP,
        column="body.collision_mask",
        doc="The groups it collides with, as bits; both of a pair must name the other's. -1: all.",
    )
    block_on_collision: bool | None = setting(None, doc="Stop before obstacles; null: as set for the simulation.")
    friction: float | None = setting(
        None, low=0, column="material.friction", doc="Lateral friction; null: as described, or 0.5."
    )
    rolling_friction: float | None = setting(
        None, low=0, column="material.rolling_friction", doc="Rolling friction; null: as described, or 0."
    )
    restitution: float | None = setting(
        None, low=0, high=1, column="material.restitution", doc="Bounciness; null: as described, or 0."
    )
    linear_damping: float | None = setting(
        None, low=0, unit="1/s", column="material.linear_damping", doc="Damping of linear motion; null: 0.04."
    )
    angular_damping: float | None = setting(
        None, low=0, unit="1/s", column="material.angular_damping", doc="Damping of rotation; null: 0.04."
    )
    user_data: dict[str, Any] = setting(factory=dict, doc="Any user data, kept with the entity.")
    features: dict[str, Any] = setting(
        factory=dict,
        reader=read_features,
        schema={"type": "object"},
        doc="Features: settings by feature name. In a scenario, a feature may also be a key of the entry itself.",
    )
    urdf_path: str | None = setting(
        None, doc="Description (URDF, SDF, MJCF) instead of shapes: a model's name, or a file."
    )
    _: KW_ONLY
    global_scaling: float = setting(
        1.0, above=0, high=1e3, doc="Factor of all lengths of the description; masses and speeds stay."
    )

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> Any:
        """Read a mapping as in a scenario file; `name` is mandatory. Raises ConfigError."""
        return read_spawn_params(cls, config)


@dataclass
class ControllerParams(Checked):
    """Limits and defaults of a mobile base; None: the default. One number limits the norm, three the body axes."""

    max_linear_vel: Limit | None = setting(None, above=0, high=LARGEST_SPEED, unit="m/s", doc="Speed limit; null: 2.")
    max_linear_accel: Limit | None = setting(
        None, above=0, high=LARGEST_SPEED, unit="m/s^2", doc="Acceleration limit; null: 5."
    )
    max_angular_vel: Limit | None = setting(
        None, above=0, high=LARGEST_SPEED, unit="rad/s", doc="Turning speed limit; null: 3."
    )
    max_angular_accel: Limit | None = setting(
        None, above=0, high=LARGEST_SPEED, unit="rad/s^2", doc="Angular acceleration limit; null: 10."
    )
    cmd_vel_timeout: float | None = time_setting(None, doc="After which a velocity command ends; 0: never.")
    avoidance: float | None = setting(
        None,
        low=0,
        high=1e4,
        unit="s",
        doc="Time horizon for avoiding others on the way to goals; 0: no avoidance.",
    )
    navigation_2d: bool | None = setting(None, doc="Goals keep the robot's height, roll and pitch.")
    default_direction: MovementDirection | None = setting(None, doc="End of a differential base that leads by default.")


_NUMBERS = {
    "anyOf": [
        {"type": "null"},
        {"type": "array", "items": {"type": "number"}},
        {"type": "object", "additionalProperties": {"type": "number"}},
    ]
}

LIMIT_DEFAULTS = {"max_linear_vel": 2.0, "max_linear_accel": 5.0, "max_angular_vel": 3.0, "max_angular_accel": 10.0}


def read_sensors(value: object) -> list[Any] | None:
    """Return the specs of sensors as a list; raises InvalidValueError. The sensor system validates them later."""
    if value is None or isinstance(value, list):
        return value
    if isinstance(value, tuple):
        return list(value)
    raise InvalidValueError(f"must be a list of sensors, each a mapping with its type and parameters, got {value!r}")


_SENSORS_SCHEMA = {
    "anyOf": [
        {"type": "null"},
        {
            "type": "array",
            "items": {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]},
        },
    ],
}


@dataclass
class AgentSpawnParams(SimObjectSpawnParams):
    """The parameters of an agent to spawn: an object that drives.

    The limits may be given here or in `controller`; here they win. `controller` is the name of a registered
    controller, a mapping with `type` and its parameters, ControllerParams, an AgentController (or its class), or a
    list of these; one that names a motion law ("omni", "differential") decides on it instead of `motion_mode`.
    """

    motion_mode: str = setting(
        MotionMode.DIFFERENTIAL,
        doc="Motion law of the base. With physics, differential robots with wheels drive with their motors.",
    )
    use_fixed_base: bool = setting(False, doc="Fix the base: the agent never drives.")
    max_linear_vel: Limit | None = setting(None, above=0, unit="m/s", doc="Speed limit.")
    max_linear_accel: Limit | None = setting(None, above=0, unit="m/s^2", doc="Acceleration limit.")
    max_angular_vel: Limit | None = setting(None, above=0, unit="rad/s", doc="Turning speed limit.")
    max_angular_accel: Limit | None = setting(None, above=0, unit="rad/s^2", doc="Angular acceleration limit.")
    joint_positions: Any = setting(
        None, reader=read_joint_setting, schema=_NUMBERS, doc="Start positions of joints: a list, or by name; null: 0."
    )
    joint_tolerance: Any = setting(
        None,
        reader=read_tolerance_setting,
        schema={"anyOf": [{"type": "number", "minimum": 0}, *_NUMBERS["anyOf"]]},
        doc="Tolerance within which a joint has reached its target (rad, m): a number, a list by index, or by name.",
    )
    self_collision: bool = setting(
        False,
        column="robots.self_collision",
        doc="Report links of the robot that touch each other; with physics they also push each other.",
    )
    mimic_joints: bool = setting(
        True, doc="Joints that the description says mimic another one follow it; false: they are joints as others."
    )
    motors: MotorParams | None = setting(
        None, doc="Gains and limits of the motors of all joints; with physics, for a robot with mass."
    )
    joint_motors: dict[str, MotorParams] = setting(
        factory=dict,
        reader=read_joint_motors,
        schema={"type": "object", "additionalProperties": {"type": "object"}},
        doc="Gains and limits of the motors of single joints, by name; they win over `motors`.",
    )
    wheel_radius: float | None = setting(None, above=0, unit="m", doc="Radius of driven wheels; null: as described.")
    wheel_separation: float | None = setting(
        None, above=0, unit="m", doc="Distance between left and right driven wheels; null: as described."
    )
    ik_params: IKParams | None = setting(None, doc="Parameters of inverse kinematics.")
    controller: Any = setting(None, doc="ControllerParams, a controller's name, or a mapping with type and its keys.")
    plugins: Any = setting(
        None,
        doc="Plugins: names, dotted paths, mappings of `type` and config, classes, (class, config) pairs.",
    )
    sensors: Any = setting(
        None,
        reader=read_sensors,
        schema=_SENSORS_SCHEMA,
        doc="Sensors: mappings of type (lidar, imu, ...) and parameters.",
    )

    def limit(self, name: str, controller: ControllerParams) -> tuple[Floats, float]:
        """Return the limit `name` in the form of the columns: (per axis (3,), norm)."""
        value = getattr(self, name)
        # The robot's own setting, that of its controller, the default: the nearest one counts.
        if value is None:
            value = getattr(controller, name)
        if value is None:
            value = LIMIT_DEFAULTS[name]
        if isinstance(value, tuple):
            return np.array(value), float("inf")
        return np.full(3, value), float(value)


def read_spawn_params(cls: type[Any], config: Mapping[str, Any], source: str = "", path: str = "") -> Any:
    """Read spawn params of type `cls` from a mapping with a `name`; `yaw` goes with a `pose` of three numbers.

    Raises ConfigError for anything unknown, missing or out of range.
    """
    data = dict(config)
    yaw = data.pop("yaw", None)
    if yaw is not None:
        # The short form of a pose has no yaw of its own; here it gets one.
        pose = data.get("pose", [0.0, 0.0, 0.0])
        if not isinstance(pose, (list, tuple)) or len(pose) != 3:
            raise ConfigError(f"goes with pose: [x, y, z], got pose {pose!r}", source=source, path=_join(path, "yaw"))
        data["pose"] = [*pose, yaw]
    # Unknown keys first: a name that is missing may be one that is misspelled.
    settings = with_features(cls, data, source=source, path=path)
    if not data.get("name"):
        raise ConfigError("missing; every entry needs a unique name", source=source, path=_join(path, "name"))
    return read(cls, settings, source=source, path=path)


def with_features(cls: type[Any], entry: Mapping[str, Any], *, source: str, path: str) -> Mapping[str, Any]:
    """Return `entry` with the keys of features moved below `features`, read; raises ConfigError for unknown keys."""
    fields = fields_of(cls)
    # A feature cannot take the name, or another name, of a setting of ours.
    own = {*fields, *(alias for field in fields.values() for alias in field.rules.aliases)}
    # Features are looked up (also among installed packages) only if there are other keys.
    others = [key for key in entry if key not in own]
    if not others:
        return entry
    below = entry.get("features") or {}
    given = dict(below) if isinstance(below, Mapping) else {}
    for key in others:
        where = _join(path, str(key))
        if key not in FEATURES:
            hint = did_you_mean(str(key), [*own, *FEATURES.names()])
            raise ConfigError(f"unknown key.{hint}", source=source, path=where)
        if key in given:
            raise ConfigError("given twice, here and below features; keep one of them", source=source, path=where)
        given[key] = read(FEATURES.get(key).settings, entry[key], source=source, path=where)
    return {**{key: value for key, value in entry.items() if key in own}, "features": given}


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
