"""Links and joints of robots by name or index."""

from __future__ import annotations

from fleet_sim.entities import attachments
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import StateError


def resolve_link_index(entity: SimObject, link: int | str) -> int:
    """Return the index of a link given by name or index, -1 for the base; raises UnknownNameError for any other."""
    return attachments.link_index(entity.world, entity.row, link)


def resolve_joint_index(entity: SimObject, joint: int | str) -> int:
    """Return the index of a joint given by name or index, fixed joints included.

    Raises UnknownNameError for an unknown joint, StateError for a body without joints.
    """
    model = entity.world.model_of(entity.row)
    if model is None or not model.num_joints:
        raise StateError(f"{entity.name or entity!r} has no joints")
    return model.joint_index(joint)
