"""Appearance: what is to be drawn of entities, as a value that any thread may read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import NO_ROWS, AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.core.look import colours_given
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.shapes import BodyShape
from fleet_sim.core.world import World


@dataclass(frozen=True, eq=False)
class Appearance:
    """What is to be drawn of N entities, aligned with the snapshot that has it; arrays are read-only."""

    object_ids: Ints
    shape_ids: Ints
    """(N,) index in `shapes`; -1: none."""
    model_ids: Ints
    """(N,) index in `models`; -1: none. What a robot with a model shows is on its links, whatever its shape is."""
    movable_mask: Bools
    """(N,) robots, and what can be carried or is moved by physics: all that may have another pose soon."""
    shapes: tuple[BodyShape, ...]
    models: tuple[RobotModel, ...]
    rgba: Floats
    """(N, 4) the colour given to each as a whole; -1: that of its shapes."""
    link_rgba: AnyArray
    """(N,) None, or a mapping of links to the colours given to them, which come before `rgba`."""

    def __len__(self) -> int:
        return len(self.object_ids)

    def colours(self, indices: Ints, links: Ints) -> Floats:
        """Return the colour (K, 4) given to each of `links` (K,) of the entities `indices` (K,); -1 where none was."""
        return colours_given(self.rgba, self.link_rgba, indices, links)


def appearance_of(world: World) -> Appearance:
    """Return the appearance of all living entities of `world`, in the order of `world.rows`."""
    rows = world.rows
    # Indexing by an array copies; mappings of colours are replaced and never changed.
    return Appearance(
        object_ids=_frozen(world.object_id[rows]),
        shape_ids=_frozen(world.shape_id[rows]),
        model_ids=_frozen(world.robots.model[rows]),
        movable_mask=_frozen(_movable_mask(world, rows)),
        shapes=tuple(world.shapes[index] for index in range(len(world.shapes))),
        models=tuple(world.models),
        rgba=_frozen(world.look.rgba[rows]),
        link_rgba=_frozen(world.look.links[rows]),
    )


def _movable_mask(world: World, rows: Rows) -> Bools:
    mask: Bools = (world.kind[rows] == KIND_AGENT) | world.pickable[rows] | world.dynamic[rows]
    return mask


def _frozen(copy: AnyArray) -> AnyArray:
    copy.flags.writeable = False
    return copy


NO_APPEARANCE = Appearance(
    object_ids=NO_ROWS,
    shape_ids=NO_ROWS,
    model_ids=NO_ROWS,
    movable_mask=np.empty(0, np.bool_),
    shapes=(),
    models=(),
    rgba=np.empty((0, 4)),
    link_rgba=np.empty(0, object),
)
"""Of snapshots that do not say what is to be drawn."""
