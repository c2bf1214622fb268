"""Collision geometries as geoms of an mjSpec, and the inertia of bodies made of them.

A mesh collides as its convex hull, of at most MOST_HULL_POINTS corners; a concave one as the plates of `sheets.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.shapes import Geometry
from fleet_sim.errors import InvalidValueError
from fleet_sim.meshes.loading import load_mesh, version_of
from fleet_sim.mujoco.module import mujoco_module
from fleet_sim.mujoco.sheets import plates
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.shapes import ShapeKind

MOST_HULL_POINTS = 64
"""Corners of the hull that a mesh collides as; more would make each contact slower and hardly truer."""


class GeomMaker:
    """Adds geoms to bodies of one spec; meshes of equal file and scale are one asset."""

    def __init__(self, spec: Any) -> None:
        self._spec = spec
        self._mujoco = mujoco_module()
        self._meshes: dict[tuple[str, tuple[float, ...], int, bool], list[str]] = {}

    def add(self, body: Any, geometry: Geometry, **options: Any) -> list[Any]:
        """Add `geometry`, in the frame of `body`, and return its geoms: one, or of a concave mesh one for each plate.

        Geoms weigh nothing: what is dynamic has its mass from elsewhere. Raises InvalidValueError for what has no
        shape, and for a mesh that is flat, broken, or of too many plates.
        """
        placed = {"pos": list(geometry.position), "quat": wxyz(geometry.orientation), "mass": 0.0, **options}
        return [body.add_geom(**sized, **placed) for sized in self._sized(geometry)]

    def _sized(self, geometry: Geometry) -> list[dict[str, Any]]:
        """Return the type and the size of each geom."""
        kinds = self._mujoco.mjtGeom
        kind, (x, y, z) = geometry.kind, geometry.half_extents
        sized: dict[str, Any]
        if kind == ShapeKind.BOX:
            sized = {"type": kinds.mjGEOM_BOX, "size": [x, y, z]}
        elif kind == ShapeKind.SPHERE:
            sized = {"type": kinds.mjGEOM_SPHERE, "size": [geometry.radius, 0.0, 0.0]}
        elif kind == ShapeKind.CYLINDER:
            # MuJoCo has half heights.
            sized = {"type": kinds.mjGEOM_CYLINDER, "size": [geometry.radius, 0.5 * geometry.height, 0.0]}
        elif kind == ShapeKind.CAPSULE:
            sized = {"type": kinds.mjGEOM_CAPSULE, "size": [geometry.radius, 0.5 * geometry.height, 0.0]}
        elif kind == ShapeKind.PLANE:
            # Infinite in both directions, with the grid of its drawing, which nobody sees.
            sized = {"type": kinds.mjGEOM_PLANE, "size": [0.0, 0.0, 1.0]}
        elif kind == ShapeKind.MESH:
            return [{"type": kinds.mjGEOM_MESH, "meshname": name} for name in self._names(geometry)]
        else:
            raise InvalidValueError(f"shape kind {kind!r} has no geometry of its own")
        return [sized]

    def _names(self, geometry: Geometry) -> list[str]:
        """Return the names of the convex meshes that a mesh consists of."""
        file = geometry.mesh_path, tuple(geometry.mesh_scale), version_of(geometry.mesh_path)
        names = self._meshes.get((*file, geometry.concave))
        if names is None:
            # A convex mesh is one part.
            parts = plates(*file) if geometry.concave else (hull_points(*file),)
            names = [f"mesh{len(self._meshes)}.{number}" for number in range(len(parts))]
            kinds = self._mujoco.mjtMeshInertia
            for name, points in zip(names, parts, strict=True):
                mesh = self._spec.add_mesh(name=name, uservert=points.ravel().tolist())
                # A thin plate has too little volume to be measured; nor does it move.
                mesh.inertia = kinds.mjMESH_INERTIA_SHELL if geometry.concave else kinds.mjMESH_INERTIA_CONVEX
            self._meshes[(*file, geometry.concave)] = names
        return names


@lru_cache(maxsize=256)
def hull_points(path: str, scale: tuple[float, float, float], _changed: int) -> Floats:
    """Return the corners (N, 3) of the hull of a mesh file; raises InvalidValueError for a flat or broken mesh."""
    mujoco = mujoco_module()
    points = load_mesh(path).points() * np.array(scale)
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(name="hull", uservert=points.ravel().tolist())
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    # MuJoCo makes the hull of a mesh when it compiles a model.
    mesh.maxhullvert = MOST_HULL_POINTS
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="hull")
    try:
        model = spec.compile()
    except ValueError as error:
        raise InvalidValueError(f"MuJoCo cannot make a hull of the mesh {path!r}: {error}") from error
    # The graph of a hull: two counts, then a list of edges per corner, then the corners' numbers in the mesh.
    graph = model.mesh_graph
    count = int(graph[0])
    corners = graph[2 + count : 2 + 2 * count]
    # The model has the mesh about its centre of mass; the frame of the file is back with its pose in the geom.
    turn = np.array([xyzw(model.geom_quat[0])])
    found = quaternions.rotate(np.repeat(turn, count, axis=0), model.mesh_vert[corners].astype(np.float64))
    return found + model.geom_pos[0]


def wxyz(quaternion: Sequence[float]) -> list[float]:
    """Return a quaternion in MuJoCo's order."""
    x, y, z, w = quaternion
    return [float(w), float(x), float(y), float(z)]


def xyzw(quaternion: Sequence[float]) -> list[float]:
    """Return a quaternion of MuJoCo in our order."""
    w, x, y, z = quaternion
    return [float(x), float(y), float(z), float(w)]


def extents(geometry: Geometry) -> tuple[Floats, Floats]:
    """Return centre and half extents (3,), (3,) of the box around `geometry` along the axes of its body."""
    half = np.array(geometry.half_extents)
    centre = np.zeros(3)
    if geometry.kind == ShapeKind.SPHERE:
        half = np.full(3, geometry.radius)
    elif geometry.kind == ShapeKind.CYLINDER:
        half = np.array([geometry.radius, geometry.radius, 0.5 * geometry.height])
    elif geometry.kind == ShapeKind.CAPSULE:
        half = np.array([geometry.radius, geometry.radius, 0.5 * geometry.height + geometry.radius])
    elif geometry.kind == ShapeKind.MESH:
        file = geometry.mesh_path, geometry.mesh_scale, version_of(geometry.mesh_path)
        points = np.concatenate(plates(*file)) if geometry.concave else hull_points(*file)
        lower, upper = points.min(axis=0), points.max(axis=0)
        centre, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    # |R| times the half extents: how far a turned box reaches along each axis.
    turn = np.array([geometry.orientation], np.float64)
    axes = quaternions.to_matrices(turn)[0]
    return np.array(geometry.position) + axes @ centre, np.abs(axes) @ half


def inertia_of(geometries: Sequence[Geometry], mass: float, centre: Floats, turn: Floats) -> Floats:
    """Return the principal inertia (3,) of `mass` in a frame at `centre`, `turn` of what collides as `geometries`.

    A single shape in the middle has its own; anything else that of the box around it all, as in PyBullet.
    """
    if len(geometries) == 1 and _is_centred(geometries[0], centre, turn):
        own = _own_inertia(geometries[0], mass)
        if own is not None:
            return own
    lower, upper = np.full(3, np.inf), np.full(3, -np.inf)
    # Into the frame of the principal axes.
    axes = quaternions.to_matrices(turn[None])[0].T
    for geometry in geometries:
        middle, half = extents(geometry)
        middle, half = axes @ (middle - centre), np.abs(axes) @ half
        lower, upper = np.minimum(lower, middle - half), np.maximum(upper, middle + half)
    return _box_inertia(0.5 * (upper - lower), mass)


def _is_centred(geometry: Geometry, centre: Floats, turn: Floats) -> bool:
    return bool(np.allclose(geometry.position, centre) and np.allclose(geometry.orientation, turn))


def _own_inertia(geometry: Geometry, mass: float) -> Floats | None:
    """Return the principal moments (3,) of a solid of even density about its centre; None where they are not known."""
    radius, height = geometry.radius, geometry.height
    if geometry.kind == ShapeKind.BOX:
        return _box_inertia(np.array(geometry.half_extents), mass)
    if geometry.kind == ShapeKind.SPHERE:
        return np.full(3, 0.4 * mass * radius**2)
    if geometry.kind == ShapeKind.CYLINDER:
        # Solid bodies of even density, as in any table of moments of inertia.
        across = mass * (3.0 * radius**2 + height**2) / 12.0
        return np.array([across, across, 0.5 * mass * radius**2])
    return None


def _box_inertia(half: Floats, mass: float) -> Floats:
    squares = (2.0 * half) ** 2
    return mass / 12.0 * np.array([squares[1] + squares[2], squares[0] + squares[2], squares[0] + squares[1]])
