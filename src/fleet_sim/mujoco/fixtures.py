"""Fixtures: concave entities that stand still, whose plates are part of the model where they stand.

MuJoCo finds what is near a body that cannot move many times faster than near one that may be put elsewhere.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.core.robot_model import BASE
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.world import World

_NOBODY: Ints = np.empty(0, np.int64)
_NOWHERE: Floats = np.empty((0, 7))
_NO_POSES: tuple[Floats, Floats] = np.empty((0, 3)), np.empty((0, 4))


class Fixtures:
    """Finds the fixtures of a world. What was put elsewhere once is none any more: that costs one compilation."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.moved: set[int] = set()
        """Object ids of those that were put elsewhere."""
        self._ids, self._poses = _NOBODY, _NOWHERE
        self._rows: Rows = _NOBODY
        self._seen: tuple[bytes | int, ...] = ()
        self._concave: Bools = np.empty(0, np.bool_)

    def find(self, rows: Rows, driven_mask: Bools) -> tuple[Ints, Floats]:
        """Return the places (K,) in `rows` of all fixtures, and their poses (K, 7).

        Those of `driven_mask` (N,) are none. What was found at another pose the last time is none from now on.
        """
        world = self._world
        places = np.flatnonzero(self._concave_mask(rows) & ~driven_mask)
        self._rows = rows[places]
        if not len(places):
            self._ids, self._poses = _NOBODY, _NOWHERE
            return places, _NOWHERE
        ids = world.object_id[rows[places]]
        poses = np.concatenate((world.position[rows[places]], world.orientation[rows[places]]), axis=1)
        if ids.tobytes() != self._ids.tobytes() or poses.tobytes() != self._poses.tobytes():
            before = dict(zip(self._ids.tolist(), self._poses.tolist(), strict=True))
            now = zip(ids.tolist(), poses.tolist(), strict=True)
            self.moved.update(number for number, pose in now if before.get(number, pose) != pose)
            self._ids, self._poses = ids, poses
        if self.moved:
            kept_mask = ~np.isin(ids, list(self.moved))
            places, poses = places[kept_mask], poses[kept_mask]
        return places, poses

    def poses(self) -> tuple[Floats, Floats]:
        """Return positions (K, 3) and orientations (K, 4) of what `find` looked at the last time, as they are now."""
        if not len(self._rows):
            return _NO_POSES
        return self._world.position.take(self._rows, axis=0), self._world.orientation.take(self._rows, axis=0)

    def forget(self) -> None:
        """Forget what was where: all concave entities that stand still are fixtures again."""
        self.moved.clear()
        self._ids, self._poses = _NOBODY, _NOWHERE

    def _concave_mask(self, rows: Rows) -> Bools:
        """Return which of `rows` (N,) are concave and stand still; found anew where anything has changed."""
        world = self._world
        columns = rows, world.shape_id, world.robots.model, world.dynamic, world.kind
        counts = len(world.models), len(world.shapes.concave)
        seen: tuple[bytes | int, ...] = (*[column.tobytes() for column in columns], *counts)
        if seen != self._seen:
            self._concave, self._seen = self._find_concave(rows), seen
        return self._concave

    def _find_concave(self, rows: Rows) -> Bools:
        """Return which of `rows` (N,) are fixed and have concave meshes, whose triangles stand still."""
        world = self._world
        # With shapes on one link only: others may have joints that move.
        models = [
            number
            for number, model in enumerate(world.models)
            if model.concave and all(piece.link == BASE for piece in model.collisions)
        ]
        if not world.shapes.concave and not models:
            return np.zeros(len(rows), np.bool_)
        concave = np.isin(world.shape_id[rows], world.shapes.concave) | np.isin(world.robots.model[rows], models)
        mask: Bools = concave & ~world.dynamic[rows] & (world.kind[rows] != KIND_AGENT)
        return mask
