"""/fleet/states by compiled code: what `states.motion_of` does on arrays, with the same bits."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.kernels import compiled, compiled_step
from fleet_sim.kernels.turns import rotate

STEPS_PER_M = 1024.0
"""A power of two: what is rounded to it has few bits."""
STEPS_PER_SPEED = 2.0**40
"""Per m/s and rad/s. Turned into the frame of a robot, a speed that is 0 is 1e-17, in bits that are never the same."""


@compiled
def write_motion(
    positions: Floats,
    orientations: Floats,
    velocities: Floats,
    angular_velocities: Floats,
    path_starts: Ints,
    path_positions: Floats,
    robots: Ints,
    numbers: Floats,
    places: Ints,
    moving_mask: Bools,
) -> None:
    """Write pose, velocities in the own frame and distance left of `robots` (K,) to each of K places.

    `moving_mask` (N,) gets which of them have a velocity.
    """
    for index in range(len(robots)):
        robot, place = robots[index], places[index]
        moves = False
        for axis in range(3):
            numbers[place + axis] = positions[robot, axis]
            if velocities[robot, axis] != 0.0 or angular_velocities[robot, axis] != 0.0:
                moves = True
        for part in range(4):
            numbers[place + 3 + part] = orientations[robot, part]
        for axis in range(6):
            numbers[place + 7 + axis] = 0.0
        moving_mask[robot] = moves
        if moves:
            _write_turned(velocities, orientations, robot, numbers, place + 7)
            _write_turned(angular_velocities, orientations, robot, numbers, place + 10)
        left, last = 0.0, path_starts[robot + 1] - 1
        if last >= path_starts[robot]:
            x = path_positions[last, 0] - positions[robot, 0]
            y = path_positions[last, 1] - positions[robot, 1]
            z = path_positions[last, 2] - positions[robot, 2]
            left = np.rint(math.sqrt(x * x + y * y + z * z) * STEPS_PER_M) * (1.0 / STEPS_PER_M)
        numbers[place + 13] = left


@compiled_step
def _write_turned(vectors: Floats, orientations: Floats, robot: int, numbers: Floats, place: int) -> None:
    """Write the vector of a robot in the robot's own frame."""
    # Negated in numbers, as the conjugate is elsewhere.
    x, y, z, w = -orientations[robot, 0], -orientations[robot, 1], -orientations[robot, 2], orientations[robot, 3]
    turned = rotate((x, y, z, w), (vectors[robot, 0], vectors[robot, 1], vectors[robot, 2]))
    for axis in range(3):
        numbers[place + axis] = np.rint(turned[axis] * STEPS_PER_SPEED) * (1.0 / STEPS_PER_SPEED)
