"""Poses as pairs of arrays, positions (N, 3) and unit quaternions (N, 4): composition, inverse, relative pose.

As in `quaternions`, the result of a row does not depend on the other rows.
"""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.spatial import quaternions


def compose(
    positions: Floats, orientations: Floats, child_positions: Floats, child_orientations: Floats
) -> tuple[Floats, Floats]:
    """Return child poses, given in the frames of their parents, in the frame of the parent poses."""
    turned = quaternions.multiply(orientations, child_orientations)
    return positions + quaternions.rotate(orientations, child_positions), quaternions.normalized(turned)


def inverse(positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
    """Return the inverse poses."""
    back = quaternions.conjugate(orientations)
    return -quaternions.rotate(back, positions), back


def relative(
    frame_positions: Floats, frame_orientations: Floats, positions: Floats, orientations: Floats
) -> tuple[Floats, Floats]:
    """Return poses relative to frames; both are given in the same frame."""
    back = quaternions.conjugate(frame_orientations)
    turned = quaternions.multiply(back, orientations)
    return quaternions.rotate(back, positions - frame_positions), quaternions.normalized(turned)
