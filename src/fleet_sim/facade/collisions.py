"""Collision queries, and settings of collision detection."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.collision.bounds import refresh_bounds
from fleet_sim.collision.self_collisions import SelfCollisions
from fleet_sim.collision.system import CollisionSystem
from fleet_sim.config.params import SimulationParams
from fleet_sim.core.world import World
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import InvalidValueError

Pair = tuple[SimObject, SimObject]


class CollisionQueries:
    """Collision queries that return handles: colliding pairs, near pairs, bounding boxes."""

    def __init__(
        self, params: SimulationParams, world: World, collisions: CollisionSystem, self_collisions: SelfCollisions
    ) -> None:
        self._params = params
        self._world = world
        self._collisions = collisions
        self._self_collisions = self_collisions

    def active_pairs(self) -> list[Pair]:
        """Return the pairs that collided at the last check."""
        return self._as_handles(self._collisions.pairs)

    def check(self) -> tuple[list[Pair], dict[str, float]]:
        """Return (pairs colliding now, times in ms), whatever the check rate; events are not affected."""
        # Boxes first: an entity may have been moved since the last step.
        refresh_bounds(self._world)
        pairs = self._as_handles(self._collisions.find())
        return pairs, dict(self._collisions.breakdown)

    def touching_links(self, robot: SimObject | str) -> list[tuple[str, str]]:
        """Return the names of the links of `robot` that touched each other at the last check."""
        return self._self_collisions.pairs(self._row(robot))

    def near_pairs(
        self, ignore_static: bool | None = None, moved_objects: Iterable[SimObject] | None = None
    ) -> list[Pair]:
        """Return the pairs whose AABBs are within the collision margin; with `moved_objects` only theirs."""
        refresh_bounds(self._world)
        pairs = self._collisions.candidates(ignore_static)
        if moved_objects is not None:
            rows = np.array([obj.row for obj in moved_objects], np.int64)
            pairs = pairs[np.isin(pairs, rows).any(axis=1)]
        return self._as_handles(pairs)

    def aabbs(self) -> dict[int, tuple[Floats, Floats]]:
        """Return (lower (3,), upper (3,)) of every entity by object id, in m."""
        world = self._world
        refresh_bounds(world)
        rows = world.rows
        lower, upper = world.aabb_lower[rows], world.aabb_upper[rows]
        # Copies by indexing, so that what is returned does not change in the next step.
        ids = world.object_id[rows].tolist()
        return {object_id: (lower[index], upper[index]) for index, object_id in enumerate(ids)}

    def set_frequency(self, frequency: float | None) -> None:
        """Check `frequency` times per simulated second; None: in each step, 0: never."""
        self._params.collision_check_frequency = frequency

    def set_pair(self, first: SimObject | str, second: SimObject | str, enabled: bool | None) -> None:
        """Let two entities (handles or names) collide or not, see `sim.set_collision_pair`."""
        # Names or handles, as everywhere.
        one, other = self._row(first), self._row(second)
        if one == other:
            raise InvalidValueError(f"{self._world.label(one)!r} cannot collide with itself; name two entities")
        if not (enabled is None or isinstance(enabled, bool)):
            raise InvalidValueError(f"enabled: expected True, False or None (as groups and masks say), got {enabled!r}")
        self._world.collision_filters.set_pair(one, other, enabled)

    def _row(self, entity: SimObject | str) -> int:
        if isinstance(entity, str):
            return self._world.index.row_named(entity)
        if not isinstance(entity, SimObject) or entity.world is not self._world:
            raise InvalidValueError(f"expected an entity of this simulation, or its name, got {entity!r}")
        return entity.row

    def _as_handles(self, pairs: Ints) -> list[Pair]:
        handles = self._world.handles
        return [(handles[a], handles[b]) for a, b in pairs.tolist()]


def scene_bounds(world: World) -> tuple[Floats, Floats]:
    """Return (lower (3,), upper (3,)) of all entities of finite size; zeros for an empty world."""
    lower, upper = _finite_boxes(world)
    if not len(lower):
        return np.zeros(3), np.zeros(3)
    return lower.min(axis=0), upper.max(axis=0)


def scene_corners(world: World) -> Floats:
    """Return the corners (8 * N, 3) of the boxes around all entities of finite size; the origin for an empty world."""
    lower, upper = _finite_boxes(world)
    if not len(lower):
        return np.zeros((1, 3))
    return np.concatenate([np.where(chosen, upper, lower) for chosen in product((False, True), repeat=3)])


def _finite_boxes(world: World) -> tuple[Floats, Floats]:
    # Boxes may be behind, as this is asked between steps.
    refresh_bounds(world)
    rows = world.rows
    lower, upper = world.aabb_lower[rows], world.aabb_upper[rows]
    # A plane has no end, and would make the view infinitely wide.
    finite_mask = np.isfinite(lower).all(axis=1) & np.isfinite(upper).all(axis=1)
    return lower[finite_mask], upper[finite_mask]
