"""How far ahead plans have to reach."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.core.world import World
from fleet_sim.traffic.execution.tracks import Tracks

LONGEST = 1000


def usual_lane(tracks: Tracks) -> float:
    """Return the length in m that half of all lanes have at most."""
    lengths = tracks.lengths[tracks.neighbours.ravel() >= 0]
    return float(np.median(lengths)) if len(lengths) else 1.0


def steps_ahead(world: World, rows: Rows, lane: float, period: float) -> int:
    """Return the least window with which no robot in `rows` has to brake before the next plan, `period` s later.

    That is what the fastest drives until then and needs to stop, in lanes of `lane` m; one step that it is on, and one
    to go on with.
    """
    speeds, brakes = world.motion.linear_limit[rows], world.motion.linear_accel[rows]
    with np.errstate(invalid="ignore"):
        ways = np.ceil(speeds * period / lane) + np.ceil(0.5 * speeds * speeds / brakes / lane)
    # Robots without limits are as fast as they like.
    most = float(np.nan_to_num(ways, nan=LONGEST, posinf=LONGEST).max(initial=0.0))
    return min(int(min(most, LONGEST)) + 2, LONGEST)
