"""How the frames of sensors move."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.sensors.kind import Batch
from fleet_sim.spatial import components


def frame_motion(world: World, batch: Batch) -> tuple[Floats, Floats]:
    """Return velocities (N, 3) and angular velocities (N, 3) of the sensors' frames, in the world frame.

    A frame moves as if it were fixed to its entity's base; one that nothing carries is at rest.
    """
    velocities, spins = world.velocity[batch.rows], world.angular_velocity[batch.rows]
    arms = batch.positions - world.position[batch.rows]
    # For row -1 this computes with the last row of the columns; those results are replaced below.
    velocities += components.cross(np.ascontiguousarray(spins.T), np.ascontiguousarray(arms.T)).T
    still_mask = batch.rows == NO_ROW
    velocities[still_mask] = 0.0
    spins[still_mask] = 0.0
    return velocities, spins
