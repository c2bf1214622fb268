"""The law of unicycles without limits, by compiled code, with the bits of `unicycle`."""

from __future__ import annotations

import math

from fleet_sim.arrays import Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.kernels import compiled_step
from fleet_sim.kernels.turns import heading, sin_cos
from fleet_sim.motion.compiled_rows import BodyArrays, Steering, Twists, quaternion_of

_IDLE = ControllerMode.IDLE.code


@compiled_step
def follow_freely(rows: Rows, tick: int, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists) -> int:
    """Move `rows` (N,) by their velocity commands; return how many moved, or -1, with all as they were.

    It is for commands that have not expired and rows without any limit: for all of them, or none. What reads `moved`
    is for the caller to tell.
    """
    for row in rows:
        linear, angular = steering.linear_limit[row], steering.angular_limit[row]
        if (
            0 <= twists.command_expiry[row] <= tick
            or steering.axis_limited[row]
            or not linear == steering.linear_accel[row] == math.inf
            or not angular == steering.angular_accel[row] == math.inf
        ):
            return -1
    moved = 0
    for row in rows:
        speed, turn = twists.command_linear[row, 0], twists.command_angular[row, 2]
        present = heading(quaternion_of(bodies.orientation, row))
        after = present + turn * dt
        # The chord of an arc has the direction of the heading half-way.
        sine, cosine = sin_cos(present + turn * (0.5 * dt))
        way = speed * dt
        bodies.position[row, 0] += way * cosine
        bodies.position[row, 1] += way * sine
        bodies.orientation[row, 0] = bodies.orientation[row, 1] = 0.0
        bodies.orientation[row, 2], bodies.orientation[row, 3] = sin_cos(0.5 * after)
        sine, cosine = sin_cos(after)
        # All components, as another law may have left some of the others.
        for axis in range(3):
            bodies.velocity[row, axis] = bodies.angular_velocity[row, axis] = 0.0
            steering.body_linear[row, axis] = steering.body_angular[row, axis] = 0.0
        bodies.velocity[row, 0], bodies.velocity[row, 1] = speed * cosine, speed * sine
        bodies.angular_velocity[row, 2] = steering.body_angular[row, 2] = turn
        steering.body_linear[row, 0] = speed
        if speed != 0.0 or turn != 0.0:
            moved += 1
        else:
            steering.control[row] = _IDLE
            twists.command_expiry[row] = -1
    return moved
