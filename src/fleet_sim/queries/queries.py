"""`sim.queries`: rays, distances and regions, answered from the columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from fleet_sim.arrays import Floats, Rows, as_float, as_floats
from fleet_sim.collision.bounds import refresh_bounds
from fleet_sim.collision.convex.distances import ExactDistances, NearPoint
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import InvalidValueError, brief
from fleet_sim.gate.bounds import LARGEST_EXTENT
from fleet_sim.queries.distances import entity_distances, point_distances, reach_of
from fleet_sim.queries.rays import RayHits
from fleet_sim.sensors.rays import cast_rays
from fleet_sim.spatial.shapes import ShapeKind

Kinds = Literal["all", "agents", "objects"]
Ignored = SimObject | Iterable[SimObject]


class Near(NamedTuple):
    """An entity and the distance to it in m, negative where the two overlap."""

    entity: Any
    distance: float


class SpatialQueries:
    """Queries about entities at their current poses. Only distances of shapes known to PyBullet alone use PyBullet.

    All take `kinds`, "all", "agents" or "objects", and `ignore`, an entity or several. Results are in a stable order:
    that of spawning, or by distance and then that of spawning. Entities without a collision shape are not found.
    """

    __slots__ = ("_exact", "_floor", "_world")

    def __init__(self, world: World, exact: ExactDistances, *, floor: bool) -> None:
        """`exact` measures pairs of rows without a closed form; with `floor` rays meet the plane z = 0."""
        self._world = world
        self._exact = exact
        self._floor = floor

    # ---- rays --------------------------------------------------------------------------------------------------------

    def ray_cast(
        self, starts: Any, ends: Any, *, kinds: Kinds = "all", ignore: Ignored = (), floor: bool = True
    ) -> RayHits:
        """Return what rays from `starts` to `ends`, (N, 3) each or one point (3,), meet first.

        A ray that begins inside a convex shape does not meet it. Concave meshes and planes are met from both sides.
        The floor of the simulation is met unless `floor` is off. Raises InvalidValueError for a ray without length.
        """
        begin, end = _points(starts, "starts"), _points(ends, "ends")
        if 1 not in (len(begin), len(end)) and len(begin) != len(end):
            raise InvalidValueError(f"ends: expected as many as starts, {len(begin)}, or one point, got {len(end)}")
        begin, end = (points.copy() for points in np.broadcast_arrays(begin, end))
        way = end - begin
        reach = np.sqrt((way * way).sum(axis=1))
        if (reach == 0.0).any():
            raise InvalidValueError(f"ends: ray {int(reach.argmin())} has no length, it ends where it starts")
        directions = way / reach[:, None]
        rows, none = self._rows(kinds, ignore), np.full(len(begin), NO_ROW)
        met = cast_rays(self._world, begin, directions, reach, none, floor=self._floor and floor, rows=rows)
        hit_mask = np.isfinite(met.ranges)
        points, normals = np.full_like(begin, np.nan), np.full_like(begin, np.nan)
        points[hit_mask] = begin[hit_mask] + directions[hit_mask] * met.ranges[hit_mask, None]
        normals[hit_mask] = met.normals[hit_mask]
        ids = np.where(met.rows >= 0, self._world.object_id[np.maximum(met.rows, 0)], -1)
        return RayHits(met.ranges, points, normals, ids, met.links, met.rows, self._world)

    # ---- regions -----------------------------------------------------------------------------------------------------

    def overlap_box(self, lower: Any, upper: Any, *, kinds: Kinds = "all", ignore: Ignored = ()) -> list[Any]:
        """Return the entities whose bounding boxes overlap the box from `lower` (3,) to `upper` (3,), in m."""
        low, high = as_floats(lower, (3,), "lower"), as_floats(upper, (3,), "upper")
        if (low > high).any():
            raise InvalidValueError(f"lower: must be at most upper, got {low.tolist()} and {high.tolist()}")
        rows = self._rows(kinds, ignore)
        world = self._world
        mask = (world.aabb_lower[rows] <= high).all(axis=1) & (world.aabb_upper[rows] >= low).all(axis=1)
        return self._handles(rows[mask])

    def overlap_sphere(self, centre: Any, radius: float, *, kinds: Kinds = "all", ignore: Ignored = ()) -> list[Any]:
        """Return the entities of which some part is within `radius` m of the point `centre` (3,), or that hold it."""
        point, reach = _point(centre, "centre"), as_float(radius, "radius in m", low=0.0)
        rows = self._within(point, point, reach, self._rows(kinds, ignore))
        return self._handles(rows[point_distances(self._world, point, rows) <= reach])

    # ---- distances ---------------------------------------------------------------------------------------------------

    def distance(self, first: Any, second: Any) -> float:
        """Return the distance in m between two entities, or an entity and a point (3,); negative where they overlap.

        Infinite where one has no collision shape. Robots and meshes are measured shape by shape, without
        PyBullet; only bodies made in PyBullet whose shapes it does not tell are measured by it.
        """
        if not isinstance(first, SimObject):
            first, second = second, first
        if not isinstance(first, SimObject):
            raise InvalidValueError("distance: one of the two must be an entity, the other an entity or a point")
        return float(self._distances(second, np.array([self._row(first)]), None)[0])

    def closest(self, target: Any, max_distance: float, *, kinds: Kinds = "all", ignore: Ignored = ()) -> list[Near]:
        """Return the entities within `max_distance` m of `target`, an entity or a point (3,), the nearest first.

        Distances are those of `distance`; an entity is not among its own neighbours.
        """
        reach = as_float(max_distance, "max_distance in m", low=0.0)
        rows = self._rows(kinds, ignore)
        if isinstance(target, SimObject):
            row = self._row(target)
            rows = self._within(self._world.aabb_lower[row], self._world.aabb_upper[row], reach, rows[rows != row])
        else:
            point = _point(target, "target: an entity or a point")
            rows = self._within(point, point, reach, rows)
        distances = self._distances(target, rows, reach)
        # Rows come in order of spawning, and the sort is stable.
        order = np.argsort(distances, kind="stable")
        order = order[distances[order] <= reach]
        return [Near(self._world.handles[rows[index]], float(distances[index])) for index in order.tolist()]

    def closest_points(self, first: SimObject, second: SimObject, max_distance: float = 0.0) -> list[NearPoint]:
        """Return where shapes of two entities are at most `max_distance` m apart: a point for each pair of shapes.

        As PyBullet's `getClosestPoints`, with its margins, for kinematic bodies too: robots shape by shape of their
        links, in the order of their files. Raises InvalidValueError for a body whose shapes only PyBullet knows.
        """
        limit = as_float(max_distance, "max_distance in m", low=0.0)
        rows = self._row(first), self._row(second)
        if rows[0] == rows[1]:
            raise InvalidValueError(f"second: {self._world.label(rows[0])!r} is both entities; give two different ones")
        return self._exact.points(*rows, limit)

    def _distances(self, target: Any, rows: Rows, limit: float | None) -> Floats:
        """Return the distances (N,) in m of `rows` from a point or an entity; inf beyond `limit`."""
        if not len(rows):
            return np.empty(0)
        if not isinstance(target, SimObject):
            return point_distances(self._world, _point(target, "a point"), rows)
        row = self._row(target)
        refresh_bounds(self._world)
        reach = reach_of(self._world, row, rows) if limit is None else limit
        return entity_distances(self._world, row, rows, reach, self._exact.distances)

    # ---- who is asked ------------------------------------------------------------------------------------------------

    def _rows(self, kinds: str, ignore: Ignored) -> Rows:
        """Return the rows of the entities that are asked, in order of spawning, their boxes up to date."""
        if kinds not in get_args(Kinds):
            raise InvalidValueError(f"kinds: expected one of {', '.join(get_args(Kinds))}, got {kinds!r}")
        world = self._world
        refresh_bounds(world)
        rows = world.rows[world.shape_kind[world.rows] != ShapeKind.NONE]
        if kinds != "all":
            rows = rows[(world.kind[rows] == KIND_AGENT) == (kinds == "agents")]
        left_out = [self._row(entity) for entity in ([ignore] if isinstance(ignore, SimObject) else ignore)]
        return rows[~np.isin(rows, left_out)] if left_out else rows

    def _row(self, entity: object) -> int:
        if not isinstance(entity, SimObject) or entity.world is not self._world:
            raise InvalidValueError(f"expected an entity of this simulation, got {entity!r}")
        return entity.row

    def _within(self, lower: Floats, upper: Floats, reach: float, rows: Rows) -> Rows:
        """Return those of `rows` whose bounding boxes are within `reach` of a box."""
        world = self._world
        gaps = np.maximum(np.maximum(world.aabb_lower[rows] - upper, lower - world.aabb_upper[rows]), 0.0)
        return rows[(gaps * gaps).sum(axis=1) <= reach * reach]

    def _handles(self, rows: Sequence[int] | Rows) -> list[Any]:
        return [self._world.handles[row] for row in np.asarray(rows).tolist()]


def _points(values: Any, what: str) -> Floats:
    """Return points (N, 3), of one point (3,) too; raises InvalidValueError."""
    try:
        single = np.ndim(values) == 1
    except ValueError:
        # A list of lists of different lengths; what is wrong with it is said below.
        single = False
    return _within_reach(as_floats([values] if single else values, (None, 3), what), what)


def _point(value: Any, what: str) -> Floats:
    """Return a point (3,); raises InvalidValueError."""
    return _within_reach(as_floats(value, (3,), what), what)


def _within_reach(points: Floats, what: str) -> Floats:
    """Return `points`, whose squares are finite; raises InvalidValueError."""
    if points.size and np.abs(points).max() > LARGEST_EXTENT:
        given = brief(points.tolist())
        raise InvalidValueError(f"{what}: expected at most {LARGEST_EXTENT:g} m along each axis, got {given}")
    return points
