"""`sim.queries`: rays, distances and regions, answered from the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError, brief
from fleet_sim.base.limits import LARGEST_EXTENT
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.models.meshes.loading import hull_planes, hull_surface
from fleet_sim.sensing.collision.bounds import refresh_bounds
from fleet_sim.sensing.collision.contacts import ExactDistances, NearPoint
from fleet_sim.sensing.collision.distances import distances_between
from fleet_sim.sensing.sensors.rays import cast_rays
from fleet_sim.sensing.sensors.solids import Solids, solids_of, surfaces_of
from fleet_sim.world.entity_index import Handle
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.world import World

# Distances between entities, and from points to entities, shape by shape.


ExactSolver = Callable[[Ints, float], Floats]
"""Given pairs (K, 2) of rows and a limit in m, return the signed distances (K,), infinite beyond the limit."""
FAR = 1e5
"""The limit in m for what has no end, as a plane and a mesh."""


def point_distances(world: World, point: Floats, rows: Rows) -> Floats:
    """Return the signed distance (N,) from `point` (3,) to each of `rows`; infinite for what has no shape."""
    out = np.full(world.capacity, np.inf)
    solids = solids_of(world, rows)
    if len(solids.rows):
        np.minimum.at(out, solids.rows, _to_pieces(point, solids, compiled=world.compiled))
    for placed in surfaces_of(world, rows):
        found, _, _ = placed.surface.tree.nearest(point[None], np.array([np.inf]))
        out[placed.row] = min(out[placed.row], float(found[0]))
    return out[rows]


def entity_distances(world: World, row: int, others: Rows, limit: float, exact: ExactSolver) -> Floats:
    """Return the signed distances (N,) from the entity in `row` to `others`, which may be infinite above `limit`.

    Pairs of simple shapes are computed here; for the others `exact` is asked, which may need PyBullet.
    """
    mine, theirs = solids_of(world, np.array([row])), solids_of(world, others)
    rough = np.zeros(world.capacity, bool)
    # No formula covers the triangles of a surface: `exact` is asked for those.
    rough[[placed.row for placed in surfaces_of(world, others)]] = True
    if surfaces_of(world, np.array([row])):
        rough[:] = True
    out = np.full(world.capacity, np.inf)
    if len(mine.rows) and len(theirs.rows):
        first = np.repeat(np.arange(len(mine.rows)), len(theirs.rows))
        second = np.tile(np.arange(len(theirs.rows)), len(mine.rows))
        pairs = _arrays(mine.take(first)), _arrays(theirs.take(second))
        distances, open_mask = distances_between(*pairs, compiled=world.compiled)
        rows = theirs.rows[second]
        rough[rows[open_mask]] = True
        np.minimum.at(out, rows[~open_mask], distances[~open_mask])
    asked = others[rough[others] & (world.shape_kind[others] != ShapeKind.NONE)]
    if len(asked):
        out[asked] = exact(np.stack((np.full(len(asked), row), asked), axis=1), limit)
    return out[others]


def reach_of(world: World, row: int, others: Rows) -> float:
    """Return a distance in m that no two points of the entity in `row` and of `others` exceed; FAR without an end."""
    rows = np.append(others, row)
    lower, upper = world.aabb_lower[rows].min(axis=0), world.aabb_upper[rows].max(axis=0)
    size = upper - lower
    return float(np.sqrt((size * size).sum())) if np.isfinite(size).all() else FAR


def _to_pieces(point: Floats, solids: Solids, *, compiled: bool) -> Floats:
    """Return the distances (N,) in m of `point` (3,) to solids; to the box around what is made of unknown pieces."""
    count = len(solids.rows)
    here = ShapeArrays(
        np.full(count, ShapeKind.SPHERE, np.uint8),
        np.broadcast_to(point, (count, 3)).copy(),
        np.tile(np.array([0.0, 0.0, 0.0, 1.0]), (count, 1)),
        np.zeros((count, 3)),
        np.zeros(count),
    )
    hull_mask: Bools = np.array([hull is not None for hull in solids.hulls.tolist()], bool)
    shapes = _arrays(solids)
    # What is made of unknown pieces counts as the box around it.
    boxed_mask = (solids.kinds > ShapeKind.PLANE) & ~hull_mask
    shapes = shapes._replace(kinds=np.where(boxed_mask, np.uint8(ShapeKind.BOX), solids.kinds))
    distances, _ = distances_between(here, shapes, compiled=compiled)
    for index in np.flatnonzero(hull_mask).tolist():
        hull = solids.hulls[index]
        turn = quaternions.conjugate(solids.orientations[[index]])
        local = quaternions.rotate(turn, (point - solids.positions[index])[None])
        planes = hull_planes(hull)
        depth = float((planes[:, :3] @ local[0] - planes[:, 3]).max())
        # Inside the nearest face counts, outside the nearest point of the surface.
        if depth <= 0.0:
            distances[index] = depth
        else:
            distances[index] = hull_surface(hull).tree.nearest(local, np.array([np.inf]))[0][0]
    return distances


def _arrays(solids: Solids) -> ShapeArrays:
    return ShapeArrays(solids.kinds, solids.positions, solids.orientations, solids.half_extents, solids.radii)


# What rays of `sim.queries` met.


@dataclass(frozen=True, eq=False)
class RayHits:
    """The first hits of N rays, ray by ray.

    `distances` (N,) in m, infinite for nothing; `points` and unit `normals` (N, 3) in the world, NaN for nothing;
    `object_ids` and `links` (N,), -1 for nothing and for the floor, where links count from -1, the base.
    """

    distances: Floats
    points: Floats
    normals: Floats
    object_ids: Ints
    links: Ints
    _rows: Rows
    _world: World

    @cached_property
    def hit_mask(self) -> Bools:
        """Which rays (N,) met anything."""
        return np.isfinite(self.distances)

    @property
    def entities(self) -> list[Any]:
        """The entities met (N), None for nothing and for the floor."""
        return [None if row < 0 else self._world.handles[row] for row in self._rows.tolist()]

    def __len__(self) -> int:
        return len(self.distances)


Kinds = Literal["all", "agents", "objects"]
Ignored = Handle | Iterable[Handle]


class Near(NamedTuple):
    """An entity and the distance to it in m, negative where the two overlap."""

    entity: Any
    distance: float


class SpatialQueries:
    """Queries about entities at their current poses.

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

        Infinite where one has no collision shape. Robots and meshes are measured shape by shape.
        """
        if not isinstance(first, Handle):
            first, second = second, first
        if not isinstance(first, Handle):
            raise InvalidValueError("distance: one of the two must be an entity, the other an entity or a point")
        return float(self._distances(second, np.array([self._row(first)]), None)[0])

    def closest(self, target: Any, max_distance: float, *, kinds: Kinds = "all", ignore: Ignored = ()) -> list[Near]:
        """Return the entities within `max_distance` m of `target`, an entity or a point (3,), the nearest first.

        Distances are those of `distance`; an entity is not among its own neighbours.
        """
        reach = as_float(max_distance, "max_distance in m", low=0.0)
        rows = self._rows(kinds, ignore)
        if isinstance(target, Handle):
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

    def closest_points(self, first: Handle, second: Handle, max_distance: float = 0.0) -> list[NearPoint]:
        """Return where shapes of two entities are at most `max_distance` m apart: a point for each pair of shapes.

        As PyBullet's `getClosestPoints`, with its margins, for kinematic bodies too: robots shape by shape of their
        links, in the order of their files.
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
        if not isinstance(target, Handle):
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
        left_out = [self._row(entity) for entity in ([ignore] if isinstance(ignore, Handle) else ignore)]
        return rows[~np.isin(rows, left_out)] if left_out else rows

    def _row(self, entity: object) -> int:
        if not isinstance(entity, Handle) or entity.world is not self._world:
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
