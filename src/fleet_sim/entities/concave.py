"""Which entities may have a concave collision mesh: those that never move, as the engine cannot move one."""

from __future__ import annotations

from fleet_sim.core.robot_model import FIXED, RobotModel
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.shapes import Geometry
from fleet_sim.core.world import World
from fleet_sim.entities.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.spatial.shapes import ShapeKind

_WHY = "a concave mesh is a surface without an inside, which the engine cannot move"


def check_concave(
    params: SimObjectSpawnParams, model: RobotModel | None, collisions: tuple[Geometry, ...], *, dynamic: bool
) -> None:
    """Raise InvalidValueError if what is spawned from `params` collides as a concave mesh and might move.

    Its shapes are those of `model`, or `collisions`. A robot may be kinematic, or have its base fixed.
    """
    # A robot from a file says by link what is concave; only links that cannot move may be.
    if isinstance(params, AgentSpawnParams) and params.urdf_path is not None and model is not None:
        if dynamic:
            _check_links(model, fixed_base=params.use_fixed_base)
        return
    if not any(shape.concave for shape in collisions) and (model is None or not model.concave):
        return
    if isinstance(params, AgentSpawnParams):
        raise InvalidValueError(f"collision_shape: {_WHY}; a robot needs a convex one, or spawn a SimObject")
    if params.mass or dynamic:
        raise InvalidValueError(f"mass: {_WHY}; give 0, or a convex collision_shape, got {params.mass}")
    # What is carried moves, and is pushed by what it touches.
    if params.pickable:
        raise InvalidValueError(f"pickable: {_WHY}; give pickable=False, or a convex collision_shape")


def _check_links(model: RobotModel, *, fixed_base: bool) -> None:
    for piece in model.concave:
        if not fixed_base or any(model.joint_types[joint] != FIXED for joint in model.chain(piece.link)):
            name = model.base_name if piece.link < 0 else model.link_names[piece.link]
            raise InvalidValueError(
                f"link {name!r} of {model.name!r} collides as a concave mesh: {_WHY}; use_fixed_base or mass 0 keep it "
                'in place, or remove concave="yes"'
            )


def check_mass(world: World, row: int) -> None:
    """Raise StateError if the entity in `row` cannot be given a mass, as it collides as a concave mesh."""
    if _concave(world, row):
        raise StateError(f"a mass: {world.label(row)!r} collides as a concave mesh; {_WHY}")


def check_pickable(world: World, row: int) -> None:
    """Raise StateError if the object in `row` cannot be made pickable, as it collides as a concave mesh."""
    if world.kind[row] != KIND_AGENT and _concave(world, row):
        raise StateError(f"pickable: {world.label(row)!r} collides as a concave mesh; {_WHY}")


def _concave(world: World, row: int) -> bool:
    model = world.model_of(row)
    if model is not None:
        return bool(model.concave)
    # Bodies that users made in PyBullet are compounds here; those are theirs to move.
    return world.shape_kind[row] == ShapeKind.MESH and int(world.shape_id[row]) in world.shapes.concave
