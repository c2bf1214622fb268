"""Observations of the robots of an arena: the goal, the own motion, and the nearest robots and obstacles.

Values are in the body frame and divided by a scale, so that a policy does not depend on where a robot is in its world.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.core.columns import numbers_of
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.kernels.turns import heading, sin_cos
from fleet_sim.motion.rows import quaternion_of

Observations = npt.NDArray[np.float32]

OWN_SIZE = 5
"""Number of values about a robot's goal and its own motion."""
NEIGHBOUR_SIZE = 5
"""Number of values per neighbour."""

LIMIT = 2.0
"""Observed values beyond it, on either side, are observed as it."""


class ArenaRows(NamedTuple):
    """W worlds: rows of their robots (W, R) and obstacles (W, O), who is in an episode, and their middles (W, 2)."""

    robots: Rows
    obstacles: Rows
    active: Bools
    origins: Floats


class Moving(NamedTuple):
    """Columns of all rows: poses, velocities in the world's frame, and forward speeds and turns in the body's."""

    position: Floats
    orientation: Floats
    velocity: Floats
    body_linear: Floats
    body_angular: Floats


class Scales(NamedTuple):
    """What observed values are divided by: distances, speeds, turns, distances of neighbours, and their speeds."""

    length: float
    speed: float
    turn: float
    reach: float
    closing: float


class NearestOthers(NamedTuple):
    """Room for the nearest others of a robot: their gaps and numbers, (K,) each."""

    gaps: Floats
    numbers: Ints


def observe_arena(
    squares: ArenaRows,
    moving: Moving,
    goals: Floats,
    scales: Scales,
    radii: tuple[float, float],
    extra: Floats,
    neighbours: int,
    *,
    compiled: bool,
) -> Observations:
    """Return what all robots observe (W, R, 5 + E + 5 `neighbours`): own part, `extra` (W, R, E), the nearest others.

    The own part is the distance to the goal, its direction (cosine, sine in the body frame), speed and angular
    velocity. That of a neighbour is its offset, its relative velocity, and its closeness from 0 (at the reach) to 1
    (touching); nearest first, and zeros where there are fewer. `goals` are (W, R, 2), in the frames of the worlds;
    `radii` those of a robot and another one, and of a robot and an obstacle, added.
    """
    skipped = extra.shape[2]
    size = OWN_SIZE + skipped + NEIGHBOUR_SIZE * neighbours
    seen: Observations = np.zeros((*squares.robots.shape, size), np.float32)
    count = min(neighbours, squares.robots.shape[1] + squares.obstacles.shape[1])
    near = NearestOthers(np.empty(count), np.empty(count, np.int64))
    if compiled:
        _write(squares, moving, goals, scales, radii, skipped, near, seen)
    else:
        squares, moving, goals, near = map(numbers_of, (squares, moving, goals, near))
        _write.in_python(squares, moving, goals, scales, radii, skipped, near, numbers_of(seen))
    if skipped:
        seen[..., OWN_SIZE : OWN_SIZE + skipped] = np.clip(extra, -LIMIT, LIMIT)
    return seen


@compiled_step
def _write(
    squares: ArenaRows,
    moving: Moving,
    goals: Floats,
    scales: Scales,
    radii: tuple[float, float],
    skipped: int,
    near: NearestOthers,
    out: npt.NDArray[np.float32],
) -> None:
    """Write own parts and neighbours of all robots to `out`, which is 0; the extra part is `skipped` values long."""
    worlds, robots = squares.robots.shape
    for world in range(worlds):
        at_x, at_y = squares.origins[world, 0], squares.origins[world, 1]
        for robot in range(robots):
            row = squares.robots[world, robot]
            sine, cosine = sin_cos(heading(quaternion_of(moving.orientation, row)))
            x, y = moving.position[row, 0] - at_x, moving.position[row, 1] - at_y
            ahead, aside = _to_body(goals[world, robot, 0] - x, goals[world, robot, 1] - y, cosine, sine)
            distance = math.sqrt(ahead * ahead + aside * aside)
            # At the goal there is no direction; a number that is none stays so.
            safe = distance if distance > 1e-9 or distance != distance else 1e-9
            out[world, robot, 0], out[world, robot, 1] = _cut(distance / scales.length), _cut(ahead / safe)
            out[world, robot, 2] = _cut(aside / safe)
            out[world, robot, 3] = _cut(moving.body_linear[row, 0] / scales.speed)
            out[world, robot, 4] = _cut(moving.body_angular[row, 2] / scales.turn)
            first = 5 + skipped
            count = _find_nearest(squares, moving, world, robot, x, y, radii, scales.reach, near)
            # Nearest first; what is left of the row is 0.
            for place in range(count):
                number = near.numbers[place]
                is_robot = number < robots
                other = squares.robots[world, number] if is_robot else squares.obstacles[world, number - robots]
                across, along = moving.position[other, 0] - at_x - x, moving.position[other, 1] - at_y - y
                ahead, aside = _to_body(across, along, cosine, sine)
                out[world, robot, first] = _cut(ahead / scales.reach)
                out[world, robot, first + 1] = _cut(aside / scales.reach)
                # Obstacles stand, whatever their columns say.
                faster_x = (moving.velocity[other, 0] if is_robot else 0.0) - moving.velocity[row, 0]
                faster_y = (moving.velocity[other, 1] if is_robot else 0.0) - moving.velocity[row, 1]
                ahead, aside = _to_body(faster_x, faster_y, cosine, sine)
                out[world, robot, first + 2] = _cut(ahead / scales.closing)
                out[world, robot, first + 3] = _cut(aside / scales.closing)
                # 1 at a touch, 0 at the reach: what is not there looks like what is far away.
                out[world, robot, first + 4] = _cut(1.0 - near.gaps[place] / scales.reach)
                first += 5


@inlined
def _find_nearest(
    squares: ArenaRows,
    moving: Moving,
    world: int,
    robot: int,
    x: float,
    y: float,
    radii: tuple[float, float],
    reach: float,
    near: NearestOthers,
) -> int:
    """Write the nearest others of a robot to `near`, nearest first, those at one distance in order; return how many."""
    robots, most = squares.robots.shape[1], len(near.gaps)
    found = 0
    for number in range(robots + squares.obstacles.shape[1]):
        if number < robots:
            # Parked robots and the robot itself are no neighbours.
            if number == robot or not squares.active[world, number]:
                continue
            other, radius = squares.robots[world, number], radii[0]
        else:
            other, radius = squares.obstacles[world, number - robots], radii[1]
        across = moving.position[other, 0] - squares.origins[world, 0] - x
        along = moving.position[other, 1] - squares.origins[world, 1] - y
        gap = math.sqrt(across * across + along * along) - radius
        # Not `>=`: a gap that is no number is none.
        if not gap < reach or (found == most and (most == 0 or not gap < near.gaps[most - 1])):
            continue
        place = min(found, most - 1)
        found = min(found + 1, most)
        # Insertion sort: few are kept.
        while place > 0 and gap < near.gaps[place - 1]:
            near.gaps[place], near.numbers[place] = near.gaps[place - 1], near.numbers[place - 1]
            place -= 1
        near.gaps[place], near.numbers[place] = gap, number
    return found


@inlined
def _to_body(across: float, along: float, cosine: float, sine: float) -> tuple[float, float]:
    return cosine * across + sine * along, cosine * along - sine * across


@inlined
def _cut(value: float) -> float:
    # As `np.clip`: what is not a number stays that.
    return -LIMIT if value < -LIMIT else LIMIT if value > LIMIT else value
