"""Joint commands for many robots: one write per robot model."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows, as_float
from fleet_sim.core import commands as c
from fleet_sim.core import joint_steering, mimic
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.world import World
from fleet_sim.entities.joint_values import limits_cause, place_of
from fleet_sim.entities.recipients import Recipients, shaped
from fleet_sim.errors import FleetSimError, InvalidValueError
from fleet_sim.gate.bounds import LARGEST_FORCE, LARGEST_SPEED


def set_joints(world: World, command: c.SetJoints, to: Recipients) -> None:
    """Execute `command` for the robots of `to`, which must all have joints; invalid ones are rejected in `to`.

    Raises InvalidValueError if the command is malformed as a whole.
    """
    values = _values(command)
    force = as_float(command.max_force, "max_force in N m or N", low=0.0, high=LARGEST_FORCE)
    what = "velocity" if command.positions is None else "position"
    # Robots of one model may follow mimic joints or not.
    # One number for model and way of following: rows with the same number are commanded in one write.
    numbers = 2 * world.robots.model[to.rows] + world.robots.mimics[to.rows]
    chosen: dict[int, Ints] = {}
    reasons: dict[int, str] = {}
    for number in np.unique(numbers).tolist():
        members = np.flatnonzero(numbers == number)
        model = world.models[number // 2]
        try:
            chosen[number] = places = _places(model, command.joint_names, values.shape[1])
        except FleetSimError as error:
            # The whole kind is wrong in the same way; the others go on.
            reasons.update(dict.fromkeys(to.rows[members].tolist(), str(error)))
            continue
        given = values[to.indices[members]]
        reasons.update(_reasons(to.rows[members], model, places, given, command.positions is not None))
        if number % 2:
            reasons.update(_mimic_reasons(to.rows[members], model, places, given, what))
    # After all checks: nothing has been written so far.
    to.reject_for(reasons)
    numbers = 2 * world.robots.model[to.rows] + world.robots.mimics[to.rows]
    for number, places in chosen.items():
        rows, indices = to.rows[numbers == number], to.indices[numbers == number]
        for row in world.actions.busy(rows).tolist():
            world.actions.cancel_joints(row, places, "joints were commanded")
        slots = (world.robots.joint_start[rows][:, None] + places).reshape(-1)
        # Velocities have no limits of position to be checked against; each joint clips them to its speed.
        give = joint_steering.give_joint_velocities if command.positions is None else joint_steering.give_joint_targets
        give(world, slots, values[indices].reshape(-1), force)


def _values(command: c.SetJoints) -> Floats:
    """Return the numbers of the command, finite or not."""
    if (command.positions is None) == (command.velocities is None):
        raise InvalidValueError("a joint command has either positions or velocities")
    what = "velocities" if command.positions is None else "positions"
    given: Any = command.velocities if command.positions is None else command.positions
    # Without names, the numbers say how many joints are meant.
    columns = len(command.joint_names) or (np.shape(given)[1] if np.ndim(given) == 2 else 0)
    return shaped(given, (len(command.names), columns), what)


def _places(model: RobotModel, joint_names: tuple[str, ...], count: int) -> Ints:
    if joint_names:
        return np.array([place_of(model, name) for name in joint_names], np.int64)
    if count != len(model.movable):
        raise InvalidValueError(f"{model.name!r} has {len(model.movable)} joints that move, got {count} numbers")
    return np.arange(count)


def _reasons(rows: Rows, model: RobotModel, places: Ints, given: Floats, are_positions: bool) -> dict[int, str]:
    """Return, by row, the reasons for rejecting `rows` whose numbers in `given` (K, M) are not allowed."""
    reasons = {}
    for row, numbers in zip(rows.tolist(), given, strict=True):
        cause = "" if np.isfinite(numbers).all() else "a number is not finite"
        # `not ... <=`, so that NaN is refused too.
        if not cause and not np.abs(numbers).max(initial=0.0) <= LARGEST_SPEED:
            cause = f"a number is beyond {LARGEST_SPEED:g}"
        if not cause and are_positions:
            cause = limits_cause(model, places, numbers)
        if cause:
            reasons[row] = cause
    return reasons


def _mimic_reasons(rows: Rows, model: RobotModel, places: Ints, given: Floats, what: str) -> dict[int, str]:
    """Return, by row, the reasons for rejecting `rows` that command mimic joints apart from their leaders."""
    reasons = {}
    for row, numbers in zip(rows.tolist(), given, strict=True):
        try:
            mimic.without_followers(model, places, numbers, what=what)
        except InvalidValueError as error:
            reasons[row] = str(error)
    return reasons
