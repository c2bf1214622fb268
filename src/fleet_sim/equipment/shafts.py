"""Shafts of lifts: where no route leads on a storey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fleet_sim.core.world import World
from fleet_sim.equipment.lifts import Lifts
from fleet_sim.sites.site import Site

AROUND = 0.1
"""Room for the doors of a lift around its cabin in m, where no route leads."""


def without_shafts(site: Site, world: World, lifts: Lifts | None, rows: Sequence[int]) -> Site:
    """Return a site for routes alone, with walls where the lifts in `rows` have their shafts."""
    grid = site.grid
    middles = grid.middles
    closed_mask = np.zeros(grid.count, bool)
    for lift in rows:
        assert lifts is not None
        plan, half = lifts.plan(lift), lifts.table.half[lift, :2] + AROUND
        axis = plan.entrances[0].outward
        # Along the way through its doors, and across: the sides of the cabin.
        offsets = middles - world.position[lift, :2]
        along, across = offsets @ axis, offsets @ np.array([-axis[1], axis[0]])
        faces = float(abs((plan.entrances[0].middle - world.position[lift, :2]) @ axis))
        deep = int(np.abs(half - AROUND - faces).argmin())
        closed_mask |= (np.abs(along) <= half[deep]) & (np.abs(across) <= half[1 - deep])
    none = np.empty(0, np.int64)
    return replace(site, grid=grid.without(closed_mask), stations=(), starts=none, goals=none, walls=site.boxes())
