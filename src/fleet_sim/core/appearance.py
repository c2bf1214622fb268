"""Appearance: what is to be drawn of entities, as a value that any thread may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fleet_sim.arrays import NO_ROWS, AnyArray, Floats, Ints
from fleet_sim.core.look import colors_given
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.shapes import BodyShape
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.core.world import World

Thing = TypeVar("Thing")


@dataclass(frozen=True, eq=False)
class Appearance:
    """What is to be drawn of N entities; nothing in it changes while it is used."""

    object_ids: Ints
    shape_ids: Ints
    """(N,) index in `shapes`; -1: none."""
    model_ids: Ints
    """(N,) index in `models`; -1: none. What a robot with a model shows is on its links, whatever its shape is."""
    shapes: Sequence[BodyShape]
    models: Sequence[RobotModel]
    rgba: Floats
    """(N, 4) the color given to each as a whole; -1: that of its shapes."""
    link_rgba: AnyArray
    """(N,) None, or a mapping of links to the colors given to them, which come before `rgba`."""

    def __len__(self) -> int:
        return len(self.object_ids)

    def colors(self, indices: Ints, links: Ints) -> Floats:
        """Return the color (K, 4) given to each of `links` (K,) of the entities `indices` (K,); -1 where none was."""
        return colors_given(self.rgba, self.link_rgba, indices, links)


def appearance_of(world: World) -> Appearance:
    """Return the appearance of all living entities of `world`, in the order of `world.rows`."""
    rows = world.rows
    return Appearance(
        object_ids=world.object_id[rows],
        shape_ids=world.shape_id[rows],
        model_ids=world.robots.model[rows],
        shapes=[world.shapes[index] for index in range(len(world.shapes))],
        models=list(world.models),
        rgba=world.look.rgba[rows],
        link_rgba=world.look.links[rows],
    )


def appearance_in(snapshot: Snapshot) -> Appearance:
    """Return the appearance of the entities of `snapshot`."""
    shape_ids, shapes = _numbered(snapshot.bodies.shapes)
    model_ids, models = _numbered(snapshot.bodies.models)
    link_rgba = np.full(len(snapshot.names), None)
    for index, given in snapshot.link_colors.items():
        link_rgba[index] = given
    return Appearance(snapshot.object_ids, shape_ids, model_ids, shapes, models, snapshot.colors, link_rgba)


def looks_alike(one: Snapshot, other: Snapshot) -> bool:
    """Return whether the same is to be drawn of both snapshots, but for poses."""
    same = one.bodies is other.bodies and one.link_colors is other.link_colors
    return same and bool(np.array_equal(one.colors, other.colors))


def _numbered(things: Sequence[Thing | None]) -> tuple[Ints, list[Thing]]:
    """Return the number of each of `things`, -1 for None, and what is numbered."""
    # By identity: entities that are alike share one, and comparing models takes long.
    numbers: dict[int, int] = {}
    found: list[Thing] = []
    ids: Ints = np.full(len(things), -1, np.int64)
    for index, thing in enumerate(things):
        if thing is not None:
            number = numbers.setdefault(id(thing), len(found))
            if number == len(found):
                found.append(thing)
            ids[index] = number
    return ids, found


NO_APPEARANCE = Appearance(NO_ROWS, NO_ROWS, NO_ROWS, (), (), np.empty((0, 4)), np.empty(0, object))
"""Of nothing."""
