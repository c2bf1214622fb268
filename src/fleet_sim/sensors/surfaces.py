"""The surfaces of a world: collision shapes that are triangles, with room inside, where they are now."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.core.robot_model import BASE, LinkGeometry
from fleet_sim.core.world import World
from fleet_sim.meshes.triangles import MeshTriangles, triangles_of
from fleet_sim.spatial import poses, quaternions
from fleet_sim.spatial.triangles import Surface

_KEPT = 256
"""Number of posed surfaces that are kept: they are costly to make, and seldom move."""


class PlacedSurface(NamedTuple):
    """A surface of the entity in `row`, on its link `link` (-1: the base)."""

    row: int
    link: int
    surface: Surface


class LocalSurfaces(NamedTuple):
    """Surfaces S of entities `rows`, on their `links` (-1: the base), in frames with `positions` (S, 3) and
    `orientations` (S, 4).
    """

    rows: Rows
    links: Ints
    positions: Floats
    orientations: Floats
    surfaces: tuple[Surface, ...]


def surfaces_of(world: World, rows: Rows | None = None) -> list[PlacedSurface]:
    """Return the surfaces of the living entities in `rows` (None: of all), where they are now, in order of rows.

    What has a convex shape is not among them, see `solids_of`. Raises InvalidValueError for an unusable mesh file.
    """
    return [PlacedSurface(row, piece.link, _placed(world, row, piece)) for row, piece in _concave(world, rows)]


def local_surfaces(world: World, rows: Rows | None = None) -> LocalSurfaces:
    """Return the same surfaces in frames of their own: nothing is made anew where they move, and equal ones are one.

    Raises InvalidValueError for an unusable mesh file.
    """
    found = _concave(world, rows)
    owners, links = (
        np.array([row for row, _ in found], np.int64),
        np.array([piece.link for _, piece in found], np.int64),
    )
    geometries = [piece.geometry for _, piece in found]
    # Two dimensions also where there is nothing.
    local = (
        np.array([geometry.position for geometry in geometries], np.float64).reshape(-1, 3),
        np.array([geometry.orientation for geometry in geometries], np.float64).reshape(-1, 4),
    )
    positions, orientations = poses.compose(*world.link_poses(owners, links), *local) if found else local
    surfaces = tuple(_local(triangles_of(geometry)) for geometry in geometries)
    return LocalSurfaces(owners, links, positions, orientations, surfaces)


@lru_cache(maxsize=256)
def _local(mesh: MeshTriangles) -> Surface:
    return Surface(mesh.corners)


def _concave(world: World, rows: Rows | None) -> list[tuple[int, LinkGeometry]]:
    """Return the rows that have concave collision shapes, with each of those."""
    shapes, models = world.shapes.concave, [number for number, model in enumerate(world.models) if model.concave]
    # The usual case: nobody looks at rows where nothing was ever concave.
    if not shapes and not models:
        return []
    chosen = np.flatnonzero(world.alive) if rows is None else rows
    of_models = world.robots.model[chosen]
    # Where there is a model, its links have the shapes.
    found_mask = np.isin(of_models, models) | (np.isin(world.shape_id[chosen], shapes) & (of_models < 0))
    return [(row, piece) for row in chosen[found_mask].tolist() for piece in concave_pieces(world, row)]


def concave_pieces(world: World, row: int) -> tuple[LinkGeometry, ...]:
    """Return the concave collision shapes of the entity in `row`."""
    model = world.model_of(row)
    if model is not None:
        return model.concave
    shape_id = int(world.shape_id[row])
    shape = world.shapes[shape_id].collision if shape_id >= 0 else None
    return (LinkGeometry(BASE, shape),) if shape is not None and shape.concave else ()


def _placed(world: World, row: int, piece: LinkGeometry) -> Surface:
    rows, links = np.array([row]), np.array([piece.link])
    local = np.array([piece.geometry.position]), np.array([piece.geometry.orientation])
    position, orientation = poses.compose(*world.link_poses(rows, links), *local)
    return _posed(triangles_of(piece.geometry), tuple(position[0].tolist()), tuple(orientation[0].tolist()))


@lru_cache(maxsize=_KEPT)
def _posed(mesh: MeshTriangles, position: tuple[float, ...], orientation: tuple[float, ...]) -> Surface:
    corners = mesh.corners.reshape(-1, 3)
    orientations = np.broadcast_to(np.array(orientation), (len(corners), 4))
    return Surface((quaternions.rotate(orientations, corners) + np.array(position)).reshape(-1, 3, 3))


def nearer_on_surfaces(surfaces: Sequence[PlacedSurface], rows: Rows, points: Floats, nearest: Floats) -> Floats:
    """Return `nearest` (K, 3), or the point of a surface of the entity `rows[k]` that is nearer to `points[k]`, (K, 3).

    NaN in `nearest` is no point.
    """
    out = nearest.copy()
    for placed in surfaces:
        asked = np.flatnonzero(rows == placed.row)
        away = out[asked] - points[asked]
        gaps = np.sqrt((away * away).sum(axis=1))
        reach = np.where(np.isnan(gaps), np.inf, gaps)
        # Searched no farther than what is known already.
        found_distances, found, _ = placed.surface.tree.nearest(points[asked], reach)
        nearer = np.flatnonzero(found_distances < reach)
        out[asked[nearer]] = found[nearer]
    return out
