"""Who may have a concave collision mesh: what never moves, as the engine cannot move one."""

from __future__ import annotations

from fleet_sim.core.robot_model import FIXED, RobotModel
from fleet_sim.core.shapes import Geometry
from fleet_sim.core.world import World
from fleet_sim.entities.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.errors import InvalidValueError, StateError

_WHY = "a concave mesh is a surface without an inside, which the engine cannot move"


def check_concave(params: SimObjectSpawnParams, collision: Geometry | None) -> None:
    """Raise InvalidValueError unless what is spawned from `params` may collide as `collision`."""
    if collision is None or not collision.concave:
        return
    if isinstance(params, AgentSpawnParams):
        raise InvalidValueError(f"collision_shape: {_WHY}; a robot needs a convex one, or spawn a SimObject")
    if params.mass:
        raise InvalidValueError(f"mass: {_WHY}; give 0, or a convex collision_shape, got {params.mass:g}")
    if params.pickable:
        raise InvalidValueError(f"pickable: {_WHY}; give pickable=False, or a convex collision_shape")


def check_concave_model(model: RobotModel, *, dynamic: bool, fixed_base: bool) -> None:
    """Raise InvalidValueError if physics would move a link of `model` that collides as a concave mesh."""
    for piece in model.concave if dynamic else ():
        if not fixed_base or any(model.joint_types[joint] != FIXED for joint in model.chain(piece.link)):
            name = model.base_name if piece.link < 0 else model.link_names[piece.link]
            raise InvalidValueError(
                f"link {name!r} of {model.name!r} collides as a concave mesh: {_WHY}; use_fixed_base or mass 0 keep it "
                'in place, or remove concave="yes"'
            )


def check_may_move(world: World, row: int, what: str) -> None:
    """Raise StateError if the entity in `row` collides as a concave mesh, so that it cannot be given `what`."""
    if int(world.shape_id[row]) in world.shapes.concave:
        raise StateError(f"{what}: {world.label(row)!r} collides as a concave mesh; {_WHY}")
