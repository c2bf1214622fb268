"""Spawn params, checked once and converted to column values, so that equal entities are written in bulk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Rows, as_float
from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.features import read_features, spawn_values
from fleet_sim.core.plugins import AGENT_PLUGINS, AgentHooks
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.schema import KIND_AGENT, KIND_OBJECT
from fleet_sim.core.world import World
from fleet_sim.entities.compound import compound_model
from fleet_sim.entities.concave import check_concave
from fleet_sim.entities.controller_plan import plan_controllers
from fleet_sim.entities.motion_columns import motion_columns
from fleet_sim.entities.robot_plan import RobotPlan, plan_robot, plan_still
from fleet_sim.entities.shape_columns import model_columns, shape_columns
from fleet_sim.entities.shape_params import geometries
from fleet_sim.entities.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.entities.wheels import TURNING, turns_wheels, wheel_columns
from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.bounds import LARGEST_MASS
from fleet_sim.models import load_robot_model, resolve_urdf
from fleet_sim.models.scaling import scaled_model
from fleet_sim.settings import Checked, check_fields
from fleet_sim.settings.fields import fields_of


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
    body.update(shape_columns(world, visuals, collisions) if robot is None else model_columns(world, robot, params))
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
