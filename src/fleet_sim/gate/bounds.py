"""The bounds of numbers that come from outside: far beyond every use, and far below where arithmetic breaks.

Squares, sums of squares and products with time steps of numbers within these bounds stay finite.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Floats
from fleet_sim.errors import InvalidValueError

EXTENT = 1e6
"""How far from the origin anything may be put along an axis, in m, where a simulation sets nothing else."""
LARGEST_EXTENT = 1e9
"""Of what a simulation may set, and of any pose in a configuration, in m."""
LARGEST_SIZE = 1e6
"""Of a body along an axis, in m."""
LARGEST_SPEED = 1e9
"""In m/s or rad/s; also the limit of accelerations, in m/s^2 or rad/s^2."""
SHORTEST_STEP, LONGEST_STEP = 1e-9, 3600.0
"""Of simulated time, in s."""
SLOWEST = 1e-6
"""Real-time factor, but for 0: a simulated second in twelve days."""
SMALLEST_EXTENT = 1e-3
"""Of a world from its origin along an axis, in m."""
MOST_SUBSTEPS = 10_000
"""Steps of an engine in one step."""
MOST_ITERATIONS = 10_000
"""Of a solver."""
MOST_OBJECTS = 10_000
"""Of a kind in an environment or a heap."""
LONGEST_HISTORY = 100_000
"""Steps of which something is remembered for each agent."""
MOST_PIXELS = 16_384
"""Along one side of a window."""
LARGEST_MASS = 1e12
"""In kg."""
LARGEST_FORCE = 1e15
"""Of a motor, in N or N m."""
LONGEST_TIME = 1e9
"""Of timeouts and waits, in s: 30 years."""
MOST_ALIKE = 1_000_000
"""Entities of one grid."""


def inside_mask(vectors: AnyArray, bound: float) -> Bools:
    """Return which of `vectors` (N, K) have no component beyond `bound`; one that is not a number is beyond."""
    mask: Bools = np.asarray((np.abs(vectors) <= bound).all(axis=1))
    return mask


def check_extent(positions: Floats, extent: float, what: str = "position") -> None:
    """Raise InvalidValueError unless all `positions` (..., 3) are within `extent` m along each axis."""
    if positions.size and not np.abs(positions).max() <= extent:
        worst = positions.reshape(-1, 3)[int(np.argmin(inside_mask(positions.reshape(-1, 3), extent)))]
        raise InvalidValueError(f"{what}: {beyond(extent)}, got {worst.tolist()}")


def check_speeds(velocities: Floats, what: str) -> None:
    """Raise InvalidValueError unless all `velocities` are within LARGEST_SPEED."""
    if velocities.size and not np.abs(velocities).max() <= LARGEST_SPEED:
        raise InvalidValueError(f"{what}: expected at most {LARGEST_SPEED:g} along an axis, got {velocities.tolist()}")


def beyond(extent: float) -> str:
    """Return why a position is refused."""
    return f"the world ends {extent:g} m from its origin along each axis (simulation.world_extent)"
