"""The order of the agents of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet_sim.arrays import Ints, Rows

if TYPE_CHECKING:
    from fleet_sim.swarm.groups import Group


def places_in_group(group: Group) -> tuple[Rows, Ints]:
    """Return the rows (M,) of the whole group, in order of spawning, and the places (N,) of `group`'s agents in it.

    They differ where `group` is one agent of it alone.
    """
    whole = group.world.groups[group.index]
    rows: Rows = whole.rows
    if whole is group:
        return rows, np.arange(len(rows))
    return rows, np.flatnonzero(np.isin(rows, group.rows))
