"""Observations of the robots of an arena, on arrays: the goal, the own motion, and the nearest robots and obstacles.

Values are in the body frame and divided by a scale, so that a policy does not depend on where a robot is in its world.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bools, Floats
from fleet_sim.spatial import trigonometry as trig

Observations = npt.NDArray[np.float32]

OWN_SIZE = 5
"""Number of values of `own_part`."""
NEIGHBOUR_SIZE = 5
"""Number of values per neighbour in `neighbour_part`."""


def to_body(offsets: Floats, headings: Floats) -> Floats:
    """Return `offsets` (..., 2) of the world frame in the frames of robots with `headings` (...)."""
    sines, cosines = trig.sin_cos(headings)
    # In one array: two would have to be stacked afterwards.
    out = np.empty(np.broadcast_shapes(offsets.shape, (*headings.shape, 2)))
    out[..., 0] = cosines * offsets[..., 0] + sines * offsets[..., 1]
    out[..., 1] = cosines * offsets[..., 1] - sines * offsets[..., 0]
    return out


def own_part(
    targets: Floats,
    positions: Floats,
    headings: Floats,
    speeds: Floats,
    turns: Floats,
    scales: tuple[float, float, float],
) -> Floats:
    """Return (..., 5): distance to the target, its direction (cosine, sine in the body frame), speed, angular velocity.

    `scales` are the divisors of distances, speeds and angular velocities.
    """
    ahead = to_body(targets - positions, headings)
    distances = trig.hypot(ahead[..., 0], ahead[..., 1])
    # At the target the direction has no meaning, but must be a number.
    safe = np.maximum(distances, 1e-9)
    length, speed, turn = scales
    return np.stack(
        [distances / length, ahead[..., 0] / safe, ahead[..., 1] / safe, speeds / speed, turns / turn], axis=-1
    )


def neighbour_part(
    positions: Floats,
    headings: Floats,
    velocities: Floats,
    radii: Floats,
    others: Floats,
    other_velocities: Floats,
    present: Bools,
    count: int,
    reach: float,
    speed: float,
) -> Floats:
    """Return (W, R, 5 count): the `count` nearest of `others` within `reach`, nearest first, padded with zeros.

    The values of a neighbour are its offset in the body frame / `reach`, its relative velocity / `speed`, and its
    closeness from 0 (at `reach`) to 1 (touching). `others` are positions (W, M, 2); `radii` (M,) are their radii plus
    the robot's own; `present` (W, R, M) masks the others that a robot can observe.
    """
    worlds, robots = headings.shape
    found = np.zeros((worlds, robots, count, NEIGHBOUR_SIZE))
    total = others.shape[1]
    used = min(count, total)
    if not used:
        return found.reshape(worlds, robots, -1)
    offsets = others[:, None, :, :] - positions[:, :, None, :]
    gaps = trig.hypot(offsets[..., 0], offsets[..., 1]) - radii
    gaps = np.where(present & (gaps < reach), gaps, np.inf)
    # A stable sort: neighbours at equal distance are ordered by index, so equal states give equal observations.
    nearest = np.argsort(gaps, axis=2, kind="stable")[:, :, :used]
    near_gaps = np.take_along_axis(gaps, nearest, axis=2)
    near_mask = np.isfinite(near_gaps)
    world_index = np.arange(worlds)[:, None, None]
    where = to_body(np.take_along_axis(offsets, nearest[..., None], axis=2), headings[:, :, None])
    motion = to_body(other_velocities[world_index, nearest] - velocities[:, :, None, :], headings[:, :, None])
    values = found[:, :, :used]
    values[..., 0:2] = where / reach
    values[..., 2:4] = motion / speed
    values[..., 4] = 1.0 - np.where(near_mask, near_gaps, reach) / reach
    values[~near_mask] = 0.0
    return found.reshape(worlds, robots, -1)
