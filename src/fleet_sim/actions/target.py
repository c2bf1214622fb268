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

    The values of `body_id` and `object_id` are distinguished by type. A plain int, as PyBullet's rays give it, is a
    body id if there is such a body, otherwise an object id.
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
    """Return the row of a number, which is a body id or else an object id.

    Raises UnknownNameError for a number that is neither, and for a body that stands for no entity.
    """
    row = world.bodies.row_of_body(number)
    if row != NO_ROW:
        return row
    # A ray that met the floor must not mean the object which happens to have that number.
    other = world.bodies.other_body(number)
    if other:
        raise UnknownNameError(f"the body {number} is {other}, and no object")
    try:
        return world.index.row_of(number)
    except UnknownNameError:
        raise UnknownNameError(f"no object has the body id or the object id {number}") from None


def target_text(target: SimObject | BodyId | ObjectId) -> str:
    """Return `target` as text that means the same object."""
    if isinstance(target, SimObject):
        return target.world.label(target.row)
    return f"#{target.object_id if isinstance(target, BodyId) else int(target)}"
