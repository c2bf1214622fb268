"""What the compiled laws of motion read and write: columns, and the rows they hand on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.core.columns import named_columns
from fleet_sim.core.world import World
from fleet_sim.kernels import inlined
from fleet_sim.kernels.turns import Quaternion, Vector

LEFT, GOING, THERE = -1, 0, 1
"""What became of a row: nothing, as the law written on arrays has to move it; still on its way; at its target."""


class BodyArrays(NamedTuple):
    """Columns of the world."""

    alive: Bools
    parent: Ints
    position: Floats
    orientation: Floats
    velocity: Floats
    angular_velocity: Floats
    moved: Bools
    bullet_behind: Bools
    bounds_behind: Bools


class SpeedLimits(NamedTuple):
    """Columns of the limits of motion, of the norm of velocities; where `axis_limited` axes have limits besides."""

    axis_limited: Bools
    linear_limit: Floats
    linear_accel: Floats
    angular_limit: Floats
    angular_accel: Floats


class Steering(NamedTuple):
    """Columns of motion."""

    control: Bytes
    law: Bytes
    path_start: Ints
    path_length: Ints
    waypoint: Ints
    path_fresh: Bools
    align_final: Bools
    tolerance: Floats
    phase: Bytes
    reverse: Bools
    turning: Bools
    body_linear: Floats
    body_angular: Floats
    limits: SpeedLimits


class Twists(NamedTuple):
    """Columns of motion that velocity commands need besides."""

    command_linear: Floats
    command_angular: Floats
    command_expiry: Ints
    linear_limits: Floats
    linear_accels: Floats
    angular_limits: Floats
    angular_accels: Floats


class PathPoints(NamedTuple):
    """The waypoints of all paths."""

    position: Floats
    orientation: Floats
    speed_limit: Floats
    pass_speed: Floats
    braking: Floats


class MotionArrays(NamedTuple):
    """All that the laws read and write of robots, besides columns of their own."""

    bodies: BodyArrays
    steering: Steering
    twists: Twists
    points: PathPoints


class Lists(NamedTuple):
    """Rows found: those at the end of their path, those left to the laws on arrays, those that begin another line.

    `counts` says how many each list holds.
    """

    ended: Rows
    left: Rows
    onward: Rows
    counts: Ints


def steering_of(world: World) -> Steering:
    """Return the columns of motion of all entities, by row; they are valid until a table grows."""
    motion = world.motion
    own = {name: getattr(motion, name) for name in Steering._fields if name != "limits"}
    return Steering(**own, limits=named_columns(SpeedLimits, motion))


def motion_arrays(world: World) -> MotionArrays:
    """Return the columns that the laws work on; they are valid until a table of `world` grows."""
    return MotionArrays(
        named_columns(BodyArrays, world),
        steering_of(world),
        named_columns(Twists, world.motion),
        named_columns(PathPoints, world.waypoints),
    )


def new_lists(capacity: int) -> Lists:
    """Return empty lists with room for `capacity` rows each."""
    ended, left, onward = (np.empty(capacity, np.int64) for _ in range(3))
    return Lists(ended, left, onward, np.zeros(3, np.int64))


@inlined
def vector_of(column: Floats, row: int) -> Vector:
    return column[row, 0], column[row, 1], column[row, 2]


@inlined
def quaternion_of(column: Floats, row: int) -> Quaternion:
    return column[row, 0], column[row, 1], column[row, 2], column[row, 3]


@inlined
def write_vector(column: Floats, row: int, vector: Vector) -> None:
    column[row, 0], column[row, 1], column[row, 2] = vector


@inlined
def write_quaternion(column: Floats, row: int, q: Quaternion) -> None:
    column[row, 0], column[row, 1], column[row, 2], column[row, 3] = q


@inlined
def touch(bodies: BodyArrays, row: int) -> None:
    """Do what `World.touch` does inside a step."""
    bodies.moved[row] = bodies.bullet_behind[row] = bodies.bounds_behind[row] = True


@inlined
def is_aligned(bodies: BodyArrays, points: PathPoints, row: int, point: int) -> bool:
    """Return whether a row has the orientation of a waypoint, bit for bit."""
    return (
        points.orientation[point, 0] == bodies.orientation[row, 0]
        and points.orientation[point, 1] == bodies.orientation[row, 1]
        and points.orientation[point, 2] == bodies.orientation[row, 2]
        and points.orientation[point, 3] == bodies.orientation[row, 3]
    )
