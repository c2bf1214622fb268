"""Spawn params, checked once and converted to column values, so that equal entities are written in bulk."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows, as_float
from fleet_sim.base.errors import InvalidValueError, UnknownNameError
from fleet_sim.base.limits import LARGEST_MASS, LONGEST_TIME
from fleet_sim.base.params import CollisionMode, MotionMode, MovementDirection
from fleet_sim.base.settings import Checked, check_fields
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ROUND_KINDS, ShapeKind
from fleet_sim.models import bullet_file, resolve_urdf
from fleet_sim.models.export import urdf_text
from fleet_sim.models.generated import keep, kept
from fleet_sim.models.kinematics.inverse import check_ik_params
from fleet_sim.models.kinematics.links import find_places, mesh_box, model_box
from fleet_sim.models.loading import load_robot_model, scaled_model
from fleet_sim.models.profile import Structure
from fleet_sim.robots.agent import ControllerPlan, plan_controllers
from fleet_sim.robots.joint_arguments import limits_cause, read_joint_numbers, read_tolerances
from fleet_sim.robots.sim_object import check_concave
from fleet_sim.robots.spawn_params import AgentSpawnParams, MotorPlan, SimObjectSpawnParams, geometries, plan_motors
from fleet_sim.world import steering
from fleet_sim.world.features import read_features, spawn_values
from fleet_sim.world.joints import DEFAULT_TOLERANCE
from fleet_sim.world.schema import KIND_AGENT, KIND_OBJECT
from fleet_sim.world.shapes import (
    BASE,
    FIXED,
    BodyShape,
    Geometry,
    Inertial,
    LinkGeometry,
    RobotModel,
    half_extents_of,
    seen_as,
)
from fleet_sim.world.user_code import AGENT_PLUGINS, AgentHooks
from fleet_sim.world.world import World

# Bodies of several shapes: a description with one link, so that whatever sees robots sees them shape by shape.


Geometries = tuple[Geometry, ...]


def compound_model(visuals: Geometries, collisions: Geometries) -> RobotModel:
    """Return the model of a body with several shapes; equal calls return the same object.

    Its mass is 1 kg, at the origin of the body, to be scaled. Raises InvalidValueError for a mesh that cannot be used
    and for a plane, which is unbounded.
    """
    return load_robot_model(kept(_file, visuals, collisions))


@lru_cache(maxsize=256)
def _file(visuals: Geometries, collisions: Geometries) -> str:
    # Twice: the inertia needs the box of all shapes, and the box needs a model.
    _, half = model_box(_one_link(visuals, collisions, Inertial()), np.zeros(0))
    # Of the box around it; the engine works out its own from the shapes, unless it is told to take the file's.
    x, y, z = (np.maximum(half, 1e-3) ** 2 / 3.0).tolist()
    model = _one_link(visuals, collisions, Inertial(mass=1.0, inertia=(y + z, x + z, x + y)))
    return str(keep(urdf_text(model).encode(), "shapes.urdf"))


def _one_link(visuals: Geometries, collisions: Geometries, inertial: Inertial) -> RobotModel:
    """Return a model without joints, whose base has all shapes."""
    none, vectors = np.zeros(0, np.int64), np.zeros((0, 3))
    limits = ("lower", "upper", "max_velocities", "max_forces", "damping", "friction")
    numbers: dict[str, Any] = dict.fromkeys(limits, np.zeros(0))
    return RobotModel(
        name="shapes",
        path="",
        base_name="base_link",
        link_names=(),
        joint_names=(),
        joint_types=none,
        parents=none,
        joint_positions=vectors,
        joint_orientations=np.zeros((0, 4)),
        axes=vectors,
        **numbers,
        inertials=(inertial,),
        visuals=tuple(LinkGeometry(BASE, geometry) for geometry in visuals),
        collisions=tuple(LinkGeometry(BASE, geometry) for geometry in collisions),
    )


# What the spawn params of an agent say of its motion, as values of columns.


WHEELS = "wheels"
"""The motion law of robots that drive by the motors of their wheels."""
_LIMITS = (
    ("max_linear_vel", "linear_limits", "linear_limit"),
    ("max_linear_accel", "linear_accels", "linear_accel"),
    ("max_angular_vel", "angular_limits", "angular_limit"),
    ("max_angular_accel", "angular_accels", "angular_accel"),
)


def motion_columns(world: World, params: AgentSpawnParams, plan: ControllerPlan, *, rolls: bool) -> dict[str, Any]:
    """Return the motion columns of a robot with the controllers of `plan`; `rolls`: by motors of wheels.

    Raises InvalidValueError for a mode of motion that there is not, or that the robot cannot have.
    """
    settings, mode = plan.params, plan.law or str(params.motion_mode)
    try:
        law = world.laws.index(mode)
    except UnknownNameError as error:
        raise InvalidValueError(f"motion_mode: {error}") from error
    if mode == MotionMode.DIFFERENTIAL and rolls:
        law = world.laws.index(WHEELS)
    elif mode == WHEELS and not rolls:
        raise InvalidValueError(
            f"motion_mode: {WHEELS!r} is for robots with motors (physics on, and a mass) and with wheels on both sides "
            "whose radius is known; give wheel_radius where they collide as meshes"
        )
    if mode == MotionMode.ACKERMANN and settings.navigation_2d is False:
        raise InvalidValueError("navigation_2d: goals of cars (motion_mode: ackermann) are always in the plane")
    columns: dict[str, Any] = {
        "law": 0 if params.use_fixed_base else law,
        "default_direction": (settings.default_direction or MovementDirection.FORWARD).code,
        "planar": bool(settings.navigation_2d),
        "avoidance": as_float(settings.avoidance or 0.0, "avoidance in s", low=0.0),
        "command_timeout": as_float(
            settings.cmd_vel_timeout or 0.0, "cmd_vel_timeout in s", low=0.0, high=LONGEST_TIME
        ),
    }
    for name, axes, norm in _LIMITS:
        columns[axes], columns[norm] = params.limit(name, settings)
    columns["axis_limited"] = any(np.isinf(columns[norm]) for _, _, norm in _LIMITS)
    return columns


# The wheels of a robot to spawn: those that motors drive, and those that turn with the way where no motor does.


TURNING = "wheels"
"""The feature that turns the wheels of robots without motors."""

LEVEL = 0.9
"""Minimum sideways component of a driven wheel's axis."""


@dataclass(frozen=True, eq=False)
class Wheels:
    """For each of the M joints that move: rad that the wheel turns per m rolled ahead (0: no driven wheel), and how far
    to the left of the base frame it is, in m.
    """

    rates: Floats
    offsets: Floats

    @property
    def driven(self) -> bool:
        """Whether there are driven wheels on both sides."""
        return bool((self.offsets[self.rates != 0.0] > 0.0).any() and (self.offsets[self.rates != 0.0] < 0.0).any())


def find_wheels(model: RobotModel, radius: float | None = None, separation: float | None = None) -> Wheels:
    """Return the wheels of `model`: those attached to its base that rotate about a sideways axis.

    `radius` and `separation` (between left and right wheels) in m take the place of what the description says. A wheel
    whose radius is not known, because it collides as a mesh, does not count.
    """
    count = len(model.movable)
    rates, offsets = np.zeros(count), np.zeros(count)
    structure = Structure(model)
    positions, orientations = structure.frames
    for place, joint in enumerate(model.movable.tolist()):
        above = list(model.chain(joint))[1:]
        # A wheel below another moving joint, as of a caster, is not attached to the base.
        if not structure.wheel_mask[joint] or any(model.joint_types[link] != FIXED for link in above):
            continue
        axis = quaternions.rotate(orientations[[joint]], model.axes[[joint]])[0]
        size = radius or _radius(model, joint)
        if abs(axis[1]) < LEVEL or not size:
            continue
        # The axis may point to either side, so the joint may have to turn backwards to roll ahead.
        rates[place] = np.sign(axis[1]) / size
        offset = float(positions[joint, 1])
        offsets[place] = np.sign(offset) * 0.5 * separation if separation else offset
    return Wheels(rates, offsets)


def _radius(model: RobotModel, link: int) -> float:
    """Return the radius of a wheel's collision shape, 0 if it is not round."""
    shapes = [part.geometry for part in model.collisions if part.link == link and part.geometry.kind in ROUND_KINDS]
    return max((shape.radius for shape in shapes), default=0.0)


def turns_wheels(model: RobotModel, params: AgentSpawnParams | None = None) -> bool:
    """Return whether a robot of `model`, spawned from `params`, has wheels that roll as it drives."""
    return bool(len(find_places(model, (params and params.wheel_radius) or 0.0).wheels))


def wheel_columns(params: AgentSpawnParams) -> dict[str, Any]:
    """Return the columns of the feature TURNING, which every robot has whose wheels turn without motors."""
    settings = params.features.get(TURNING) or read_features({TURNING: {}})[TURNING]
    sizes = {"radius": params.wheel_radius or 0.0, "separation": params.wheel_separation or 0.0}
    return {**spawn_values(TURNING, settings), **sizes}


# The joints of a robot to spawn: their start positions and tolerances, and whether motors move them.


log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class RobotPlan:
    """The joints of a robot to spawn: (M,) start positions and tolerances of the movable joints of `model`."""

    model: RobotModel
    motors: bool
    positions: Floats
    tolerances: Floats
    wheels: Wheels
    mimics: bool = False
    joint_tolerance: Any = None
    ik_params: Any = None
    motor_plan: MotorPlan | None = None

    @property
    def rolls(self) -> bool:
        """Whether the robot can drive with the motors of its wheels."""
        return self.motors and self.wheels.driven

    def write(self, world: World, rows: Rows) -> None:
        """Create the joints of `rows` (N,)."""
        robots, joints = world.robots, world.joints
        robots.model[rows] = _number(world, self.model)
        robots.motors[rows], robots.mimics[rows] = self.motors, self.mimics
        slots = joints.assign(robots, rows, self.model)
        if slots.size:
            self._write_joints(world, slots)
        for values, value in ((joints.given_tolerances, self.joint_tolerance), (joints.ik_params, self.ik_params)):
            if value is not None:
                # By row, and only where given: most robots have the default.
                values.update(dict.fromkeys(rows.tolist(), value))
        if self.motors:
            # Last of all: motors hold positions, which have to be there.
            _start_motors(world, rows, self.model)
        if self.motor_plan is not None:
            self.motor_plan.write(world, slots)

    def _write_joints(self, world: World, slots: Ints) -> None:
        """Fill the columns of the joints in `slots` (N, M)."""
        joints = world.joints
        if self.mimics:
            # Before positions are written: followers are clipped with their leaders.
            steering.link(world, slots, self.model)
        joints.position[slots] = joints.target[slots] = self.positions
        joints.tolerance[slots] = self.tolerances
        joints.wheel_rate[slots], joints.wheel_offset[slots] = self.wheels.rates, self.wheels.offsets


def plan_robot(params: AgentSpawnParams, model: RobotModel, *, motors: bool) -> RobotPlan:
    """Check the joint settings in `params` against `model`; raises InvalidValueError and UnknownNameError."""
    count, mimics = len(model.movable), params.mimic_joints and bool(model.mimics)
    if params.ik_params is not None:
        check_ik_params(model, params.ik_params)
    limited_mask = model.limited_mask[model.movable]
    lower = np.where(limited_mask, model.lower[model.movable], -np.inf)
    upper = np.where(limited_mask, model.upper[model.movable], np.inf)
    # 0, or the nearest value within the limits, is where a robot starts.
    positions = np.clip(np.zeros(count), lower, upper)
    if params.joint_positions is not None:
        places, values = read_joint_numbers(model, params.joint_positions, "joint_positions")
        if mimics:
            places, values = steering.without_followers(model, places, values)
        cause = limits_cause(model, places, values)
        if cause:
            raise InvalidValueError(f"joint_positions: {cause}")
        positions[places] = values
        # What was accepted just beyond a limit, see LIMIT_SLACK, starts at the limit.
        positions = np.clip(positions, lower, upper)
    if mimics:
        positions = steering.led_positions(model, positions)
    return RobotPlan(
        model=model,
        motors=motors and count > 0,
        mimics=mimics,
        positions=positions,
        tolerances=read_tolerances(model, params.joint_tolerance, np.full(count, DEFAULT_TOLERANCE)),
        wheels=find_wheels(model, params.wheel_radius, params.wheel_separation),
        joint_tolerance=params.joint_tolerance,
        ik_params=params.ik_params,
        motor_plan=plan_motors(model, params.motors, params.joint_motors, motored=motors and count > 0, mimics=mimics),
    )


def plan_still(model: RobotModel) -> RobotPlan:
    """Return the plan of an object made from `model`; raises InvalidValueError where joints would stand still."""
    if len(model.movable):
        # A few names tell which model it is; a hand has dozens.
        names = ", ".join(model.movable_names[:4]) + (", ..." if len(model.movable) > 4 else "")
        raise InvalidValueError(
            f"urdf_path: {model.name!r} has joints that move ({names}), and objects have none; spawn it as an Agent "
            "(robots:), with use_fixed_base where it stays in its place"
        )
    none = np.zeros(0)
    return RobotPlan(model, motors=False, mimics=False, positions=none, tolerances=none, wheels=Wheels(none, none))


def _number(world: World, model: RobotModel) -> int:
    """Return the number of `model` in the world, adding it if needed."""
    # By identity: the loader returns the same object for the same file.
    for number, known in enumerate(world.models):
        if known is model:
            return number
    world.models.append(model)
    if model.held:
        # Once for all robots of this kind.
        log.warning(
            "%s: joints that are spherical or planar have no single position; they are held fixed: %s",
            model.name,
            ", ".join(model.held),
        )
    return len(world.models) - 1


def _start_motors(world: World, rows: Rows, model: RobotModel) -> None:
    """Hold joints with limits at their positions, like brakes; wheels, which have no limits, roll freely."""
    slots = world.joints.slots(world.robots, rows)
    # 0 means that the file says nothing.
    efforts = np.tile(model.max_forces[model.movable], len(rows))
    world.joints.max_force[slots] = np.where(efforts > 0.0, efforts, world.joints.max_force[slots])
    limited_mask = np.tile(model.limited_mask[model.movable], len(rows))
    steering.hold_joints(world, slots[limited_mask])
    free = slots[~limited_mask]
    # PyBullet's joints begin with a motor that brakes; commanding a force of 0 releases it.
    steering.give_joint_forces(world, free, np.zeros(len(free)))


# The shape and the box of a new entity, as values of columns.


def shape_columns(world: World, shape: BodyShape) -> dict[str, Any]:
    """Return the columns of a body with a shape; adds that to the world."""
    columns: dict[str, Any] = {"shape_id": world.shapes.intern(shape)}
    if shape.collision:
        columns.update(_collision_columns(shape.collision))
    return columns


def model_columns(world: World, robot: RobotPlan, params: SimObjectSpawnParams) -> dict[str, Any]:
    """Return the columns of a robot with a description; adds its shape to the world."""
    fixed_base = isinstance(params, AgentSpawnParams) and bool(params.use_fixed_base)
    file = bullet_file(robot.model.path, search_paths=world.model_paths)
    shape_id = world.shapes.intern(BodyShape(model_path=file, fixed_base=fixed_base, scale=params.global_scaling))
    centre, half_extents = model_box(robot.model, robot.positions)
    return {
        "shape_id": shape_id,
        "shape_kind": int(ShapeKind.COMPOUND if robot.model.collisions else ShapeKind.NONE),
        "half_extents": half_extents,
        "shape_position": centre,
        "shape_centred": not np.any(centre),
    }


def _collision_columns(shape: Geometry) -> dict[str, Any]:
    kind = ShapeKind(shape.kind)
    position: Any = shape.position
    orientation: Any = shape.orientation
    half_extents: Any
    if kind is ShapeKind.MESH:
        position, half_extents = mesh_box(shape)
    else:
        half_extents = half_extents_of(shape)
    return {
        "shape_kind": int(kind),
        "half_extents": half_extents,
        "radius": shape.radius if kind in ROUND_KINDS else 0.0,
        "shape_position": position,
        "shape_orientation": orientation,
        "shape_centred": not np.any(position) and tuple(orientation) == (0.0, 0.0, 0.0, 1.0),
    }


@dataclass(frozen=True)
class Template:
    """Everything of an entity except pose and name: values by table and column, and its Python parts.

    `features` must be in use by the simulation before the columns are written.
    """

    columns: Mapping[str, Mapping[str, Any]]
    user_data: Mapping[str, Any]
    features: tuple[str, ...] = ()
    make_controllers: Callable[[], list[Any]] = list
    plugins: Sequence[tuple[Any, Any]] = ()
    sensors: Sequence[Any] = ()
    robot: RobotPlan | None = None
    unusual: list[tuple[str, str, Any]] = field(default_factory=list, init=False, repr=False, compare=False)
    """Table, column and value of what is not the column's default, found when it is written for the first time."""

    @property
    def has_python_parts(self) -> bool:
        """Whether there is anything besides columns."""
        return bool(self.user_data or self.plugins or self.make_controllers is not list)

    def write(self, world: World, rows: Rows) -> None:
        """Fill the columns of `rows`."""
        # A number in place of an array of one: spawning one by one takes a tenth less time.
        chosen = int(rows[0]) if len(rows) == 1 else rows
        if not self.unusual:
            self.unusual.extend(
                (name, column, value)
                for name, values in self.columns.items()
                for column, value in values.items()
                if not np.array_equal(value, world.tables[name].schema[column].default)
            )
        for name in self.columns:
            world.tables[name].use()
        # The rows hold the defaults already: many of them need no memory for a column that has no other value.
        for name, column, value in self.unusual:
            table = world.tables[name]
            table.own(column)
            getattr(table, column)[chosen] = value
        if self.robot is not None:
            # Joints are in a separate pool, as the number of their rows depends on the robot.
            self.robot.write(world, rows)


def make_template(world: World, params: SimObjectSpawnParams, model: RobotModel | None) -> Template:
    """Check `params` and return its template; raises InvalidValueError. At most adds a shape to the world.

    `model` is its robot description, see `model_of`.
    """
    # What was put into a list or mapping of the settings was not seen when it was.
    check_fields(params)
    # First, so that a wrong shape is rejected for robots that have a description too.
    visuals = geometries(params.visual_shape, params.visual_frame_pose, "visual")
    collisions = geometries(params.collision_shape, params.collision_frame_pose, "collision")
    body = _body_columns(world, params, model)
    if model is None and max(len(visuals), len(collisions)) > 1:
        # The mass is that of the settings, as of every body made of shapes.
        model = compound_model(visuals, collisions)
    check_concave(params, model, collisions, dynamic=body["dynamic"])
    robot = None if model is None else _planned(params, model, motors=body["dynamic"])
    if robot is None:
        _refuse_joints(params)
    if getattr(params, "self_collision", False):
        _check_self_collision(params, model, dynamic=body["dynamic"])
    if robot is None:
        visual = seen_as(visuals[0], collisions) if visuals else None
        body.update(shape_columns(world, BodyShape(visual, next(iter(collisions), None))))
    else:
        body.update(model_columns(world, robot, params))
    columns = declared_columns(params)
    columns.setdefault("body", {}).update(body)
    for name, settings in params.features.items():
        columns[name] = spawn_values(name, settings)
    if isinstance(params, AgentSpawnParams):
        return _template_of_agent(world, params, columns, robot)
    return Template(columns, dict(params.user_data), tuple(params.features), robot=robot)


def _template_of_agent(
    world: World, params: AgentSpawnParams, columns: dict[str, dict[str, Any]], robot: RobotPlan | None
) -> Template:
    """Return the template of an agent whose `columns` lack those of its motion."""
    features = tuple(params.features)
    plan = plan_controllers(world, params.controller)
    plan.make()  # controllers that cannot be made are rejected here, before anything is spawned
    motion = columns["motion"] = motion_columns(world, params, plan, rolls=robot is not None and robot.rolls)
    needed = world.laws.feature(motion["law"])
    if needed is not None and needed not in features:
        columns[needed] = spawn_values(needed, read_features({needed: {}})[needed])
        features = (*features, needed)
    if robot is not None and motion["law"] and not robot.motors and turns_wheels(robot.model, params):
        columns[TURNING] = wheel_columns(params)
        features = tuple(dict.fromkeys((*features, TURNING)))
    return Template(
        columns,
        dict(params.user_data),
        features,
        make_controllers=plan.make,
        plugins=_checked_plugins(params.plugins),
        sensors=world.sensors.plan(params.sensors),
        robot=robot,
    )


def _planned(params: SimObjectSpawnParams, model: RobotModel, *, motors: bool) -> RobotPlan:
    return plan_robot(params, model, motors=motors) if isinstance(params, AgentSpawnParams) else plan_still(model)


def _check_self_collision(params: SimObjectSpawnParams, model: RobotModel | None, *, dynamic: bool) -> None:
    # A compound shape has a model too, but neither a description nor links.
    if model is None or params.urdf_path is None:
        raise InvalidValueError("self_collision: needs a robot description, urdf_path; a shape has no links")
    if dynamic and Path(model.path).suffix.lower() in _FLAGLESS:
        raise InvalidValueError(
            f"self_collision: it is simulated for URDF files only, not for {model.path!r}; use one, or mass: 0"
        )


def _refuse_joints(params: SimObjectSpawnParams) -> None:
    """Raise InvalidValueError for settings of joints where there are none."""
    given = [name for name in _OF_JOINTS if getattr(params, name, None)]
    if given:
        raise InvalidValueError(f"{', '.join(given)}: need a robot description, urdf_path; a shape has no joints")


def declared_columns(params: Checked) -> dict[str, dict[str, Any]]:
    """Return the values of settings declared with a column, by table and column; None keeps the column's default."""
    columns: dict[str, dict[str, Any]] = {}
    for declared in fields_of(type(params)).values():
        value = getattr(params, declared.name) if declared.rules.column else None
        if value is not None:
            table, _, column = declared.rules.column.partition(".")
            columns.setdefault(table, {})[column] = value
    return columns


def _body_columns(world: World, params: SimObjectSpawnParams, model: RobotModel | None) -> dict[str, Any]:
    mass, blocking = _mass(params, model), params.block_on_collision
    return {
        "kind": KIND_AGENT if isinstance(params, AgentSpawnParams) else KIND_OBJECT,
        "mass": mass,
        "dynamic": world.physics and mass > 0.0,
        "collision_mode": CollisionMode.parse(params.collision_mode).code,
        "block_on_collision": world.block_on_collision_default if blocking is None else bool(blocking),
    }


def model_of(world: World, params: SimObjectSpawnParams) -> RobotModel | None:
    """Return the description an entity is spawned from, None for one made of shapes."""
    path = params.urdf_path
    if path is None and params.global_scaling != 1.0:
        raise InvalidValueError(
            f"global_scaling: for robot descriptions (urdf_path) only, got {params.global_scaling:g} for a body of "
            "shapes; give the shapes their sizes"
        )
    if path is None:
        return None
    folders = world.model_paths
    model = load_robot_model(resolve_urdf(path, search_paths=folders), search_paths=folders)
    return model if params.global_scaling == 1.0 else scaled_model(model, params.global_scaling)


def _mass(params: SimObjectSpawnParams, model: RobotModel | None) -> float:
    if params.mass is None:
        return 0.0 if model is None else sum(inertial.mass for inertial in model.inertials)
    return as_float(params.mass, "mass in kg", low=0.0, high=LARGEST_MASS)


def _checked_plugins(entries: Any) -> list[tuple[Any, Any]]:
    """Return the entries of `plugins` as (plugin or class, config) pairs; a text is a name or dotted path."""
    pairs: list[tuple[Any, Any]] = []
    for entry in entries if isinstance(entries, (list, tuple)) else [entries] * (entries is not None):
        plugin, config = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, None)
        if isinstance(plugin, Mapping) and isinstance(plugin.get("type"), str):
            config = {key: value for key, value in plugin.items() if key != "type"}
            plugin = plugin["type"]
        plugin = AGENT_PLUGINS.find(plugin) if isinstance(plugin, str) else plugin
        kind = plugin if isinstance(plugin, type) else type(plugin)
        if not issubclass(kind, AgentHooks):
            raise InvalidValueError(
                "plugins: expected a list of names, dotted paths, mappings with `type` and the plugin's config,"
                f" AgentPlugin classes or (class, config) pairs, got {entry!r}"
            )
        pairs.append((plugin, config))
    return pairs


_OF_JOINTS = ("motors", "joint_motors", "joint_positions", "joint_tolerance", "ik_params")
"""Settings of joints; those of wheels and mimic joints are left out, as fleets of many models share them."""

_FLAGLESS = (".sdf", ".xml", ".mjcf")
"""Formats whose models the engine loads without self-collision."""
