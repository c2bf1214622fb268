"""Drive commands of robots, with planar goals, timeouts and blocking; for many robots at once."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.config.modes import MotionMode, MovementDirection
from fleet_sim.core import steering
from fleet_sim.core.columns import FeatureColumns
from fleet_sim.core.joint_steering import hold_joints
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.steering import POSE
from fleet_sim.core.world import World
from fleet_sim.errors import FleetSimError, InvalidValueError
from fleet_sim.gate.bounds import check_extent, check_speeds
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

LEAST_DEPTH = 1e-3
"""A goal less deep than this (m) in a static body is not taken to be inside of it: robots stop as much before one."""
AT_REST = 0.01
"""A robot below this speed (m/s) stands; bodies with physics are never quite at rest."""


def start_paths(
    world: World,
    rows: Rows,
    lengths: Ints,
    positions: Floats,
    orientations: Floats,
    *,
    direction: MovementDirection | None = None,
    align_final: bool = True,
    tolerance: float = 0.0,
    speed_limits: Floats | None = None,
    blocked_timeout: float | None = None,
) -> None:
    """Command the robots in `rows` to follow paths of `lengths` waypoints each.

    `positions` (M, 3) and `orientations` (M, 4) are the concatenated waypoints of all robots. The robots start at their
    present poses. `speed_limits` (M,) in m/s hold on the lines that end at the waypoints. Those that stand before
    static bodies for `blocked_timeout` s give up; None: that of the world, 0: never. Earlier commands are dropped;
    their actions are not changed. Raises InvalidValueError for waypoints outside of the world.
    """
    check_extent(positions, world.extent, "goal")
    if world.motion.planar[rows].any():
        positions, orientations = _flattened(world, rows, lengths, positions, orientations)
    steering.give_paths(
        world,
        rows,
        lengths,
        positions,
        orientations,
        align_final=align_final,
        direction=None if direction is None else direction.code,
        tolerance=tolerance,
        speed_limits=speed_limits,
    )
    world.motion.blocked_by[rows] = NO_ROW
    wait_when_blocked(world, rows, blocked_timeout)


def wait_when_blocked(world: World, rows: Rows, timeout: float | None) -> None:
    """Let `rows` give up when they have stood before static bodies for `timeout` s from now on; see `start_paths`."""
    seconds = world.blocked_timeout if timeout is None else timeout
    world.motion.blocked_since[rows] = np.inf
    world.motion.blocked_timeout[rows] = seconds if seconds > 0.0 else np.inf


def is_blocked_too_long(world: World, row: int) -> bool:
    """Return whether the robot in `row` has stood before a static body for as long as it waits for one."""
    motion = world.motion
    # The tolerance is for rounding.
    return bool(world.clock.time - motion.blocked_since[row] >= motion.blocked_timeout[row] - 1e-9)


def blocked_text(world: World, row: int) -> str:
    """Return what has blocked the robot in `row` for too long."""
    blocker = world.label(int(world.motion.blocked_by[row]))
    return f"blocked by {blocker!r} for {world.motion.blocked_timeout[row]:g} s"


def goals_inside(
    world: World,
    rows: Rows,
    lengths: Ints,
    positions: Floats,
    orientations: Floats,
    *,
    align_final: bool = True,
    tolerance: float = 0.0,
) -> dict[int, tuple[int, int]]:
    """Return which of `rows` stop at obstacles and are sent into a static body, by more than `tolerance` m at the end.

    Waypoints are those of `start_paths`. By row: the number of the first waypoint inside of one, and the row of that.
    """
    if not world.block_on_collision[rows].any():
        return {}
    owners, ends = np.repeat(rows, lengths), np.cumsum(lengths) - 1
    if world.motion.planar[rows].any():
        positions, orientations = _flattened(world, rows, lengths, positions, orientations)
    last_mask = np.zeros(len(owners), bool)
    last_mask[ends] = True
    slack = np.where(last_mask, max(tolerance, LEAST_DEPTH), LEAST_DEPTH)
    stopping = np.flatnonzero(world.block_on_collision[owners])
    found = world.blocking.bodies_at(
        owners[stopping],
        positions[stopping],
        orientations[stopping],
        last_mask[stopping] if align_final else np.zeros(len(stopping), bool),
        slack[stopping],
    )
    numbers = np.arange(len(owners)) - np.repeat(ends + 1 - lengths, lengths)
    inside: dict[int, tuple[int, int]] = {}
    for place, body in zip(stopping[found != NO_ROW].tolist(), found[found != NO_ROW].tolist(), strict=True):
        inside.setdefault(int(owners[place]), (int(numbers[place]), body))
    return inside


def inside_text(world: World, waypoint: int, body: int, count: int = 1) -> str:
    """Return that a robot cannot get to the `waypoint` of a path of `count`, which is inside of a body."""
    what = "the goal" if count == 1 else f"waypoint {waypoint}"
    return f"at {what} the robot would be inside of {world.label(body)!r}, before which it stops (block_on_collision)"


def _flattened(
    world: World, rows: Rows, lengths: Ints, positions: Floats, orientations: Floats
) -> tuple[Floats, Floats]:
    """Return the waypoints with those of planar robots at the height and the tilt that these have now."""
    owners = np.repeat(rows, lengths)
    flat_mask = world.motion.planar[owners]
    # Copies: the arrays may be those of a command, which is logged and replayed as it was given.
    positions, orientations = positions.copy(), orientations.copy()
    positions[flat_mask, 2] = world.position[owners[flat_mask], 2]
    # Only the yaw of the goal counts: a robot that stands tilted keeps its tilt.
    orientations[flat_mask] = _turned_to(world.orientation[owners[flat_mask]], orientations[flat_mask])
    return positions, orientations


def _turned_to(current: Floats, goals: Floats) -> Floats:
    """Return `current` rotated about z to the headings of `goals`; roll and pitch are kept."""
    turn = quaternions.wrapped(quaternions.yaws(goals) - quaternions.yaws(current))
    return quaternions.multiply(quaternions.from_yaws(turn), current)


def start_velocities(world: World, rows: Rows, linear: Floats, angular: Floats, timeout: float | None = None) -> None:
    """Drive the robots in `rows` with body twists: `linear` (N, 3), `angular` (N, 3).

    `timeout` in s: None uses each robot's own; 0 keeps the command until the next one. Raises InvalidValueError for
    velocities beyond all bounds, and for those out of the plane where an engine holds the robot on its ground.
    """
    check_speeds(linear, "linear velocity in m/s")
    check_speeds(angular, "angular velocity in rad/s")
    for row in rows[out_of_plane(world, rows, linear, angular)].tolist():
        raise InvalidValueError(out_of_plane_text(world, row))
    steering.give_velocities(world, rows, linear, angular, timeout)
    world.motion.blocked_by[rows] = NO_ROW


def out_of_plane(world: World, rows: Rows, linear: Floats, angular: Floats) -> Bools:
    """Return which of `rows`, omnidirectional ones that an engine moves, get a twist that makes them rise or tilt."""
    lifted_mask: Bools = (linear[..., 2] != 0.0) | (angular[..., :2] != 0.0).any(axis=-1)
    if not np.count_nonzero(lifted_mask):
        return lifted_mask
    law = world.laws.index(MotionMode.OMNIDIRECTIONAL.value)
    return lifted_mask & world.dynamic[rows] & (world.motion.law[rows] == law)


def out_of_plane_text(world: World, row: int) -> str:
    """Return why the robot in `row` takes no such twist."""
    return (
        f"{world.label(row)!r} is moved by the physics engine, which keeps its height and tilt: it drives by vx, "
        "vy and wz, and vz, wx and wy must be 0; give it a mass of 0 to move it in space"
    )


def stop(world: World, rows: Rows, *, stay: bool = False) -> None:
    """Stop the robots in `rows` at once; goals and commands are dropped.

    `stay` tells features that drive robots themselves to leave them where they are until they are sent on.
    """
    steering.halt(world, rows)
    for rule in world.drive_rules:
        rule.stopped(rows, stay=stay)
    # Wheels with motors would go on turning at their last velocity.
    wheels = world.joints.slots(world.robots, rows)
    wheels = wheels[world.joints.wheel_rate[wheels] != 0.0]
    if len(wheels):
        hold_joints(world, wheels)
    world.motion.reached[rows] = False
    world.motion.blocked_by[rows] = NO_ROW
    world.motion.blocked_since[rows] = np.inf


def stands(world: World, row: int) -> bool:
    """Return whether the robot in `row` does not drive."""
    return trig.hypot_of(*world.velocity[row, :2].tolist()) < AT_REST


def limits_ahead(world: World, row: int) -> tuple[float, float]:
    """Return how fast the robot in `row` drives ahead at most, in m/s, and how fast it gets faster, in m/s^2."""
    motion = world.motion
    return (
        float(min(motion.linear_limit[row], motion.linear_limits[row, 0])),
        float(min(motion.linear_accel[row], motion.linear_accels[row, 0])),
    )


def limits_of_turns(world: World, row: int) -> tuple[float, float]:
    """Return how fast the robot in `row` turns at most, in rad/s, and how fast it gets faster, in rad/s^2."""
    motion = world.motion
    return (
        float(min(motion.angular_limit[row], motion.angular_limits[row, 2])),
        float(min(motion.angular_accel[row], motion.angular_accels[row, 2])),
    )


def is_steered(world: World, row: int) -> bool:
    """Return whether the robot in `row` is steered like a car: it does not turn on the spot."""
    return world.laws.names()[int(world.motion.law[row])] == MotionMode.ACKERMANN.value


def change_law(world: World, row: int, law: int) -> None:
    """Give the robot in `row` a motion law, and the feature that the law needs.

    Raises InvalidValueError, with the robot as it was, where the feature refuses it.
    """
    before = int(world.motion.law[row])
    world.motion.law[row] = law
    # Mecanum wheels turn by the law: who caches them compares the version.
    world.version += 1
    needed = world.laws.feature(law)
    if needed is None:
        return
    world.features.use(needed)
    table = world.tables[needed]
    try:
        if isinstance(table, FeatureColumns) and not table.present[row]:
            world.features.give(needed, np.array([row]))
    except FleetSimError:
        world.motion.law[row] = before
        raise


def moving_mask(world: World, rows: Rows) -> AnyArray:
    """Return which of `rows` have a goal they have not reached, or a velocity."""
    velocity, turn = world.velocity[rows], world.angular_velocity[rows]
    moving: AnyArray = (world.motion.control[rows] == POSE) | (velocity != 0.0).any(axis=1) | (turn != 0.0).any(axis=1)
    return moving
