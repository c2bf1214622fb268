"""Unicycles of many agents by compiled code, with the bits of `commands` and `unicycle`.

Each function does all rows or none: it returns False, with everything as it was, where one needs the way of arrays.
"""

from __future__ import annotations

import math
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.columns import named_columns
from fleet_sim.core.world import World
from fleet_sim.kernels import compiled_step
from fleet_sim.kernels.turns import heading, sin_cos
from fleet_sim.motion.rows import BodyArrays, SpeedLimits, quaternion_of, touch

_IDLE, _VELOCITY = ControllerMode.IDLE.code, ControllerMode.VELOCITY.code


class Driving(NamedTuple):
    """Columns of motion that unicycles read and write."""

    control: Bytes
    law: Bytes
    path_length: Ints
    waypoint: Ints
    reached: Bools
    command_timeout: Floats
    command_linear: Floats
    command_angular: Floats
    command_expiry: Ints
    body_linear: Floats
    body_angular: Floats
    limits: SpeedLimits


_KNOWN: WeakKeyDictionary[World, tuple[object, Driving]] = WeakKeyDictionary()


def driving_of(world: World) -> Driving:
    """Return the columns of `world`."""
    motion, known = world.motion, _KNOWN.get(world)
    # A table that grows gets other arrays, and other scalars with them. Looking up sixteen names takes as long as what
    # is done with twenty agents.
    if known is None or known[0] is not motion.scalars:
        own = {name: getattr(motion, name) for name in Driving._fields if name != "limits"}
        columns = Driving(**own, limits=named_columns(SpeedLimits, motion))
        known = _KNOWN[world] = motion.scalars, columns
    return known[1]


def follow_freely(world: World, rows: Rows, dt: float) -> bool:
    """Do what `unicycle.follow_commands` does, where all of `rows` follow commands without any limit."""
    return _follow(rows, dt, world.clock.tick, named_columns(BodyArrays, world), driving_of(world))


def give_freely(world: World, rows: Rows, twists: Floats, halted: Bools, stopped: Ints) -> bool:
    """Command `rows` to drive at `twists` (N, 2), where all may drive and none has a path or a timeout."""
    return _give(rows, twists, halted, stopped, world.alive, driving_of(world))


def looks_of(world: World, rows: Rows, bias: float | Floats) -> tuple[Floats, Floats]:
    """Return cosines and sines (N,) of the headings of `rows`, turned by `bias` rad, one or one each (N,)."""
    angles = np.full(len(rows), bias)
    sines = np.empty(len(rows))
    _look(rows, world.orientation, angles, sines)
    # The angles have become their cosines.
    return angles, sines


@compiled_step
def _follow(rows: Rows, dt: float, tick: int, bodies: BodyArrays, driving: Driving) -> bool:
    """Move the agents of `rows` by one step of `dt` s along arcs, as their velocity commands say.

    Returns False, with nothing written, if one has a limit, no velocity command, or one that has run out at `tick`.
    """
    limits = driving.limits
    for row in rows:
        if driving.control[row] != _VELOCITY or 0 <= driving.command_expiry[row] <= tick or limits.axis_limited[row]:
            return False
        if not limits.linear_limit[row] == limits.linear_accel[row] == math.inf:
            return False
        if not limits.angular_limit[row] == limits.angular_accel[row] == math.inf:
            return False
    for row in rows:
        speed, turn = driving.command_linear[row, 0], driving.command_angular[row, 2]
        before = heading(quaternion_of(bodies.orientation, row))
        half, after = turn * (0.5 * dt), before + turn * dt
        chord = speed * dt * (sin_cos(half)[0] / half if half != 0.0 else 1.0)
        sine, cosine = sin_cos(before + half)
        bodies.position[row, 0] += chord * cosine
        bodies.position[row, 1] += chord * sine
        bodies.orientation[row, 0] = bodies.orientation[row, 1] = 0.0
        bodies.orientation[row, 2], bodies.orientation[row, 3] = sin_cos(0.5 * after)
        sine, cosine = sin_cos(after)
        bodies.velocity[row, 0], bodies.velocity[row, 1] = speed * cosine, speed * sine
        bodies.angular_velocity[row, 2] = driving.body_angular[row, 2] = turn
        driving.body_linear[row, 0] = speed
        # All components, as another law may have left some of the others.
        bodies.velocity[row, 2] = bodies.angular_velocity[row, 0] = bodies.angular_velocity[row, 1] = 0.0
        driving.body_linear[row, 1] = driving.body_linear[row, 2] = 0.0
        driving.body_angular[row, 0] = driving.body_angular[row, 1] = 0.0
        if speed != 0.0 or turn != 0.0:
            touch(bodies, row)
        else:
            driving.control[row], driving.command_expiry[row] = _IDLE, -1
    return True


@compiled_step
def _give(rows: Rows, twists: Floats, halted: Bools, stopped: Ints, alive: Bools, driving: Driving) -> bool:
    """Give the agents of `rows` body twists (N, 2), m/s and rad/s, as velocity commands without a timeout.

    Returns False, with nothing written, where one is halted, stopped or dead, has a path, no twist, or a timeout.
    """
    for number, row in enumerate(rows):
        # NaN leaves an agent to other commands; halted ones rest, stopped ones turn.
        if math.isnan(twists[number, 0]) or math.isnan(twists[number, 1]):
            return False
        if halted[row] or stopped[row] > 0 or not alive[row]:
            return False
        if driving.law[row] == 0 or driving.path_length[row] != 0 or driving.command_timeout[row] != 0.0:
            return False
    for number, row in enumerate(rows):
        driving.waypoint[row] = 0
        driving.command_linear[row, 0], driving.command_angular[row, 2] = twists[number, 0], twists[number, 1]
        driving.command_linear[row, 1] = driving.command_linear[row, 2] = 0.0
        driving.command_angular[row, 0] = driving.command_angular[row, 1] = 0.0
        driving.command_expiry[row] = -1
        driving.reached[row] = False
        driving.control[row] = _VELOCITY
    return True


@compiled_step
def _look(rows: Rows, orientation: Floats, angles: Floats, sines: Floats) -> None:
    for number, row in enumerate(rows):
        sines[number], angles[number] = sin_cos(heading(quaternion_of(orientation, row)) + angles[number])
