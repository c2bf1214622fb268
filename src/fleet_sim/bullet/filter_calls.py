"""PyBullet's functions for collision filters, as `sim.bullet` has them: for entities they act on the whole simulation.

Each function here has the arguments of pybullet's own and returns whether that one needs no call any more.
"""

from __future__ import annotations

from collections.abc import Callable

from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.core.collision_filters import checked_group, checked_mask
from fleet_sim.core.schema import NO_ROW
from fleet_sim.errors import StateError


def _set_pair(
    mirror: BulletMirror,
    bodyUniqueIdA: int,
    bodyUniqueIdB: int,
    linkIndexA: int,
    linkIndexB: int,
    enableCollision: int,
) -> bool:
    """setCollisionFilterPair: of two entities it is what `sim.set_collision_pair` sets."""
    mirror.ensure()
    first, second = mirror.rows_of_bodies([bodyUniqueIdA, bodyUniqueIdB]).tolist()
    # The floor and bodies of the user's own are known to the engine alone; so are links of one body.
    if NO_ROW in (first, second) or first == second:
        return False
    _require_whole(mirror, first, linkIndexA, "setCollisionFilterPair", "sim.set_collision_pair(a, b, enabled)")
    _require_whole(mirror, second, linkIndexB, "setCollisionFilterPair", "sim.set_collision_pair(a, b, enabled)")
    mirror.world.collision_filters.set_pair(first, second, bool(enableCollision))
    return True


def _set_group_mask(
    mirror: BulletMirror,
    bodyUniqueId: int,
    linkIndexA: int,
    collisionFilterGroup: int,
    collisionFilterMask: int,
) -> bool:
    """setCollisionFilterGroupMask: of an entity it is what `set_collision_filter` sets."""
    mirror.ensure()
    row = int(mirror.rows_of_bodies([bodyUniqueId])[0])
    if row == NO_ROW:
        return False
    instead = "set_collision_filter(group, mask) of the entity"
    _require_whole(mirror, row, linkIndexA, "setCollisionFilterGroupMask", instead)
    group, mask = checked_group(collisionFilterGroup), checked_mask(collisionFilterMask)
    world = mirror.world
    world.collision_group[row], world.collision_mask[row] = group, mask
    world.collision_rules.changed()
    return True


FILTER_CALLS: dict[str, Callable[..., bool]] = {
    "setCollisionFilterPair": _set_pair,
    "setCollisionFilterGroupMask": _set_group_mask,
}


def _require_whole(mirror: BulletMirror, row: int, link: int, name: str, instead: str) -> None:
    """Raise StateError unless `link` of the entity in `row` is all it has."""
    body = int(mirror.bodies.table.body[row])
    if link != -1 or mirror.client.getNumJoints(body):
        raise StateError(
            f"sim.bullet.{name}: {mirror.world.label(row)!r} has links, and fleet_sim's collisions are those of whole "
            f"entities; use {instead}"
        )
