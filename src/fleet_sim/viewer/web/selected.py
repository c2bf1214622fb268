"""What a snapshot tells of the entity that is selected on a page."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.features import FEATURES
from fleet_sim.core.snapshot import Snapshot

GROUND = 0.5
"""What ends below this height in m stands on the ground, on wheels or legs that nobody has described; not a storey."""


def tolerance_of(snapshot: Snapshot, index: int) -> float:
    """Return how far from a point an entity may be sent instead of there, by the features that it has."""
    own = [name for name, columns in snapshot.features.items() if name in FEATURES and columns["present"][index]]
    return max((FEATURES.get(name).goal_tolerance for name in own), default=0.0)


def floor_of(snapshot: Snapshot, index: int) -> float:
    """Return the height of the floor that an entity stands on: the ground, unless all of it is higher than GROUND."""
    bodies = snapshot.bodies
    lowest = float(snapshot.positions[index, 2] + bodies.centres[index, 2] - bodies.half_extents[index, 2])
    return lowest if lowest > GROUND else 0.0


def pose_lines(position: Floats, velocity: Floats) -> list[tuple[str, str]]:
    x, y, z = position.tolist()
    return [("position", f"{x:.2f}, {y:.2f}, {z:.2f} m"), ("speed", f"{np.linalg.norm(velocity):.2f} m/s")]
