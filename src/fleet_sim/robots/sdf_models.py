"""The models of an SDF file as spawn params: what stands still as an object, what has joints as a robot."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.errors import InvalidValueError, unknown_name
from fleet_sim.base.files import check_file, expanded, is_file
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models.catalog import resolve_urdf
from fleet_sim.models.export import urdf_text
from fleet_sim.models.generated import keep
from fleet_sim.models.loading import load_sdf_world
from fleet_sim.models.profile import Structure
from fleet_sim.models.sdf import PlacedModel, SdfWorld
from fleet_sim.robots.spawn_params import AgentSpawnParams, ShapeParams, ShapeType, SimObjectSpawnParams
from fleet_sim.world.shapes import BASE, Geometry, LinkGeometry, RobotModel
from fleet_sim.world.world import World

log = logging.getLogger("fleet_sim.models")

_PLAIN: dict[int, ShapeType] = {
    ShapeKind.BOX: "box",
    ShapeKind.SPHERE: "sphere",
    ShapeKind.CYLINDER: "cylinder",
    ShapeKind.CAPSULE: "capsule",
    ShapeKind.PLANE: "plane",
}


def read_world_file(path: str | Path, world: World) -> SdfWorld:
    """Return what an SDF or world file holds, given by path or by the name of a model, for `world`.

    What of it is left out is logged in one line. Raises InvalidValueError, also for a gravity that is not that of a
    world with physics.
    """
    search_paths = world.model_paths
    file = expanded(path)
    # A bare word is the name of a model, a path has an ending or exists.
    if file.suffix or is_file(file):
        check_file(file, "sdf")
    else:
        file = Path(resolve_urdf(path, search_paths=search_paths))
    found = load_sdf_world(file, search_paths=search_paths)
    # Without physics gravity moves nothing.
    if world.physics:
        _check_gravity(found, world.gravity, path)
    if found.left_out:
        log.warning("%s: not taken: %s", path, "; ".join(found.left_out))
    return found


def _check_gravity(found: SdfWorld, gravity: Sequence[float], path: str | Path) -> None:
    """Raise InvalidValueError where a world file says another gravity than `gravity`, that of the simulation."""
    # Files round it differently: 9.8, 9.81, 9.80665.
    if found.gravity is not None and not np.allclose(found.gravity, gravity, rtol=0.0, atol=0.02):
        raise InvalidValueError(
            f"{path}: its gravity is {found.gravity} m/s^2, that of the simulation {tuple(gravity)}; set "
            f"simulation.gravity: {list(found.gravity)}"
        )


def params_of_world(
    found: SdfWorld,
    *,
    pose: Pose | None = None,
    prefix: str = "",
    skip_models: Collection[str] = (),
    agents: bool = False,
) -> list[SimObjectSpawnParams]:
    """Return the spawn params of the models, in the order of the file, called `prefix` and their name there.

    `pose` is that of the file's origin. A model with joints that move is an Agent, fixed where it is static; others
    are objects, or with `agents` Agents if they are not static. Raises UnknownNameError for a model to skip that is
    not there.
    """
    names = [placed.name for placed in found.models]
    for name in skip_models:
        if name not in names:
            raise unknown_name("model to skip", name, names)
    # Poses in the file are relative to wherever the world is put.
    origin = pose or Pose((0.0, 0.0, 0.0))
    chosen = [placed for placed in found.models if placed.name not in skip_models]
    return [_params(placed, origin, prefix, agents=agents) for placed in chosen]


def _params(placed: PlacedModel, origin: Pose, prefix: str, *, agents: bool) -> SimObjectSpawnParams:
    """Return how to spawn one model of a world, with its pose in the frame of the world that `origin` is in.

    Models with joints become agents, and movable ones do so too if `agents`; the rest are objects. What the file
    calls static stays where it is.
    """
    model = placed.model
    settings: dict[str, Any] = {
        "name": f"{prefix}{placed.name}",
        "initial_pose": origin * Pose(placed.position, placed.orientation),
    }
    if len(model.movable) or (agents and not placed.static):
        return AgentSpawnParams(urdf_path=_file(model), mass=None, use_fixed_base=placed.static, **settings)
    if not placed.static:
        return SimObjectSpawnParams(urdf_path=_file(model), mass=None, **settings)
    still = {**settings, "collision_mode": CollisionMode.STATIC, "pickable": False}
    # Never moves, so its meshes may be surfaces that one can drive into, such as a shelf.
    model = replace(model, collisions=tuple(map(_as_surface, model.collisions)))
    shapes = _shapes(model)
    if shapes is None:
        return SimObjectSpawnParams(urdf_path=_file(model), **still)
    visuals, collisions = shapes
    return SimObjectSpawnParams(visuals, collisions, **still)


def _as_surface(part: LinkGeometry) -> LinkGeometry:
    """Return a collision shape of what never moves: meshes have room inside, as in Gazebo."""
    if part.geometry.kind != ShapeKind.MESH:
        return part
    # Only now concave: of what moves, the engine needs the hull.
    return LinkGeometry(part.link, replace(part.geometry, concave=True))


def _file(model: RobotModel) -> str:
    """Return a URDF file of a model, which is one of several of its own file."""
    for part in (*model.visuals, *model.collisions):
        if part.geometry.kind == ShapeKind.PLANE:
            raise InvalidValueError(
                f"{model.path}: the model {model.name!r} has a plane, which has no end; only a static model whose one "
                "shape is a plane may have it. Write a thin box instead"
            )
    return str(keep(urdf_text(model).encode(), f"{Path(model.path).stem}.urdf"))


def _shapes(model: RobotModel) -> tuple[list[ShapeParams], list[ShapeParams]] | None:
    """Return the visual and collision shapes of a model that stands still; None for those only descriptions have."""
    visuals, collisions = _in_base(model, model.visuals), _in_base(model, model.collisions)
    everything = (*visuals, *collisions)
    several = max(len(visuals), len(collisions)) > 1
    # A plane among other shapes has no box that could hold all of them.
    if not all(map(_is_shape, everything)) or (several and any(each.kind == ShapeKind.PLANE for each in everything)):
        return None
    return [_shape(geometry) for geometry in visuals], [_shape(geometry) for geometry in collisions]


def _in_base(model: RobotModel, parts: Sequence[LinkGeometry]) -> list[Geometry]:
    """Return the geometries of a model without joints that move, in the frame of its base."""
    positions, orientations = Structure(model).frames
    found = []
    for part in parts:
        geometry = part.geometry
        if part.link != BASE:
            link = positions[[part.link]], orientations[[part.link]]
            position, orientation = quaternions.compose(
                *link, np.array([geometry.position]), np.array([geometry.orientation])
            )
            geometry = replace(
                geometry, position=tuple(position[0].tolist()), orientation=tuple(orientation[0].tolist())
            )
        found.append(geometry)
    return found


def _is_shape(geometry: Geometry) -> bool:
    if geometry.kind != ShapeKind.MESH:
        return geometry.kind in _PLAIN
    # PyBullet reads COLLADA in descriptions only, and a mirrored mesh is no setting of a shape.
    return Path(geometry.mesh_path).suffix.lower() in (".obj", ".stl") and min(geometry.mesh_scale) > 0.0


def _shape(geometry: Geometry) -> ShapeParams:
    """Return a geometry of a model as params of a shape; its pose is in the frame of the link."""
    if geometry.kind == ShapeKind.MESH:
        return ShapeParams(
            "mesh",
            mesh_path=geometry.mesh_path,
            mesh_scale=geometry.mesh_scale,
            concave=geometry.concave,
            rgba_color=geometry.rgba,
            frame_pose=Pose(geometry.position, geometry.orientation),
        )
    return ShapeParams(
        _PLAIN[geometry.kind],
        half_extents=geometry.half_extents,
        radius=geometry.radius,
        height=geometry.height,
        rgba_color=geometry.rgba,
        frame_pose=Pose(geometry.position, geometry.orientation),
    )
