"""Targets of actions: an object given by handle, name, object id or body id."""

from __future__ import annotations

import operator

from fleet_sim.core.addresses import BodyId, ObjectId
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import InvalidValueError, UnknownNameError

Target = SimObject | str | int
"""A handle, a name or `#<object id>`, a body id or an object id; see `row_of_target`."""

TARGET_DOC = "A SimObject, a name (or #<object id>), its `body_id` or its `object_id`; None: "
TARGET_SCHEMA = {"type": ["integer", "string", "null"]}


def read_target(value: object) -> Target | None:
    """Return a valid target, or None for None; raises InvalidValueError."""
    if value is None or isinstance(value, (SimObject, str, ObjectId, BodyId)):
        return value
    try:
        if not isinstance(value, bool):
            # This also takes NumPy's integers, and no floats.
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise InvalidValueError(f"must be a SimObject, a name, or a whole number (a body id), got {value!r}")


def row_of_target(world: World, target: Target) -> int:
    """Return the row of the target; raises UnknownNameError.

    The values of `body_id` and `object_id` are distinguished by type. A plain int is a body id if a body has that id,
    otherwise an object id. It is rejected if both exist and belong to different entities, as it would be ambiguous.
    """
    if isinstance(target, SimObject):
        if target.world is not world or not target.is_alive:
            raise UnknownNameError(f"{target!r} is not, or no longer, in this simulation")
        return target.row
    if isinstance(target, str):
        if not world.index.has_name(target) and target.startswith("#") and target[1:].isdecimal():
            return world.index.row_of(int(target[1:]))
        return world.index.row_named(target)
    if isinstance(target, BodyId):
        return world.index.row_of(target.object_id)
    if isinstance(target, ObjectId):
        return world.index.row_of(target)
    return _row_of_number(world, target)


def _row_of_number(world: World, number: int) -> int:
    """Return the row of a number, which is a body id or an object id.

    Raises UnknownNameError for a number that is neither, and for one that means two different objects.
    """
    # PyBullet's numbers and our own are both small and count from 0, so a plain number often exists as both.
    body_row = world.bodies.row_of_body(number)
    try:
        object_row = world.index.row_of(number)
    except UnknownNameError:
        object_row = NO_ROW
    if body_row == NO_ROW and object_row == NO_ROW:
        raise UnknownNameError(f"no object has the body id or the object id {number}")
    if NO_ROW not in (body_row, object_row) and body_row != object_row:
        raise UnknownNameError(
            f"{number} is the body id of {world.label(body_row)!r} and the object id of {world.label(object_row)!r}; "
            "give the object itself, its name, or what its `body_id` returns"
        )
    return object_row if body_row == NO_ROW else body_row


def target_text(target: SimObject | BodyId | ObjectId) -> str:
    """Return `target` as text that means the same object."""
    if isinstance(target, SimObject):
        return target.world.label(target.row)
    return f"#{target.object_id if isinstance(target, BodyId) else int(target)}"
