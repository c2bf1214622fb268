"""Whom a click on a body means: a load or a rack stands for the robot that carries it, or is under it."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.spatial import quaternions

REACH = 1.0
"""How far in m from where a rack was clicked the robot under it is, at most."""
CLEARANCE = 0.5
"""Between the top of a robot and what it is under, at most, in m: a ceiling is not what robots are under."""


def meant(snapshot: Snapshot, index: int, hit: Floats) -> int:
    """Return the index of the entity that a click on the entity `index`, at the point `hit` (3,), is to select.

    Of what is carried that is who carries it, in the end; of a rack the robot under it that is nearest to the click.
    """
    bottom = index
    # Loads may be stacked, and a robot may carry an arm that carries something.
    for _ in range(len(snapshot.names)):
        if snapshot.carriers[bottom] < 0:
            break
        bottom = int(snapshot.carriers[bottom])
    if snapshot.agent_mask[bottom]:
        return bottom
    below = _robot_under(snapshot, bottom, hit)
    return index if below is None else below


def _robot_under(snapshot: Snapshot, index: int, hit: Floats) -> int | None:
    bodies, robots = snapshot.bodies, np.flatnonzero(snapshot.agent_mask)
    places = snapshot.positions[robots] + bodies.centres[robots]
    # In the frame of the rack, whose box is level in it.
    turn = np.tile(quaternions.conjugate(snapshot.orientations[index : index + 1]), (len(robots), 1))
    inside = quaternions.rotate(turn, places - snapshot.positions[index]) - bodies.centres[index]
    half = bodies.half_extents[index]
    gaps = -half[2] - (inside[:, 2] + bodies.half_extents[robots, 2])
    away = np.linalg.norm((places - hit)[:, :2], axis=1)
    # Under it, and not on top of it.
    fits_mask = (np.abs(inside[:, :2]) <= half[:2]).all(axis=1) & (inside[:, 2] < half[2])
    under = np.flatnonzero(fits_mask & (gaps < CLEARANCE) & (away < REACH))
    return int(robots[under[np.argmin(away[under])]]) if len(under) else None
