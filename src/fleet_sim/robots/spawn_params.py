"""Spawn parameters of objects and agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Literal

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import ConfigError, InvalidValueError, did_you_mean
from fleet_sim.base.files import check_file, expanded, is_file, is_remote, names_in
from fleet_sim.base.geometry import Pose
from fleet_sim.base.limits import LARGEST_FORCE, LARGEST_MASS, LARGEST_SIZE, LARGEST_SPEED
from fleet_sim.base.params import CollisionMode, MotionMode, MovementDirection
from fleet_sim.base.settings import Checked, read, setting, time_setting
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.base.settings.poses import ORIGIN, pose_setting
from fleet_sim.base.settings.reader import key_hint
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models.generated import (
    Heights,
    Triangles,
    Vertices,
    height_field_file,
    image_heights,
    mesh_file,
    read_heights,
    read_triangles,
    read_vertices,
)
from fleet_sim.models.kinematics.params import IKParams
from fleet_sim.robots.joint_arguments import place_of, read_joint_setting, read_tolerance_setting
from fleet_sim.world.collision_rules import LARGEST_GROUP
from fleet_sim.world.features import FEATURES, read_features
from fleet_sim.world.joints import AT_FORCE, AT_VELOCITY
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.shapes import Geometry, RobotModel
from fleet_sim.world.world import World

# ShapeParams: the settings of one visual or collision shape.


ShapeType = Literal["box", "sphere", "cylinder", "capsule", "plane", "mesh", "heightfield"]
Vector = tuple[float, float, float]

_TRIPLES = {
    "anyOf": [
        {"type": "null"},
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}},
        {"type": "array", "items": {"type": "number"}, "minItems": 3},
    ]
}


_HEIGHTS = {
    "anyOf": [
        {"type": "null"},
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}, "minItems": 2}, "minItems": 2},
    ]
}


_SIZES = {
    "half_extents": ("box",),
    "radius": ("sphere", "cylinder", "capsule"),
    "height": ("cylinder", "capsule", "heightfield"),
    "field_size": ("heightfield",),
    "mesh_scale": ("mesh",),
}
"""Which kinds of shapes have which size."""


@dataclass
class ShapeParams(Checked):
    """A shape: box, sphere, cylinder, capsule, plane, mesh, heightfield. Checked when constructed and when changed."""

    EXAMPLE = "{shape_type: box, half_extents: [0.5, 0.3, 0.2]}"

    shape_type: ShapeType | None = setting(None, doc="Kind of shape; null: no shape.")
    mesh_path: str | None = setting(
        None, doc="Mesh file (.obj or .stl); its convex hull is used for collisions, unless it is concave."
    )
    mesh_scale: Vector = setting((1.0, 1.0, 1.0), above=0, high=LARGEST_SIZE, doc="Scale of the mesh along each axis.")
    half_extents: Vector = setting((0.5, 0.5, 0.5), above=0, high=LARGEST_SIZE, unit="m", doc="Half the size of a box.")
    radius: float = setting(0.5, above=0, high=LARGEST_SIZE, unit="m", doc="Radius of a sphere, cylinder or capsule.")
    height: float = setting(
        1.0,
        above=0,
        high=LARGEST_SIZE,
        unit="m",
        doc="Of a cylinder; of a capsule between its half spheres; of white in a height_image.",
    )
    rgba_color: tuple[float, float, float, float] = setting((0.8, 0.8, 0.8, 1.0), low=0, high=1, doc="Color.")
    frame_pose: Pose | None = pose_setting(doc="Pose of the shape in the body frame.")
    vertices: Vertices | None = setting(
        None, reader=read_vertices, schema=_TRIPLES, doc="Of a mesh without a file, in m: triples, or one flat list."
    )
    indices: Triangles | None = setting(
        None, reader=read_triangles, schema=_TRIPLES, doc="Its triangles: three numbers of vertices each, from 0."
    )
    concave: bool = setting(
        False, doc="A mesh collides as its triangles, with room inside: for what never moves, as a hall or a terrain."
    )
    heights: Heights | None = setting(
        None, reader=read_heights, schema=_HEIGHTS, doc="Of a heightfield, in m: lines along x, from the least y on."
    )
    height_image: str | None = setting(
        None, doc="Of a heightfield: a grayscale picture, seen from above, y up; black is 0, white is `height`."
    )
    field_size: tuple[float, float] = setting(
        (10.0, 10.0), above=0, high=LARGEST_SIZE, unit="m", doc="Length of a heightfield along x and along y."
    )

    def __post_init__(self) -> None:
        """Refuse a size that this kind of shape does not have."""
        super().__post_init__()
        self._check_kind()

    def to_geometry(self, frame_pose: Pose | None = None) -> Geometry | None:
        """Return the hashable geometry (None without `shape_type`); raises InvalidValueError for a missing mesh file.

        `frame_pose`, where given, takes precedence over the shape's own.
        """
        # Again, as both may have been assigned since.
        self._check_kind()
        if self.shape_type is None:
            return None
        field = self.shape_type == "heightfield"
        frame = frame_pose or self.frame_pose or Pose((0.0, 0.0, 0.0))
        return Geometry(
            kind=int(ShapeKind.MESH if field else ShapeKind[self.shape_type.upper()]),
            half_extents=self.half_extents,
            radius=self.radius,
            height=self.height,
            mesh_path=self._field() if field else self._mesh() if self.shape_type == "mesh" else "",
            mesh_scale=(1.0, 1.0, 1.0) if field else self.mesh_scale,
            rgba=self.rgba_color,
            position=frame.position,
            orientation=frame.orientation,
            concave=self.concave or field,
        )

    def _check_kind(self) -> None:
        """Raise InvalidValueError where something is given that a shape of this kind does not have."""
        kind = self.shape_type or "shape without a shape_type"
        if self.concave and kind not in ("mesh", "heightfield"):
            raise InvalidValueError(f"concave: only a mesh can be concave, not a {kind}")
        if kind != "heightfield" and (self.heights is not None or self.height_image):
            raise InvalidValueError(f"heights and height_image: for a heightfield only, not for a {kind}")
        if kind != "mesh" and (self.vertices is not None or self.indices is not None or self.mesh_path):
            raise InvalidValueError(f"mesh_path, vertices and indices: for a mesh only, not for a {kind}")
        for name, kinds in _SIZES.items():
            # What was never given has its default, which no shape misses.
            if kind not in kinds and getattr(self, name) != getattr(ShapeParams, name):
                its = [size for size, owners in _SIZES.items() if kind in owners]
                advice = f"it has {' and '.join(its)}" if its else "it has no size"
                raise InvalidValueError(f"{name}: for a {' or '.join(kinds)} only, not for a {kind}; {advice}")

    def _field(self) -> str:
        """Return the file of the surface of a heightfield."""
        # Equal truth values: both are given, or neither.
        if (self.heights is None) == (not self.height_image):
            raise InvalidValueError("a heightfield has either heights or height_image")
        given = self.heights or image_heights(existing_file(self.height_image, "height_image"), self.height)
        heights = np.array(given)
        lines, columns = heights.shape
        # Between the outermost samples lie one fewer spaces than samples.
        spacing = self.field_size[0] / (columns - 1), self.field_size[1] / (lines - 1)
        return height_field_file(heights, spacing)

    def _mesh(self) -> str:
        """Return the file of a mesh: the given one, or one made of `vertices` and `indices`.

        Raises InvalidValueError unless it is exactly one of both, and for vertices in a message from outside.
        """
        if self.vertices is None and self.indices is None:
            return existing_file(self.mesh_path, "mesh_path")
        if self.vertices is None or self.indices is None or self.mesh_path:
            raise InvalidValueError("a mesh has either mesh_path, or both vertices and indices")
        if is_remote():
            # It would be written to the disk, and each message may have another one.
            raise InvalidValueError("vertices: messages may not bring meshes; give mesh_path, a file of a known folder")
        return mesh_file(self.vertices, self.indices)


def existing_file(name: str | None, what: str) -> str:
    """Return the absolute path of the file `name`; raises InvalidValueError with the closest names beside it."""
    if not name:
        raise InvalidValueError(f"{what}: must name a file, got {name!r}")
    path = expanded(name)
    check_file(path, what)
    if not is_file(path):
        # Only names of the same kind: a typo is rarely in the ending.
        near = did_you_mean(path.name, names_in(path.parent, path.suffix))
        raise InvalidValueError(f"{what}: there is no file {str(path)!r}.{near}")
    return str(path.resolve())


def geometries(
    shapes: ShapeParams | list[ShapeParams] | None, frame_pose: Pose | None, what: str
) -> tuple[Geometry, ...]:
    """Return the geometries of one shape or of several; raises InvalidValueError.

    `frame_pose`, where given, is that of a single shape.
    """
    if isinstance(shapes, list) and len(shapes) > 1 and frame_pose is not None:
        raise InvalidValueError(
            f"{what}_frame_pose: is the pose of one shape, and there are {len(shapes)}; give each its frame_pose"
        )
    # A single one may have its pose from either of the two settings.
    given = shapes if isinstance(shapes, list) else [shapes]
    made = [shape.to_geometry(frame_pose) for shape in given if shape is not None]
    return tuple(geometry for geometry in made if geometry is not None)


# MotorParams: how the engine's motors move the joints of a robot, for its spawn params and at run time.


@dataclass
class MotorParams(Checked):
    """The gains and limits of motors; None: as described, or the default."""

    position_gain: float | None = setting(
        None, low=0, high=1, doc="Share of a position error that is corrected in an engine step; null: 0.2."
    )
    velocity_gain: float | None = setting(
        None, low=0, high=1, doc="Share of a velocity error that is corrected in an engine step; null: 1."
    )
    max_velocity: float | None = setting(
        None, above=0, high=LARGEST_SPEED, unit="rad/s or m/s", doc="Speed limit; null: as described."
    )
    max_force: float | None = setting(
        None, low=0, high=LARGEST_FORCE, unit="N m or N", doc="Limit of what any command may use; null: no other limit."
    )

    @property
    def is_given(self) -> bool:
        """Whether anything is set."""
        return any(getattr(self, item.name) is not None for item in fields(self))


def read_joint_motors(value: object) -> dict[str, MotorParams]:
    """Return motors by joint name; raises InvalidValueError, and ConfigError for what a motor does not have."""
    if not isinstance(value, Mapping):
        raise InvalidValueError(f"must be a mapping of joint names to settings of their motors, got {value!r}")
    return {
        str(name): motor if isinstance(motor, MotorParams) else read(MotorParams, motor, path=str(name))
        for name, motor in value.items()
    }


@dataclass(frozen=True)
class MotorPlan:
    """The motors of a robot to spawn: settings for all of its joints, then those of single ones by place."""

    motors: MotorParams
    joint_motors: Mapping[int, MotorParams]

    def write(self, world: World, slots: Ints) -> None:
        """Set the motors of the joints in `slots` (N, M)."""
        give_motors(world, slots.reshape(-1), self.motors)
        # Afterwards, so that a single joint's settings win over those for all.
        for place, params in self.joint_motors.items():
            give_motors(world, slots[:, place], params)


def plan_motors(
    model: RobotModel,
    motors: MotorParams | None,
    joint_motors: Mapping[str, MotorParams],
    *,
    motored: bool,
    mimics: bool,
) -> MotorPlan | None:
    """Check the settings of motors of `model`; None where nothing is set.

    Raises InvalidValueError and UnknownNameError.
    """
    given = motors or MotorParams()
    if not given.is_given and not any(params.is_given for params in joint_motors.values()):
        return None
    # Settings that could not act are a mistake.
    if not motored:
        raise InvalidValueError(
            f"motors, joint_motors: {model.name!r} has no motors here; robots have them with physics on, with "
            "joints that move, and with a mass (mass: null is that of the description)"
        )
    places = {place_of(model, name): params for name, params in joint_motors.items()}
    if mimics:
        for mimic in model.mimics:
            if int(model.slots[mimic.follower]) in places:
                name, leader = model.joint_names[mimic.follower], model.joint_names[mimic.leader]
                raise InvalidValueError(f"joint_motors: joint {name!r} mimics {leader!r}, whose motor moves both")
    return MotorPlan(given, places)


def give_motors(world: World, slots: Ints, params: MotorParams) -> None:
    """Set what `params` has of the motors of the joints in `slots` (K,); followers of other joints have none."""
    joints = world.joints
    # Joints that mimic others have no motor.
    own = slots[joints.leader[slots] == NO_ROW]
    columns = {
        "position_gain": joints.position_gain,
        "velocity_gain": joints.velocity_gain,
        "max_velocity": joints.max_velocity,
        "max_force": joints.force_limit,
    }
    for name, column in columns.items():
        value = getattr(params, name)
        if value is not None:
            column[own] = value
    # What runs already was clipped to the limits of then; after spawning nothing runs.
    for control, limit in ((AT_VELOCITY, joints.max_velocity), (AT_FORCE, joints.force_limit)):
        running = own[joints.control[own] == control]
        joints.command[running] = np.clip(joints.command[running], -limit[running], limit[running])
    # Marks the motors, so that the engine gets the new values.
    joints.motor_behind[own] = True


def motor_of(world: World, slot: int) -> MotorParams:
    """Return the gains and limits in use of the motor of a joint."""
    joints = world.joints
    limit = float(joints.force_limit[slot])
    return MotorParams(
        position_gain=float(joints.position_gain[slot]),
        velocity_gain=float(joints.velocity_gain[slot]),
        max_velocity=float(joints.max_velocity[slot]),
        # In the columns no limit is infinity, in settings it is null.
        max_force=limit if np.isfinite(limit) else None,
    )


Limit = float | Vector
Shapes = ShapeParams | list[ShapeParams] | None


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
        None, low=0, high=1e4, unit="s", doc="Time horizon for avoiding others on the way to goals; 0: no avoidance."
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
    ]
}


@dataclass
class AgentSpawnParams(SimObjectSpawnParams):
    """The parameters of an agent to spawn: an object that drives.

    The limits may be given here or in `controller`; here they win. `controller` is the name of a registered
    controller, a mapping with `type` and its parameters, ControllerParams, an AgentController (or its class), or a
    list of these; one that names a motion law ("omni", "differential") decides on it instead of `motion_mode`.
    """

    EXAMPLE = "{name: amr_1, urdf_path: diff_base, pose: [1, 2, 0]}"

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
        None, doc="Plugins: names, dotted paths, mappings of `type` and config, classes, (class, config) pairs."
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
            hint = key_hint(cls, str(key), [*own, *FEATURES.names()])
            raise ConfigError(f"unknown key.{hint}", source=source, path=where)
        if key in given:
            raise ConfigError("given twice, here and below features; keep one of them", source=source, path=where)
        given[key] = read(FEATURES.get(key).settings, entry[key], source=source, path=where)
    return {**{key: value for key, value in entry.items() if key in own}, "features": given}


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
