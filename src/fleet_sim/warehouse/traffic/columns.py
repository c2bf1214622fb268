"""The columns of robots in the traffic."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import MotionMode, MovementDirection
from fleet_sim.base.spatial import quaternions
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.world import World

STOPPED, DELAYED, BROKEN, UNFIT, SERVING = 1, 2, 4, 8, 16
"""Reasons to stand, as bits: by command, by a delay, by a breakdown, as it may not drive, at work at its goal."""

FORWARD, BACKWARD, EITHER = 0, 1, 2


class TrafficColumns(FeatureColumns):
    """Where a robot is on its way through the network, and what it waits for.

    A way is a list of nodes: those from `behind` to `granted` are the robot's own at present, those up to `length` are
    planned. The robot is at node `at` of the list, or between it and the next.
    """

    behind: Ints = column(np.int64, writer="traffic", doc="first node of the way that it has not cleared")
    at: Ints = column(np.int64, writer="traffic", doc="node of the way that it passed last")
    granted: Ints = column(np.int64, writer="traffic", doc="last node of the way that it may drive to")
    length: Ints = column(np.int64, writer="traffic", doc="nodes of the way")
    digest: Ints = column(np.int64, writer="traffic", doc="of the planned nodes, and of who passes them before")
    progress: Floats = column(float, unit="m", writer="traffic", doc="beyond the node that it passed last")
    speed: Floats = column(float, unit="m/s", writer="traffic", doc="along its way")
    yaw: Floats = column(float, unit="rad", frame="world", writer="traffic")
    spin: Floats = column(float, unit="rad/s", writer="traffic")
    reversing: Bools = column(bool, writer="traffic", doc="drives backwards")
    place: Floats = column(float, (2,), unit="m", frame="world", writer="traffic", doc="where its law left it")
    offset: Floats = column(
        float,
        (2,),
        unit="m",
        writer="traffic",
        doc="from the world to that place: storeys lie side by side",
        hashed=False,
    )
    round: Ints = column(
        np.int64, default=-1, reference=True, writer="traffic", doc="one of those with which it moves round at once"
    )
    leader: Ints = column(
        np.int64, default=-1, reference=True, writer="traffic", doc="leaves the last node granted to this one"
    )
    gap: Floats = column(float, unit="m", writer="traffic", doc="before that node, where it stops behind the leader")
    halted: Bools = column(bool, writer="traffic", doc="its leader, or one it moved round with, left the traffic there")

    goal: Ints = column(np.int64, default=-1, writer="Traffic.send", doc="node; -1: none was given")
    heading: Floats = column(float, default=np.nan, unit="rad", writer="Traffic.send", doc="at its goal; nan: any")
    arrived: Bools = column(bool, writer="Traffic", doc="stands, or stood, at its goal")
    waiting: Bools = column(bool, writer="traffic", doc="stands, as it may not drive on yet")
    waited: Ints = column(np.int64, unit="tick", writer="traffic", doc="how long it waited in all")
    driven: Floats = column(float, unit="m", writer="traffic", doc="how far it drove in all")

    held: Bytes = column(np.uint8, writer="Traffic, disturbances", doc="reasons to stand, as bits")
    pace: Floats = column(float, default=1.0, writer="disturbances", doc="of its speed limit, 0 to 1")
    until: Ints = column(np.int64, default=-1, unit="tick", writer="disturbances", doc="end of a delay")
    fixed: Ints = column(np.int64, default=-1, unit="tick", writer="disturbances", doc="end of a breakdown")

    wide: Bools = column(bool, writer="TrafficBars.set_wide", doc="keeps off barred nodes, other than its goal")
    wanted: Bools = column(bool, writer="spawning", doc="its spawn entry says that it takes part")
    turns: Bools = column(bool, writer="Traffic.enroll", doc="turns towards where it drives")
    lead: Bytes = column(np.uint8, writer="Traffic.enroll", doc="FORWARD, BACKWARD or EITHER end leads")
    radius: Floats = column(float, unit="m", writer="Traffic.enroll", doc="of its footprint")
    tilt: Floats = column(
        float, (4,), default=(0.0, 0.0, 0.0, 1.0), writer="Traffic.enroll", doc="orientation at yaw 0"
    )


# Enrolment: which robots may take part in the traffic, and why others may not.


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
    names = ("speed", "acceleration", *(("angular speed", "angular acceleration") if turns else ()))
    for what, value in zip(names, limits_of(world, row, turns), strict=False):
        # `not ... >`, so that NaN is refused too.
        if not value > 0.0:
            return f"its {what} is limited to {value:g}"
        # Times along a path are computed from speeds; infinity gives no time.
        if what.endswith("speed") and not np.isfinite(value):
            return f"its {what} has no limit"
    if world.velocity[row].any() or world.angular_velocity[row].any():
        return "it moves; let it stop first"
    return ""


def limits_of(world: World, row: int, turns: bool) -> tuple[float, float, float, float]:
    """Return speed and acceleration of a robot on its lanes, and those with which it turns."""
    motion = world.motion
    # A differential base moves along x only, and its limit aside is 0. What drives in any direction of its own keeps
    # the limits of both axes in all.
    axes = slice(0, 1) if turns else slice(0, 2)
    return (
        min(motion.linear_limit[row], motion.linear_limits[row, axes].min()),
        min(motion.linear_accel[row], motion.linear_accels[row, axes].min()),
        min(motion.angular_limit[row], motion.angular_limits[row, 2]),
        min(motion.angular_accel[row], motion.angular_accels[row, 2]),
    )


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
