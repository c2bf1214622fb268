"""What rays can meet in a world: convex pieces, surfaces and the floor, as arrays.

Convex pieces come first, then surfaces. Planes have no end, so no box is around them. Equal hulls and equal surfaces
share their data.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, Ints, Rows
from fleet_sim.core.robot_model import BASE
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.meshes.hulls import Hull, hull_planes
from fleet_sim.sensors.solids import Solids, solids_of
from fleet_sim.sensors.surfaces import LocalSurfaces, local_surfaces
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.box_tree import BoxTree
from fleet_sim.spatial.shapes import ShapeKind
from fleet_sim.spatial.triangles import Surface

BOX, SPHERE, CYLINDER, CAPSULE = (int(kind) for kind in list(ShapeKind)[1:5])
PLANE, HULL, SURFACE = int(ShapeKind.PLANE), int(ShapeKind.MESH), int(ShapeKind.COMPOUND) + 1
"""Kinds of targets. What only the box around it is known of is a box."""
FIRST, LAST, TRIANGLES, PER_LEAF = range(4)
"""Columns of `Targets.parts`: the planes of a hull, or the boxes of a surface and its first triangle."""
_LEAF = 2
_SLACK = 1e-9
"""Share by which the boxes around pieces are too large, so that none is missed by rounding."""


class Targets(NamedTuple):
    """P things that rays can meet, surfaces last; of several at one distance a ray meets the first.

    `kinds` (P,), `rows` (-1: the floor) and `links` (P,); `frames` (P, 12) are rotations to the world, then positions,
    and `sizes` (P, 4) half extents and radius in m. `parts` (P, 4), with the columns above, are where the data of hulls
    and surfaces are: of all hulls the sides, `planes` (F, 4), of all surfaces the trees: `boxes` (B, 6), `triangles`
    (T, 9) and their numbers `order` (T,), see `RayTree`; all in their own frames. `lower` and `upper` (P, 3) are
    corners of boxes around targets in the world.
    """

    kinds: Ints
    rows: Rows
    links: Ints
    frames: Floats
    sizes: Floats
    parts: Ints
    planes: Floats
    boxes: Floats
    triangles: Floats
    order: Ints
    lower: Floats
    upper: Floats


class Sorted(NamedTuple):
    """Which targets rays have to look at: `endless` (E,), and in a tree of `boxes` (B, 6) `leaf` for each leaf.

    The leaves have the targets `order` (L,), one after the other; see `BoxTree.flat`.
    """

    endless: Ints
    boxes: Floats
    order: Ints
    leaf: int


def targets_of(world: World, rows: Rows | None = None, *, floor: bool) -> tuple[Targets, tuple[Surface, ...]]:
    """Return what is of the living entities in `rows` (None: of all), where they are now, and the surfaces among it.

    With `floor` the first target is the plane z = 0. Raises InvalidValueError for an unusable mesh file.
    """
    surfaces, solids = local_surfaces(world, rows), solids_of(world, rows)
    if floor:
        solids = _with_floor(solids)
    kinds, hulls = _kinds_and_hulls(solids)
    parts = np.zeros((len(kinds), 4), np.int64)
    # Each hull once. The tuple is the same until shapes come or go, so the packed ones are found in the cache.
    planes, firsts = _packed_hulls(tuple(dict.fromkeys(hulls)))
    for index, hull in zip(np.flatnonzero(kinds == HULL).tolist(), hulls, strict=True):
        parts[index, :2] = firsts[hull]
    frames, sizes = _frames(solids.positions, solids.orientations), np.column_stack((solids.half_extents, solids.radii))
    columns: list[AnyArray] = [kinds, solids.rows, solids.links, frames, sizes, parts]
    columns += _bounds(kinds, frames, solids.half_extents, frames[:, 9:])
    boxes, triangles, order, tops, trees = _packed_surfaces(surfaces.surfaces)
    if len(tops):
        columns = [np.concatenate(pair) for pair in zip(columns, _of_surfaces(surfaces, tops, trees), strict=True)]
    kinds, rows, links, frames, sizes, parts, lower, upper = columns
    packed = planes, boxes, triangles, order
    return Targets(kinds, rows, links, frames, sizes, parts, *packed, lower, upper), surfaces.surfaces


def _frames(positions: Floats, orientations: Floats) -> Floats:
    return np.concatenate((quaternions.to_matrices(orientations).reshape(-1, 9), positions), axis=1)


def _of_surfaces(surfaces: LocalSurfaces, tops: Floats, parts: Ints) -> list[AnyArray]:
    """Return the columns of targets for surfaces with topmost boxes `tops` (S, 6): the first six, and bounds."""
    count = len(tops)
    frames, kinds = _frames(surfaces.positions, surfaces.orientations), np.full(count, SURFACE)
    middles = 0.5 * (tops[:, :3] + tops[:, 3:])
    centres = surfaces.positions + quaternions.rotate(surfaces.orientations, middles)
    bounds = _bounds(kinds, frames, 0.5 * (tops[:, 3:] - tops[:, :3]), centres)
    return [kinds, surfaces.rows, surfaces.links, frames, np.zeros((count, 4)), parts, *bounds]


def _with_floor(solids: Solids) -> Solids:
    plane = np.array([PLANE], np.uint8)
    at, turn, none = np.zeros((1, 3)), quaternions.IDENTITY[None], np.full(1, None, object)
    parts = [Solids(np.array([NO_ROW]), plane, at, turn, at, np.zeros(1), none, np.array([BASE])), solids]
    columns: list[AnyArray] = [np.concatenate(values) for values in zip(*parts, strict=True)]
    return Solids(*columns)


def _kinds_and_hulls(solids: Solids) -> tuple[Ints, list[Hull]]:
    """Return the kinds (P,) of pieces, and in their order the hulls of those that have one."""
    kinds = solids.kinds.astype(np.int64)
    unusual = np.flatnonzero(kinds > PLANE)
    found = solids.hulls[unusual].tolist()
    # Of what has no hull, the box around it is met.
    kinds[unusual] = [BOX if hull is None else HULL for hull in found]
    return kinds, [hull for hull in found if hull is not None]


@lru_cache(maxsize=16)
def _packed_hulls(hulls: tuple[Hull, ...]) -> tuple[Floats, dict[Hull, tuple[int, int]]]:
    """Return the sides (F, 4) of hulls, and the first and the end of those of each."""
    planes = [np.zeros((0, 4)), *(hull_planes(hull) for hull in hulls)]
    ends = np.cumsum([len(part) for part in planes]).tolist()
    return np.concatenate(planes), {hull: (ends[index], ends[index + 1]) for index, hull in enumerate(hulls)}


@lru_cache(maxsize=16)
def _packed_surfaces(surfaces: tuple[Surface, ...]) -> tuple[Floats, Floats, Ints, Floats, Ints]:
    """Return the trees of surfaces one after the other, `boxes`, `triangles`, `order`, each surface's topmost box and
    its `parts`, (S, 6) and (S, 4). Equal surfaces share a tree.
    """
    numbers = {surface: number for number, surface in enumerate(dict.fromkeys(surfaces))}
    trees = [surface.tree.for_rays() for surface in numbers]
    parts = np.zeros((len(trees), 4), np.int64)
    parts[:, LAST] = np.cumsum([len(tree.boxes) for tree in trees])
    parts[1:, FIRST] = parts[:-1, LAST]
    parts[1:, TRIANGLES] = np.cumsum([len(tree.order) for tree in trees])[:-1]
    parts[:, PER_LEAF] = [tree.leaf for tree in trees]
    # Back from trees, each once, to all surfaces.
    parts = parts[[numbers[surface] for surface in surfaces]]
    boxes = np.concatenate([np.zeros((0, 6)), *(tree.boxes for tree in trees)])
    triangles = np.concatenate([np.zeros((0, 9)), *(tree.triangles for tree in trees)])
    order = np.concatenate([np.zeros(0, np.int64), *(tree.order for tree in trees)])
    return boxes, triangles, order, boxes[parts[:, FIRST]], parts


def _bounds(kinds: Ints, frames: Floats, half: Floats, centres: Floats) -> tuple[Floats, Floats]:
    """Return the corners (P, 3), (P, 3) of world boxes around boxes with `half` extents, a little larger than those."""
    turns = np.abs(frames[:, :9].reshape(-1, 3, 3))
    # |R| times the half extents: how far a turned box reaches along each axis of the world.
    sides = turns[:, :, 0] * half[:, 0, None] + turns[:, :, 1] * half[:, 1, None] + turns[:, :, 2] * half[:, 2, None]
    sides += _SLACK * (1.0 + sides + np.abs(centres))
    sides[kinds == PLANE] = np.inf
    return centres - sides, centres + sides


def sorted_near(targets: Targets, lower: Floats, upper: Floats) -> tuple[Ints, BoxTree | None, Ints]:
    """Return the targets without an end, and a tree of those others that reach into the box from `lower` to `upper`
    (3,), None for none; and their numbers, as the tree counts them.
    """
    endless_mask = targets.kinds == PLANE
    near_mask = (targets.lower <= upper).all(axis=1) & (targets.upper >= lower).all(axis=1) & ~endless_mask
    near = np.flatnonzero(near_mask)
    tree = BoxTree(targets.lower[near], targets.upper[near], leaf=_LEAF) if len(near) else None
    return np.flatnonzero(endless_mask), tree, near
