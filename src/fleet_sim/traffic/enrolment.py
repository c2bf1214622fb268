"""Enrolment: which robots may take part in the traffic, and why others may not."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.config.modes import MotionMode, MovementDirection
from fleet_sim.core.world import World
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial import quaternions
from fleet_sim.traffic.columns import BACKWARD, EITHER, FORWARD, TrafficColumns

NEAR = 1e-3
"""How far (m) from its node a robot may stand; it is put onto it."""
LEADS = {
    MovementDirection.FORWARD.code: FORWARD,
    MovementDirection.BACKWARD.code: BACKWARD,
    MovementDirection.AUTO.code: EITHER,
}


def hindrance(world: World, row: int) -> str:
    """Return why the robot in `row` cannot take part in any traffic, "" where it can."""
    motion = world.motion
    laws = world.laws.names()
    law = laws[int(motion.law[row])]
    if law not in (MotionMode.DIFFERENTIAL.value, MotionMode.OMNIDIRECTIONAL.value):
        return f"it moves by the law {law!r}; the traffic drives differential and omnidirectional robots"
    if world.parent[row] >= 0:
        return f"it is carried by {world.label(int(world.parent[row]))!r}"
    if world.dynamic[row]:
        return "it is moved by the physics engine; give it a mass of 0"
    if motion.avoidance[row] > 0.0:
        return "it avoids others by itself, which would take it off its lane; spawn it with avoidance 0"
    turns = law == MotionMode.DIFFERENTIAL.value
    # A differential base moves along x only, and its limit aside is 0.
    axes = slice(0, 1) if turns else slice(0, 2)
    numbers = {
        "speed": min(motion.linear_limit[row], motion.linear_limits[row, axes].min()),
        "acceleration": min(motion.linear_accel[row], motion.linear_accels[row, axes].min()),
    }
    if turns:
        numbers["angular speed"] = min(motion.angular_limit[row], motion.angular_limits[row, 2])
        numbers["angular acceleration"] = min(motion.angular_accel[row], motion.angular_accels[row, 2])
    for what, value in numbers.items():
        # `not ... >`, so that NaN is refused too.
        if not value > 0.0:
            return f"its {what} is limited to {value:g}"
        # Times along a path are computed from speeds; infinity gives no time.
        if what.endswith("speed") and not np.isfinite(value):
            return f"its {what} has no limit"
    if world.velocity[row].any() or world.angular_velocity[row].any():
        return "it moves; let it stop first"
    return ""


def enter(world: World, table: TrafficColumns, row: int) -> None:
    """Fill the columns of a robot that takes part, except for its way."""
    table.clear_rows(np.array([row]))
    table.present[row] = True
    table.radius[row] = footprint_radius(world, row)
    table.turns[row] = world.laws.names()[int(world.motion.law[row])] == MotionMode.DIFFERENTIAL.value
    table.lead[row] = LEADS[int(world.motion.default_direction[row])]
    table.yaw[row] = quaternions.yaw_of(world.orientation, row)
    # What is left without the yaw: a robot on a slope keeps its tilt while it turns.
    upright = quaternions.from_yaws(-table.yaw[row : row + 1])
    table.tilt[row] = quaternions.multiply(upright, world.orientation[row][None])[0]


def turning_speeds(world: World, rows: Rows) -> Floats:
    """Return the largest angular speeds (N,) of `rows` in rad/s; 0 for those that cannot speed up."""
    motion = world.motion
    speeds = np.minimum(motion.angular_limit[rows], motion.angular_limits[rows, 2])
    accels = np.minimum(motion.angular_accel[rows], motion.angular_accels[rows, 2])
    return np.where(accels > 0.0, speeds, 0.0)


def refused(world: World, row: int, reason: str) -> InvalidValueError:
    """Return the error for a robot that may not take part."""
    return InvalidValueError(f"{world.label(row)!r} cannot take part in the traffic: {reason}")


def not_enrolled(world: World, row: int) -> InvalidValueError:
    """Return the error for a robot that takes no part."""
    return InvalidValueError(f"{world.label(row)!r} takes no part in the traffic; enrol it first: traffic.enroll(...)")
