"""Which object an action means: a handle, a name, an object id or a body id."""

from __future__ import annotations

import operator

from fleet_sim.core.entity_ids import BodyId, ObjectId
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import InvalidValueError, UnknownNameError

Target = SimObject | str | int
"""A handle, a name or `#<object id>`, a body id or an object id; see `row_of_target`."""

TARGET_DOC = "A SimObject, a name (or #<object id>), its `body_id` or its `object_id`; None: "
TARGET_SCHEMA = {"type": ["integer", "string", "null"]}


def read_target(value: object) -> Target | None:
    """Return what names an object, None as it is; raises InvalidValueError."""
    if value is None or isinstance(value, (SimObject, str, ObjectId, BodyId)):
        return value
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise InvalidValueError(f"must be a SimObject, a name, or a whole number (a body id), got {value!r}")


def row_of_target(world: World, target: Target) -> int:
    """Return the row of the object that is meant; raises UnknownNameError.

    What `body_id` and `object_id` return is told apart. A bare number is a body id where a body has that number, and
    else an object id. It is refused where both exist and are two entities: none of them is taken by guessing.
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
