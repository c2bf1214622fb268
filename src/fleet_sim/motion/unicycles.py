"""Avoidance of robots that cannot move sideways: what the compiled choice of their speeds needs, from the columns.

`compiled_evasion.py` chooses the speeds. A robot that drives backward is one that looks the other way, with speeds of
the other sign.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.config.modes import MovementDirection
from fleet_sim.core.random import uniforms
from fleet_sim.core.world import World
from fleet_sim.motion.compiled_evasion import Choice, choose_speeds
from fleet_sim.motion.compiled_unicycle import StandingBoxes, Unicycles
from fleet_sim.motion.limits import angular_any_way, linear_any_way
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

CLEARANCE = 1.15
"""Discs that move in any direction are larger than robots by this factor, as robots cannot change their velocity at
once, and a graze counts as a contact."""
BACKWARD, AUTO = MovementDirection.BACKWARD.code, MovementDirection.AUTO.code

_IN_LINE, _MOVING = 1e-6, 1e-3
"""A robot is in line if the sine of its error, and its turning speed in rad/s, are below the first; it moves if it is
faster than the second, in m/s."""
_FASTEST, _QUICKEST = 1e3, 1e4
"""Speeds and accelerations assumed for robots without limits."""
_PERIOD, _LEAVING = 2.0, 0.5
"""For how long (s) a robot in a jam stays with leaving it or not, and which share of them leaves. If all left they
would meet again; if nobody did they would stand for ever."""


class AvoidanceScene(NamedTuple):
    """The robots that avoid and all bodies that may be in the way: rows (N,) and their values, (N,) each."""

    rows: Rows
    yields: Bools
    x: Floats
    y: Floats
    radii: Floats
    horizons: Floats
    speeds: Floats
    block_mask: Bools


def unicycle_speeds(
    world: World, scene: AvoidanceScene, steered: Bools, pairs: tuple[Rows, Rows], dt: float
) -> tuple[Floats, Floats, Rows]:
    """Return speeds (v, w), each (M,), and the places (M,) in `scene` of those of `steered` that need them.

    The rest of `steered` is left to its law. Robots that all are `steered` do not touch each other, nor boxes.
    """
    motion, rows = world.motion, scene.rows
    start = np.where(steered, motion.path_start[rows] + motion.waypoint[rows], 0)
    targets = world.waypoints.position[start]
    tx, ty = np.where(steered, targets[:, 0], scene.x), np.where(steered, targets[:, 1], scene.y)
    yaw = quaternions.yaws(world.orientation[rows])
    rear_mask = _rear_leads(world, rows, yaw, tx - scene.x, ty - scene.y) & steered
    # What drives backward is a robot that looks the other way, with speeds of the other sign.
    yaw = np.where(rear_mask, yaw + np.pi, yaw)
    sign = np.where(rear_mask, -1.0, 1.0)
    v, w = sign * motion.body_linear[rows, 0], np.array(motion.body_angular[rows, 2])
    block_mask = scene.block_mask[pairs[0]] | scene.block_mask[pairs[1]]
    # Boxes are no discs: their pairs are looked at apart.
    neighbors = _lists(len(rows), pairs[0][~block_mask], pairs[1][~block_mask])
    crowd = _crowd(world, scene, steered, (yaw, v, w), (tx, ty), neighbors)
    choice, draws = _choice(world, rows, crowd)
    choose_speeds(crowd, _boxes(world, scene, pairs[0][block_mask], pairs[1][block_mask]), choice, dt)
    motion.leaving[rows[steered]] = np.where(choice.held, draws, -1)[steered]
    places = np.flatnonzero(steered & ~choice.by_law)
    return (sign * choice.v)[places], choice.w[places], places


def _crowd(
    world: World,
    scene: AvoidanceScene,
    steered: Bools,
    movement: tuple[Floats, Floats, Floats],
    target: tuple[Floats, Floats],
    neighbors: tuple[Ints, Ints],
) -> Unicycles:
    """Return robots as they see each other: `movement` is yaw and speeds, `target` x and y, `neighbors` as `_lists`."""
    motion, rows = world.motion, scene.rows
    (speed, accel), (spin, spin_accel) = linear_any_way(motion, rows), angular_any_way(motion, rows)
    return Unicycles(
        steered,
        scene.x,
        scene.y,
        *movement,
        np.array(world.velocity[rows, 0]),
        np.array(world.velocity[rows, 1]),
        # As large as they are, without the clearance that discs have.
        scene.radii / CLEARANCE,
        np.minimum(speed, _FASTEST),
        np.minimum(accel, _QUICKEST),
        np.minimum(spin, _FASTEST),
        np.minimum(spin_accel, _QUICKEST),
        scene.horizons,
        *target,
        *neighbors,
    )


def _rear_leads(world: World, rows: Rows, yaw: Floats, dx: Floats, dy: Floats) -> Bools:
    """Return which robots drive backwards; for new paths as the law will decide it."""
    motion = world.motion
    sines, cosines = trig.sin_cos(yaw)
    direction = motion.direction[rows]
    new = (direction == BACKWARD) | ((direction == AUTO) & (dx * cosines + dy * sines < 0.0))
    return np.asarray(np.where(motion.path_fresh[rows], new, motion.reverse[rows]))


def _lists(count: int, first: Rows, second: Rows) -> tuple[Ints, Ints]:
    """Return pairs as lists of neighbours: where each begins (N + 1,), and the neighbours in ascending order."""
    owner, other = np.concatenate((first, second)), np.concatenate((second, first))
    order = np.lexsort((other, owner))
    begin = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=count), out=begin[1:])
    return begin, np.ascontiguousarray(other[order], np.int64)


def _choice(world: World, rows: Rows, crowd: Unicycles) -> tuple[Choice, Ints]:
    """Return what robots have to know to choose, and the numbers (N,) of their present draws."""
    motion, count = world.motion, len(rows)
    dx, dy = crowd.tx - crowd.x, crowd.ty - crowd.y
    sines, cosines = trig.sin_cos(crowd.yaw)
    off_mask = np.abs(dy * cosines - dx * sines) > _IN_LINE * np.sqrt(dx * dx + dy * dy)
    astray_mask = (np.abs(crowd.v) > _MOVING) & (off_mask | (np.abs(crowd.w) > _IN_LINE))
    # Robots draw at different times, so that a jam does not pulse.
    key, ids = world.random.key("avoidance"), world.object_id[rows]
    draws = np.floor(world.clock.time / _PERIOD + uniforms(key, ids, 0, lane=0)).astype(np.int64)
    leaves = uniforms(key, ids, draws, lane=1) < _LEAVING
    turn = 2.0 * np.pi * uniforms(key, ids, draws, lane=2)
    settled = motion.turning[rows] & (crowd.v == 0.0)
    held = motion.leaving[rows] == draws
    none = np.zeros(count)
    return Choice(~astray_mask, settled, leaves, turn, held, np.ones(count, bool), none, none.copy()), draws


def _boxes(world: World, scene: AvoidanceScene, first: Rows, second: Rows) -> StandingBoxes:
    """Return the boxes near each body of the scene, of pairs in which one is such a box."""
    begin, block = _lists(len(scene.rows), first, second)
    rows = scene.rows[block]
    sines, cosines = trig.sin_cos(quaternions.yaws(world.orientation[rows]))
    middle, half = world.shape_position[rows], world.half_extents[rows]
    return StandingBoxes(
        begin,
        scene.x[block] + middle[:, 0] * cosines - middle[:, 1] * sines,
        scene.y[block] + middle[:, 0] * sines + middle[:, 1] * cosines,
        # Views have another layout, for which the kernel would be compiled once more.
        np.ascontiguousarray(cosines),
        np.ascontiguousarray(sines),
        np.array(half[:, 0]),
        np.array(half[:, 1]),
    )
