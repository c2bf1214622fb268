"""The motion laws: their interface, their names and indices (`world.motion.law[row]`), and the law of wheels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import ControllerMode, MotionMode, MovementDirection
from fleet_sim.base.registry import Registry, instances_of
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.motion import rows as limits
from fleet_sim.robots.motion.cars import ACKERMANN, drive_cars
from fleet_sim.robots.motion.driving import drive_any_way, expire_commands, follow_poses
from fleet_sim.world import steering
from fleet_sim.world.world import World

# The interface of motion laws, and a helper that laws share.


VELOCITY = ControllerMode.VELOCITY.code


@runtime_checkable
class MotionLaw(Protocol):
    """Moves robots by one step of time.

    `step` gets rows whose `control` is VELOCITY or POSE and which may move. It writes their poses, velocities and body
    twists, calls `world.touch` with the rows whose pose changed, and returns the rows that arrived at the end of
    their path and are at rest. The result for a row must not depend on which other rows are passed with it.
    """

    name: str

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        ...


@dataclass
class Law:
    """A law whose step is a function.

    Robots that are given a law with a `feature` get that feature with it. A law with `motors` commands motors of joints
    and writes no poses: the engine moves the body by them. What another law plans for a body of the engine becomes
    velocities of that body (`EngineDriven`).
    """

    name: str
    step: Callable[[World, Rows, float], Rows]
    feature: str | None = None
    motors: bool = False


# The wheels law: robots moved by the physics engine drive with the motors of their wheels. It is feedback on the
# poses the engine computes: robots slip, push and are pushed, and arrive near their goals, not exactly.


IDLE, WHEELS_VELOCITY = ControllerMode.IDLE.code, ControllerMode.VELOCITY.code
BACKWARD, AUTO = MovementDirection.BACKWARD.code, MovementDirection.AUTO.code

NEAR = 0.02
"""Distance (m) from the last waypoint at which it counts as reached, unless a larger tolerance is given."""
PASSED = 0.1
"""Distance (m) from an intermediate waypoint at which the robot heads for the next."""
ALIGNED, SPIN = 0.02, 0.1
"""Error of the final orientation (rad) and angular speed (rad/s) below which a robot has arrived."""
AHEAD = 0.5
"""Heading error (rad) above which a robot turns on the spot."""
GAIN = 3.0
"""Commanded angular speed per rad of heading error, in 1/s."""
MARGIN = 0.6
"""Fraction of the acceleration limit that a robot plans to brake with."""


def drive_by_wheels(world: World, rows: Rows, dt: float) -> Rows:
    """Command the motors of `rows` for `dt` seconds; return the rows that arrived."""
    motion = world.motion
    expire_commands(world, rows)
    commanded_mask = motion.control[rows] == WHEELS_VELOCITY
    wanted = np.where(
        commanded_mask[:, None],
        np.stack([motion.command_linear[rows, 0], motion.command_angular[rows, 2]], axis=1),
        0.0,
    )
    arrived_mask = np.zeros(len(rows), np.bool_)
    posed = np.flatnonzero(~commanded_mask)
    if len(posed):
        wanted[posed], arrived_mask[posed] = _guide(world, rows[posed])
    twist = _limited(world, rows, wanted, dt)
    twist[arrived_mask] = 0.0
    motion.body_linear[rows, 0], motion.body_angular[rows, 2] = twist[:, 0], twist[:, 1]
    turn_wheels(world, rows, twist)
    # A command of no speed has been carried out once the robot plans to stand.
    resting = rows[commanded_mask & ~wanted.any(axis=1) & ~twist.any(axis=1)]
    motion.control[resting] = IDLE
    motion.command_expiry[resting] = -1
    arrived: Rows = rows[arrived_mask]
    return arrived if len(arrived) else NO_ROWS


def turn_wheels(world: World, rows: Rows, twist: Floats) -> None:
    """Command the wheels of `rows` to roll by `twist` (N, 2): m/s ahead, rad/s to the left."""
    joints = world.joints
    slots = joints.slots(world.robots, rows)
    owners = np.repeat(np.arange(len(rows)), world.robots.joint_count[rows])
    wheel_mask = joints.wheel_rate[slots] != 0.0
    slots, owners = slots[wheel_mask], owners[wheel_mask]
    # Turning left, a wheel on the left (positive offset) rolls slower.
    speeds = twist[owners, 0] - twist[owners, 1] * joints.wheel_offset[slots]
    steering.give_joint_velocities(world, slots, speeds * joints.wheel_rate[slots])


def _limited(world: World, rows: Rows, wanted: Floats, dt: float) -> Floats:
    """Return the next twists (N, 2), from those commanded last towards `wanted`, within the limits."""
    motion = world.motion
    before = np.stack([motion.body_linear[rows, 0], motion.body_angular[rows, 2]], axis=1)
    speeds, accels = _limits(world, rows)
    change = np.clip(wanted, -speeds, speeds) - before
    return before + np.clip(change, -accels * dt, accels * dt)


def _limits(world: World, rows: Rows) -> tuple[Floats, Floats]:
    """Return the limits (N, 2) of speed and of acceleration, each linear and angular."""
    linear_speed, linear_accel = limits.linear_any_way(world.motion, rows)
    angular_speed, angular_accel = limits.angular_any_way(world.motion, rows)
    return np.stack([linear_speed, angular_speed], axis=1), np.stack([linear_accel, angular_accel], axis=1)


def _guide(world: World, rows: Rows) -> tuple[Floats, Bools]:
    """Return the twists (N, 2) that lead `rows` along their paths, and which of them have arrived at the end."""
    motion = world.motion
    offset, distance = _next_waypoints(world, rows)
    yaw = quaternions.yaws(world.orientation[rows])
    bearing = quaternions.wrapped(trig.arctan2(offset[:, 1], offset[:, 0]) - yaw)
    _choose_direction(world, rows, bearing)
    reverse_mask = motion.reverse[rows]
    # Near the waypoint, a robot that overshot drives back instead of turning round.
    reverse_mask = np.where((distance < PASSED) & (np.abs(bearing) > 0.5 * np.pi), True, reverse_mask)
    reverse_mask = np.where((distance < PASSED) & (np.abs(bearing) <= 0.5 * np.pi), False, reverse_mask)
    error = np.where(reverse_mask, quaternions.wrapped(bearing - np.pi), bearing)
    speeds, accels = _limits(world, rows)
    # Not faster than the robot can brake within the distance: v^2 = 2 a s.
    ahead = np.minimum(speeds[:, 0], np.sqrt(2.0 * MARGIN * accels[:, 0] * distance))
    # Slower the more it points elsewhere, and not at all where it should turn first.
    ahead = np.where(np.abs(error) > AHEAD, 0.0, ahead * trig.cos(error))
    twist = np.stack([np.where(reverse_mask, -ahead, ahead), GAIN * error], axis=1)

    last_mask = motion.waypoint[rows] == motion.path_length[rows] - 1
    there_mask = last_mask & (distance <= np.maximum(motion.tolerance[rows], NEAR))
    # Once it is there it only turns, though turning may move it a little.
    turning_mask = last_mask & (motion.turning[rows] | there_mask)
    motion.turning[rows] = turning_mask
    ends = motion.path_start[rows] + motion.path_length[rows] - 1
    final = quaternions.wrapped(quaternions.yaws(world.waypoints.orientation[ends]) - yaw)
    # Without a wanted heading any one will do.
    final = np.where(motion.align_final[rows], final, 0.0)
    twist[turning_mask] = np.stack([np.zeros(len(rows)), GAIN * final], axis=1)[turning_mask]
    spin = np.abs(world.angular_velocity[rows, 2])
    return twist, turning_mask & (np.abs(final) < ALIGNED) & (spin < SPIN)


def _next_waypoints(world: World, rows: Rows) -> tuple[Floats, Floats]:
    """Advance past reached waypoints; return the offset (N, 2) and distance (N,) to each row's current one."""
    motion = world.motion
    fresh = rows[motion.path_fresh[rows]]
    motion.path_fresh[fresh] = motion.turning[fresh] = False
    # Several may be near at once.
    while True:
        at: Ints = motion.path_start[rows] + motion.waypoint[rows]
        offset = world.waypoints.position[at, :2] - world.position[rows, :2]
        distance = np.sqrt(offset[:, 0] * offset[:, 0] + offset[:, 1] * offset[:, 1])
        passed = rows[(distance < PASSED) & (motion.waypoint[rows] < motion.path_length[rows] - 1)]
        if not len(passed):
            return offset, distance
        motion.waypoint[passed] += 1


def _choose_direction(world: World, rows: Rows, bearing: Floats) -> None:
    """Choose forward or backward: as commanded or, with AUTO, the smaller turn, with hysteresis around 90 degrees."""
    motion = world.motion
    direction = motion.direction[rows]
    # Where it drives already counts in its favor: between the limits nothing changes.
    limit = np.where(motion.reverse[rows], 0.4 * np.pi, 0.6 * np.pi)
    motion.reverse[rows] = (direction == BACKWARD) | ((direction == AUTO) & (np.abs(bearing) > limit))


MAX_LAWS = 255
"""An index is one byte, and 0 is reserved."""

LAWS = Registry(
    "motion law",
    instances_of(MotionLaw, "an object with `name` and `step(world, rows, dt)`"),
    group="fleet_sim.motion_law",
)
"""The laws by name."""

_names = ["immovable"]
_laws: list[MotionLaw | None] = [None]
"""Names and laws by index. An index never changes, as columns and saved states hold it."""


def register_motion_law(name: str, law: MotionLaw) -> int:
    """Register `law` as `name` and return its index; raises DuplicateNameError if the name is taken."""
    LAWS.register(name, law)
    return _numbered(name, law)


# The module is the MotionLaws of a world, which asks for `names`, `index` and `feature`.


def names() -> list[str]:
    """Return the names in order of the laws' indices; index 0 means "cannot move"."""
    return list(_names)


def motion_law_index(name: str) -> int:
    """Return the index of the law called `name`, or at the dotted path `name`.

    Raises UnknownNameError with the closest name, InvalidValueError for a path that leads to no law.
    """
    key = str(name)
    law = LAWS.find(key)
    # A law from another package's entry point, or from a path, gets its index on first use.
    return _names.index(key, 1) if key in _names[1:] else _numbered(key, law)


index = motion_law_index


def motion_law(index: int) -> MotionLaw:
    """Return the law with `index`; raises InvalidValueError if there is none."""
    law = _laws[index] if 0 < index < len(_laws) else None
    if law is None:
        raise InvalidValueError(f"no motion law has index {index}; known are 1 to {len(_laws) - 1}")
    return law


def feature(index: int) -> str | None:
    """Return the name of the feature that robots with the law of `index` need, None where they need none."""
    return getattr(_laws[index], "feature", None) if 0 < index < len(_laws) else None


def drives_by_motors(index: int) -> bool:
    """Return whether the law with `index` commands motors and leaves the body to the engine."""
    return bool(getattr(motion_law(index), "motors", False))


def _numbered(name: str, law: MotionLaw) -> int:
    if len(_laws) > MAX_LAWS:
        LAWS.unregister(name)
        raise InvalidValueError(f"there can be at most {MAX_LAWS} motion laws")
    _names.append(name)
    _laws.append(law)
    return len(_laws) - 1


for _law in (
    Law(MotionMode.OMNIDIRECTIONAL.value, drive_any_way),
    Law(MotionMode.DIFFERENTIAL.value, follow_poses),
    Law("wheels", drive_by_wheels, motors=True),
    Law(MotionMode.ACKERMANN.value, drive_cars, feature=ACKERMANN),
):
    register_motion_law(_law.name, _law)
