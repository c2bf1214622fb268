"""Creating agents and objects: rows in the core, handles, controllers and sensors, and the walls of polygons."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError, located
from fleet_sim.base.params import CollisionMode, MotionMode
from fleet_sim.base.request_budget import Work
from fleet_sim.base.settings import read
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import AgentSpawnParams, ShapeParams, SimObjectSpawnParams
from fleet_sim.robots.spawning import spawn_many
from fleet_sim.swarm.agent_config import AgentConfig, MazeAgentConfig, Start
from fleet_sim.swarm.agents import AGENT_TYPES, Controller, Group, Sensor, SwarmAgent
from fleet_sim.swarm.canvas import RANDOM_COLOR, Color
from fleet_sim.swarm.controllers import CONTROLLERS
from fleet_sim.swarm.parameters import Component, PartRegistry
from fleet_sim.swarm.sensors import SENSORS
from fleet_sim.swarm.swarm_state import SwarmState, edges, rectangle
from fleet_sim.swarm.world_config import refuse_agent_keys
from fleet_sim.world import steering

Made = TypeVar("Made", bound=Component)

WALL_THICKNESS = 0.02
UNKNOWN: Color = (128, 128, 128)
"""Of bodies whose colors are drawn, until they are."""
LEAST_HEIGHT = 0.05
"""Of bodies in the core, in m; a disc is as high as its radius."""

OWN = ("position", "angle", "name", "team", "agent_radius", "points", "anchor_point", "body_color", "body_filled")
"""What agents of one group may differ in."""


@dataclass(frozen=True)
class Recipe:
    """What agents are made from: their type and settings, checked, and the group they join."""

    cls: type[SwarmAgent]
    config: AgentConfig
    group: Group
    is_object: bool


def agent_type(spec: object) -> tuple[type[SwarmAgent], AgentConfig]:
    """Return what `spec` describes, checked: a name, a mapping with a type and settings, a type, settings, or an agent.

    An agent stands for one like it, where it is now. Raises ConfigError, UnknownNameError or InvalidValueError for what
    is not known or not allowed.
    """
    if isinstance(spec, SwarmAgent):
        return type(spec), spec.as_settings()
    if isinstance(spec, AgentConfig):
        if not spec.associated_type:
            name = type(spec).__name__
            raise InvalidValueError(f"{name}: of what agent? Write @associated_type('MyAgent') above the class")
        cls, config = AGENT_TYPES.type_of(spec.associated_type), spec
        if not isinstance(config, cls.config_class):
            raise InvalidValueError(f"{cls.__name__} needs {cls.config_class.__name__}, got {type(spec).__name__}")
    else:
        cls, params = AGENT_TYPES.split(spec)
        refuse_agent_keys(params, fields_of(cls.config_class))
        config = read(cls.config_class, params)
    _check_components(config)
    return cls, config.in_use("an agent")


def _check_components(config: AgentConfig) -> None:
    """Refuse what is not known before anything is spawned."""
    if config.controller is not None:
        CONTROLLERS.check(config.controller).works_on_arrays()
    for index, spec in enumerate(config.sensors):
        with located(f"sensors[{index}]"):
            SENSORS.check(spec).works_on_arrays()


# A string, as settings hold lists and mappings, which cannot be hashed.
def group_key(cls: type[SwarmAgent], config: AgentConfig, is_object: bool) -> str:
    """Return a key that is equal for agents that can share a group."""
    # A group computes with one configuration; what its agents may differ in is left out.
    shared = {name: value for name, value in vars(config).items() if name not in OWN}
    return f"{is_object} {cls.__module__}.{cls.__qualname__} {_content(shared)}"


def _content(value: Any) -> str:
    """Return a text that is the same for values alike; what is not plain is told apart by identity."""
    if isinstance(value, Mapping):
        return "{" + ",".join(sorted(f"{key!r}:{_content(item)}" for key, item in value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_content, value)) + "]"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return f"{type(value).__name__} {id(value)}"


LOOKS = Work("looks of sensors of a swarm at others per simulated second", 50e6)
KEPT = Work("readings that sensors of a swarm keep", 10e6)


def work_of(world: SwarmState, recipe: Recipe, count: int) -> dict[Work, float]:
    """Return what `count` agents more take, beside the entities that they are."""
    specs = recipe.config.sensors
    lengths = [spec.get("history_length") for spec in specs if isinstance(spec, Mapping)]
    # What is no number is refused by the sensor.
    kept = sum(length for length in lengths if isinstance(length, int) and length > 0)
    # All others, whatever they reach: agents may gather.
    looks = len(specs) * (len(world.columns) + count) / world.columns.clock.dt
    return {LOOKS: count * looks, KEPT: float(count * kept)}


def spawn(
    world: SwarmState, recipe: Recipe, names: Sequence[str], positions: Floats, headings: Floats
) -> list[SwarmAgent]:
    """Spawn one agent or object per name, at `positions` (N, 2) with `headings` (N,); return them in that order.

    Their controllers and sensors are made; their group and the world's lists do not know them yet.
    """
    for work, amount in work_of(world, recipe, len(names)).items():
        work.charge(amount)
    # Before anything is spawned: what a constructor refuses leaves the world as it was.
    starts = map(Start, positions, headings.tolist(), names)
    agents: list[SwarmAgent] = [recipe.cls.made(start, recipe.config, world) for start in starts]
    equipment = _equip(recipe, agents)
    settle(world, recipe, agents, names, positions, headings)
    _hand_over(recipe, agents, equipment)
    return agents


def settle(
    world: SwarmState,
    recipe: Recipe,
    agents: Sequence[SwarmAgent],
    names: Sequence[str],
    positions: Floats,
    headings: Floats,
) -> None:
    """Give agents their rows in the core."""
    config, cls = recipe.config, recipe.cls
    # The core is in space: discs stand on the floor, with their middles half of their height above it.
    centres = np.zeros((len(names), 3))
    centres[:, :2] = positions
    centres[:, 2] = 0.5 * _height(config.disc)
    handle_class: type[SimObject] = Agent if cls.law is not None or not recipe.is_object else SimObject
    params = _spawn_params(recipe, handle_class)
    handles = spawn_many(world.columns, handle_class, params, centres, quaternions.from_yaws(headings), list(names))
    for agent, handle in zip(agents, handles, strict=True):
        agent.bind(handle)
    _fill_columns(world, recipe, agents)
    # Drawn per agent from its own id, which it has from here on.
    if config.body_color == RANDOM_COLOR:
        for agent in agents:
            agent.body_color = RANDOM_COLOR
            if params.visual_shape is not None:
                agent.handle.set_color(_rgba(agent.body_color, config.collides))


def _rgba(color: Color, collides: bool) -> tuple[float, float, float, float]:
    red, green, blue = (part / 255.0 for part in color)
    # What others pass through can be seen through.
    return red, green, blue, 1.0 if collides else 0.4


def _height(radius: float) -> float:
    return max(radius, LEAST_HEIGHT)


def _spawn_params(recipe: Recipe, handle_class: type[Any]) -> Any:
    """Return what the core spawns for an agent: a disc that drives, or a body that stands."""
    config, moves = recipe.config, recipe.cls.law is not None
    shape = None
    # Polygons have no body of their own in the core: their sides are put there as walls.
    if config.disc > 0.0 and (moves or config.points is None):
        color = _rgba(UNKNOWN if isinstance(config.body_color, str) else config.body_color, config.collides)
        shape = ShapeParams("cylinder", radius=config.disc, height=_height(config.disc), rgba_color=color)
    mode = CollisionMode.DISABLED if not config.collides else CollisionMode.NORMAL_3D if moves else CollisionMode.STATIC
    common: dict[str, Any] = {
        "visual_shape": shape,
        "collision_shape": shape if config.collides else None,
        "pickable": False,
        "collision_mode": mode,
        # The swarm keeps its agents apart itself; blocking would stop them before they touch.
        "block_on_collision": False,
    }
    if handle_class is SimObject:
        return SimObjectSpawnParams(**common)
    # A body without a law of motion never moves; the core wants some law all the same.
    law = recipe.cls.law or MotionMode.DIFFERENTIAL.value
    return AgentSpawnParams(**common, motion_mode=law, use_fixed_base=not moves)


def _fill_columns(world: SwarmState, recipe: Recipe, agents: Sequence[SwarmAgent]) -> None:
    rows = np.array([agent.row for agent in agents], np.int64)
    config, swarm = recipe.config, world.swarm
    swarm.group[rows] = recipe.group.index
    swarm.previous[rows] = world.columns.position[rows, :2]
    swarm.team[rows] = world.team_code(config.team)
    swarm.agent_radius[rows] = config.disc
    swarm.collides[rows] = config.collides and (recipe.cls.law is not None or config.points is None)
    swarm.grounded[rows] = config.grounded or recipe.cls.law is None
    if isinstance(config, MazeAgentConfig):
        swarm.stop_on_collision[rows] = config.stop_on_collision
        swarm.catastrophic[rows] = config.catastrophic_collisions
        swarm.stop_at_goal[rows] = config.stop_at_goal
        steering.give_limits(
            world.columns,
            rows,
            linear_speed=_limit(config.max_linear_vel),
            linear_accel=_limit(config.max_linear_accel),
            angular_speed=_limit(config.max_angular_vel),
            angular_accel=_limit(config.max_angular_accel),
        )


def _limit(value: float | None) -> float:
    return np.inf if value is None else value


Equipment = tuple[Controller | None, list[Sensor]]
"""The controller and the sensors of one agent."""


def _equip(recipe: Recipe, agents: Sequence[SwarmAgent]) -> list[Equipment]:
    """Return what agents are to have, controller before sensors, one agent after the other.

    What works on arrays is made for the first agent of its group and serves all of them.
    """
    # The first agent of an empty group makes what works on arrays; the others take it from there.
    known: Equipment = recipe.group.controller, recipe.group.sensors
    made: list[Equipment] = []
    for agent in agents:
        own = equipment_of(agent, known)
        made.append(own)
        known = known[0] or own[0], known[1] or own[1]
    return made


def equipment_of(agent: SwarmAgent, known: Equipment) -> Equipment:
    """Return what the configuration of `agent` says that it has; what works on arrays is taken from `known`."""
    config, controller, (of_group, sensors_of_group) = agent.config, None, known
    if config.controller is not None:
        controller = _component(CONTROLLERS, config.controller, "controller", of_group, agent)
    shared: Sequence[Sensor | None] = sensors_of_group or [None] * len(config.sensors)
    sensors = [
        _component(SENSORS, spec, f"sensors[{index}]", shared[index], agent)
        for index, spec in enumerate(config.sensors)
    ]
    return controller, sensors


def _component(kinds: PartRegistry[Made], spec: object, slot: str, known: Made | None, agent: SwarmAgent) -> Made:
    """Return the group's component where it works on arrays, else a new one; one given as an object is copied."""
    if known is not None and known.works_on_arrays():
        return known
    made = kinds.make(spec, owner=agent)
    # Otherwise two agents would share one object, and its state. What refers to its agent refers to the new one.
    if made is spec:
        made = copy.deepcopy(made, {} if made.agent is None else {id(made.agent): agent})
    made.slot = slot
    made.belong_to(None if made.works_on_arrays() else agent)
    return made


def _hand_over(recipe: Recipe, agents: Sequence[SwarmAgent], equipment: Sequence[Equipment]) -> None:
    """Give every agent its controller and sensors, with their way back to it, and the group those that stand for it."""
    group = recipe.group
    for agent, own in zip(agents, equipment, strict=True):
        agent.hold(*own)
    if equipment:
        # Only what the group did not have: it was there before these agents.
        controller, sensors = equipment[0]
        group.controller, group.sensors = group.controller or controller, group.sensors or list(sensors)


# ---- walls in the core -----------------------------------------------------------------------------------------------


def spawn_border(world: SwarmState) -> None:
    """Put the world's border into the core, for lidars, cameras and PyBullet."""
    spawn_walls(world, edges(rectangle((0.0, 0.0), world.config.size)), "wall")


def spawn_walls(world: SwarmState, segments: Floats, prefix: str) -> None:
    """Put thin static boxes along `segments` (K, 4) into the core."""
    for index, (x1, y1, x2, y2) in enumerate(segments.tolist()):
        length = float(trig.hypot(x2 - x1, y2 - y1))
        if length == 0.0:
            continue
        half = (0.5 * length, 0.5 * WALL_THICKNESS, 2.5 * LEAST_HEIGHT)
        shape = ShapeParams("box", half_extents=half, rgba_color=(0.35, 0.35, 0.35, 1.0))
        params = SimObjectSpawnParams(
            shape, shape, pickable=False, collision_mode=CollisionMode.STATIC, block_on_collision=False
        )
        # Outside of the line, so that its face is where agents stop: to the right of its direction.
        aside = 0.5 * WALL_THICKNESS / length
        centre = (0.5 * (x1 + x2) + aside * (y2 - y1), 0.5 * (y1 + y2) - aside * (x2 - x1), half[2])
        orientation = quaternions.from_yaws(np.array([trig.arctan2(y2 - y1, x2 - x1)]))
        spawn_many(world.columns, SimObject, params, np.array([centre]), orientation, [f"{prefix}_{index}"])
