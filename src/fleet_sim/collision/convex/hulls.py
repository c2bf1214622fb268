"""The corners of convex hulls as PyBullet has them, which are not quite those of the mesh."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.shapes import Geometry
from fleet_sim.meshes.hulls import hull_faces, outermost
from fleet_sim.meshes.loading import load_mesh, version_of
from fleet_sim.spatial import trigonometry as trig

_STEPS = 10216
"""Bullet moves the corners of a hull to a grid of so many cells along each axis, towards the middle."""
_SIDES = 32
"""A cylinder in a robot description is a prism with so many sides in Bullet."""
_FEW = 64
"""So many corners are looked through quickly; of more, those inside are left out."""


def mesh_corners(geometry: Geometry) -> Floats:
    """Return corners (K, 3) with the convex hull of a mesh, in its own frame; K may be a little larger than needed.

    Raises InvalidValueError for a file that cannot be read.
    """
    return _mesh_corners(geometry.mesh_path, geometry.mesh_scale, version_of(geometry.mesh_path))


@lru_cache(maxsize=256)
def _mesh_corners(path: str, scale: tuple[float, float, float], _changed: int) -> Floats:
    # PyBullet reads numbers of files as float32.
    points = load_mesh(path).points().astype(np.float32).astype(np.float64) * np.array(scale)
    return _on_grid(_outside(np.unique(points, axis=0)))


def prism_corners(radius: float, height: float) -> Floats:
    """Return the corners (64, 3) of the prism that stands for a cylinder along z."""
    angles = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    sines, cosines = trig.sin_cos(angles)
    ring = np.stack((radius * sines, radius * cosines), axis=1)
    top = np.column_stack((ring, np.full(_SIDES, 0.5 * height)))
    return _on_grid(np.concatenate((top, top * np.array([1.0, 1.0, -1.0]))))


def _outside(points: Floats) -> Floats:
    """Return `points` (N, 3) without most of those inside of their hull."""
    if len(points) <= _FEW:
        return points
    most = outermost(points)
    size = float((most.max(axis=0) - most.min(axis=0)).max())
    spread = np.linalg.svd(most - most.mean(axis=0), compute_uv=False)
    if spread[-1] <= 1e-9 * size:
        # Flat: there is no inside.
        return points
    faces = most[hull_faces(most)]
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    normals /= np.maximum(np.sqrt((normals * normals).sum(axis=1)), 1e-300)[:, None]
    offsets = (normals * faces[:, 0]).sum(axis=1)
    kept_mask = np.zeros(len(points), np.bool_)
    for normal, offset in zip(normals, offsets, strict=True):
        kept_mask |= (points * normal).sum(axis=1) - offset > -1e-9 * size
    return points[kept_mask]


def _on_grid(points: Floats) -> Floats:
    """Return `points` as Bullet's computation of hulls rounds them."""
    low, high = points.min(axis=0), points.max(axis=0)
    # Its steps, in its order: rounding decides to which side numbers on the grid fall.
    centre, step = (low + high) * 0.5, (high - low) * (1.0 / _STEPS)
    with np.errstate(divide="ignore"):
        inverse = np.where(step > 0.0, 1.0 / step, 0.0)
    return np.trunc((points - centre) * inverse) * step + centre
