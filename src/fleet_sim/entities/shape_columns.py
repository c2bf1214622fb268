"""The shape and the box of a new entity, as values of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.core.shapes import BodyShape, Geometry, half_extents_of, seen_as
from fleet_sim.core.world import World
from fleet_sim.entities.compound import Geometries
from fleet_sim.entities.robot_plan import RobotPlan
from fleet_sim.entities.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.kinematics.bounds import mesh_box, model_box
from fleet_sim.models import bullet_file
from fleet_sim.spatial.shapes import ROUND_KINDS, ShapeKind


def shape_columns(world: World, visuals: Geometries, collisions: Geometries) -> dict[str, Any]:
    """Return the columns of a body made of shapes; adds its shape to the world."""
    visual = seen_as(visuals[0], collisions) if visuals else None
    shape = BodyShape(visual, next(iter(collisions), None))
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
