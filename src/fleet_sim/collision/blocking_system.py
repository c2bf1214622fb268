"""Stops robots in front of obstacles: the motion of a step is shortened where a body would hit something."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import NO_ROWS, AnyArray, Floats, Rows
from fleet_sim.collision.blocking import allowed_fractions
from fleet_sim.collision.bounds import active_mask, shape_arrays
from fleet_sim.collision.sweep import PosedDistanceSolver
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.shapes import ShapeArrays

# Columns of path progress. A row that is held back gets its old values again, so that its law retries the same step.
_PROGRESS = ("waypoint", "phase", "turning", "reverse")


class _Start(NamedTuple):
    """The state of rows before they moved."""

    rows: Rows
    shapes: ShapeArrays
    positions: Floats
    orientations: Floats
    progress: list[AnyArray]


class BlockingSystem:
    """Stops rows with `block_on_collision` before they touch something, at any speed.

    A blocked robot stands still and keeps its goal; it continues when the way is free. Carried objects neither block
    nor are blocked.
    """

    def __init__(self, world: World, solve: PosedDistanceSolver) -> None:
        """`solve` measures pairs without a closed form."""
        self._world = world
        self._solve = solve
        self._start: _Start | None = None

    def is_wanted(self) -> bool:
        """Whether some robot may be blocked."""
        return bool(np.count_nonzero(self._world.block_on_collision))

    @property
    def is_active(self) -> bool:
        """Whether `after` has something to look at in this step."""
        return self._start is not None

    def before(self) -> None:
        """Store the poses and path progress of the robots that may be blocked."""
        world, motion = self._world, self._world.motion
        self._start = None
        if not self.is_wanted():
            return
        rows = np.flatnonzero(world.block_on_collision & world.alive & (motion.control != 0) & (world.parent == NO_ROW))
        if len(rows):
            # Of all rows: what does not move is an obstacle at the pose it has now.
            shapes = shape_arrays(world, slice(None))
            self._start = _Start(
                rows,
                # Copies: the columns themselves are about to change.
                shapes.at(shapes.positions.copy(), shapes.orientations.copy()),
                world.position[rows],
                world.orientation[rows],
                [getattr(motion, name)[rows] for name in _PROGRESS],
            )

    def after(self, arrived: Rows) -> tuple[Rows, Rows]:
        """Undo motion that would penetrate an obstacle; return (rows that still arrived, rows newly blocked)."""
        start, world = self._start, self._world
        if start is None:
            return arrived, NO_ROWS
        moved_mask = world.moved[start.rows]
        movers = start.rows[moved_mask]
        if not len(movers):
            return arrived, NO_ROWS
        ends = shape_arrays(world, movers)
        fractions, blockers = allowed_fractions(
            start.shapes,
            movers,
            ends.positions,
            ends.orientations,
            obstacle_mask=active_mask(world) & (world.parent == NO_ROW),
            may_collide=world.collision_rules.may_collide,
            # Between the ends of a step a robot on a curve would be beside it.
            whole_mask=world.motion.whole_steps[movers],
            solve=self._solve,
            compiled=world.compiled,
        )
        before = world.motion.blocked_by[movers]
        world.motion.blocked_by[movers] = blockers
        held_mask = fractions < 1.0
        if not held_mask.any():
            return arrived, NO_ROWS
        held = movers[held_mask]
        self._hold(start, np.flatnonzero(moved_mask)[held_mask], fractions[held_mask])
        # Who stays blocked by the same obstacle is no news.
        newly = held[before[held_mask] != blockers[held_mask]]
        return np.setdiff1d(arrived, held, assume_unique=True), newly

    def _hold(self, start: _Start, places: Rows, fractions: Floats) -> None:
        """Move the rows at `places` of `start` by `fractions` of their motion only, and stop them."""
        world, motion = self._world, self._world.motion
        rows = start.rows[places]
        way = world.position[rows] - start.positions[places]
        world.position[rows] = start.positions[places] + fractions[:, None] * way
        world.orientation[rows] = quaternions.slerp(start.orientations[places], world.orientation[rows], fractions)
        for name, values in zip(_PROGRESS, start.progress, strict=True):
            getattr(motion, name)[rows] = values[places]
        # The robot is not where its law left it: pass speeds and directions are computed again.
        motion.path_fresh[rows] = True
        world.rest(rows)
