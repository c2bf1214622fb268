"""Where sensors are: the poses of their frames in the world."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.errors import UnknownNameError, brief
from fleet_sim.spatial import quaternions


def frame_poses(
    world: World, rows: Rows, links: Ints, positions: Floats, orientations: Floats
) -> tuple[Floats, Floats]:
    """Return the world poses (N, 3), (N, 4) of frames mounted at `positions`, `orientations` in links of `rows`.

    Where a row is -1 the mounting is in the world, and comes back as it is.
    """
    if not len(rows):
        return positions, orientations
    carried = np.flatnonzero(rows != NO_ROW)
    if not len(carried):
        return positions.copy(), orientations.copy()
    if len(carried) == len(rows):
        return _on_links(world, rows, links, positions, orientations)
    points, turns = positions.copy(), orientations.copy()
    points[carried], turns[carried] = _on_links(
        world, rows[carried], links[carried], positions[carried], orientations[carried]
    )
    return points, turns


def _on_links(world: World, rows: Rows, links: Ints, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
    bases, turns = world.link_poses(rows, links)
    return bases + quaternions.rotate(turns, positions), quaternions.multiply(turns, orientations)


def link_index(world: World, row: int, link: int | str) -> int:
    """Return the index of a link of the entity in `row`, -1 for its base; raises UnknownNameError."""
    model = world.model_of(row)
    if model is not None:
        return model.link_index(link)
    if link != -1:
        raise UnknownNameError(f"{world.label(row)} has no link {brief(link)}: it is one body, whose index is -1")
    return -1
