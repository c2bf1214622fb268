"""The numbers of the law, as compiled functions of numbers; those of arrays are in `fleet_sim.motion.profile`."""

from __future__ import annotations

import numpy as np

from fleet_sim.kernels import inlined
from fleet_sim.motion.profile import ROUNDING, SLACK, TINY

STRAIGHT = 1e-9
"""A heading that is off by less (rad) is right, and lanes whose directions differ by less are one line."""
WHOLE_TURN = 2.0 * np.pi


@inlined
def next_speed(speed: float, distance: float, exit_speed: float, limit: float, accel: float, dt: float) -> float:
    """Return the next speed as `next_speeds` of the profile does."""
    ahead = max(2.0 * distance - speed * dt + exit_speed * exit_speed / accel, 0.0)
    ahead /= np.sqrt(ahead / accel + 0.25 * dt * dt) + 0.5 * dt
    return max(min(ahead, limit, speed + accel * dt), speed - accel * dt)


@inlined
def can_stop(distance: float, speed: float, limit: float, accel: float, dt: float) -> bool:
    """Return whether a robot can stop exactly `distance` ahead within one step, as `can_stop` of the profile does."""
    if distance > min(0.5 * accel * dt, limit) * dt * SLACK:
        return False
    most = accel * dt
    rate = speed * speed / max(most * most, TINY)
    offset = distance - 0.5 * speed * dt
    spare = 0.25 * dt * most * max(1.0 - rate, 0.0) + ROUNDING * dt * min(most, 1.0)
    return rate <= SLACK and offset * offset <= spare * spare


@inlined
def wrapped(angle: float) -> float:
    """Return the same angle between -pi and pi."""
    return angle - WHOLE_TURN * np.floor(angle / WHOLE_TURN + 0.5)
