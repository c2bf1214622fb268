"""Collision geometries as geoms of an mjSpec, and the inertia of bodies made of them.

A mesh collides as its convex hull, of at most MOST_HULL_POINTS corners; a concave one as `plates`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.mujoco.bound import mujoco_module
from fleet_sim.models.meshes.loading import load_mesh, version_of
from fleet_sim.world.shapes import Geometry

# Concave meshes as MuJoCo can have them: thin plates, one for each flat convex part of the surface. Triangles of one
# plane are merged where their union is convex. Corners that are very near are one, so that neighbors are found in
# files that repeat each corner.


HALF_THICKNESS = 5e-5
"""Of a plate, in m, to both sides of the surface: things rest this far from it, whichever side it is seen from."""
MOST_PLATES = 20_000
"""In one mesh. Compiling a model takes 0.1 s for each thousand of them, and contacts near small ones get slow."""
_FLAT = 1e-6
"""Sine of the angle between triangles that are parts of one plate."""
_AREA = 1e-9
"""Share of the area of a plate that its hull may be larger, by rounding."""
_WELD = 1e-7
"""Corners nearer to each other than this share of the mesh's size are one."""


class _Polygon(NamedTuple):
    """A convex part of a plane: its corners, as numbers of points in order, and its area."""

    corners: tuple[int, ...]
    area: float


@lru_cache(maxsize=64)
def plates(path: str, scale: tuple[float, float, float], _changed: int) -> tuple[Floats, ...]:
    """Return the corners (N, 3) of the plates that a concave mesh file is made of, in the frame of the file.

    Neighbours that lie in a plane are one plate where that is convex, so that what lies on a floor does not lie on the
    seams of its triangles. Raises InvalidValueError for a mesh without area, or of more than MOST_PLATES plates.
    """
    points, triangles = _welded(path, np.array(scale))
    edges = points[triangles[:, 1]] - points[triangles[:, 0]], points[triangles[:, 2]] - points[triangles[:, 0]]
    normals = np.cross(*edges)
    # The length of the cross product is twice the area.
    doubled = np.linalg.norm(normals, axis=1)
    broad_mask = doubled > 1e-12
    triangles, doubled = triangles[broad_mask], doubled[broad_mask]
    if not len(triangles):
        raise InvalidValueError(f"the concave mesh {path!r} has no triangle with an area")
    normals = normals[broad_mask] / doubled[:, None]
    found = _merged(points, triangles, normals, 0.5 * doubled)
    if len(found) > MOST_PLATES:
        raise InvalidValueError(
            f"the concave mesh {path!r} has {len(found)} flat parts, and MuJoCo takes {MOST_PLATES}; use a coarser "
            "mesh, or engine: bullet"
        )
    # Thin plates to both sides of the surface: MuJoCo has no surfaces.
    shift = HALF_THICKNESS * normals
    return tuple(
        np.concatenate((points[list(polygon.corners)] + shift[first], points[list(polygon.corners)] - shift[first]))
        for first, polygon in found.items()
    )


def _welded(path: str, scale: Floats) -> tuple[Floats, Ints]:
    """Return all points (V, 3), each once, and the triangles (T, 3) between them."""
    parts, first, triangles = load_mesh(path).parts, 0, []
    for part in parts:
        triangles.append(part.triangles + first)
        first += len(part.positions)
    points = np.concatenate([part.positions for part in parts]) * scale
    # Corners of a share of the mesh's size are one, as files store them triangle by triangle.
    grid = _WELD * max(float(np.ptp(points, axis=0).max()), 1e-9)
    _, at, numbers = np.unique(np.round(points / grid), axis=0, return_index=True, return_inverse=True)
    return points[at], numbers.reshape(-1)[np.concatenate(triangles)]


def _merged(points: Floats, triangles: Ints, normals: Floats, areas: Floats) -> dict[int, _Polygon]:
    """Return convex polygons that cover the triangles, each by the number of one of its triangles."""
    polygons = {
        number: _Polygon(tuple(corners), area)
        for number, (corners, area) in enumerate(zip(triangles.tolist(), areas.tolist(), strict=True))
    }
    into = list(range(len(triangles)))

    def owner(number: int) -> int:
        while into[number] != number:
            # Paths are shortened on the way, so that the next search is short.
            into[number] = into[into[number]]
            number = into[number]
        return number

    waiting = _flat_neighbours(triangles, normals)
    # Again while anything was merged: a pair that is not convex may be with a third.
    while waiting:
        left = []
        for one, other in waiting:
            first, second = owner(one), owner(other)
            if first == second:
                continue
            union = _union(points, normals[first], polygons[first], polygons[second])
            if union is None:
                left.append((first, second))
                continue
            polygons[first] = union
            into[second] = first
            del polygons[second]
        if len(left) == len(waiting):
            break
        waiting = left
    return polygons


def _flat_neighbours(triangles: Ints, normals: Floats) -> list[tuple[int, int]]:
    """Return the pairs of triangles that have an edge in common and lie in one plane."""
    sides: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for number, (a, b, c) in enumerate(triangles.tolist()):
        for one, other in ((a, b), (b, c), (c, a)):
            # By its ends, the smaller number first: both triangles name the same edge.
            sides[min(one, other), max(one, other)].append(number)
    # Where three meet, none of them is the one that goes on.
    pairs = np.array([found for found in sides.values() if len(found) == 2], np.int64).reshape(-1, 2)
    tilts = np.linalg.norm(np.cross(normals[pairs[:, 0]], normals[pairs[:, 1]]), axis=1)
    found = pairs[tilts < _FLAT]
    return [(one, other) for one, other in found.tolist()]


def _union(points: Floats, normal: Floats, one: _Polygon, other: _Polygon) -> _Polygon | None:
    """Return both as one polygon, or None where they are not convex together."""
    corners = list(dict.fromkeys((*one.corners, *other.corners)))
    # The axis that is least along the normal is never parallel to it.
    across = np.eye(3)[np.abs(normal).argmin()]
    u = np.cross(normal, across)
    u /= np.linalg.norm(u)
    flat = points[corners] @ np.stack((u, np.cross(normal, u)), axis=1)
    hull = _hull(flat)
    x, y = flat[hull].T
    area = 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))
    total = one.area + other.area
    # The hull of two parts that overlap, or have a gap between them, is not as large as both.
    if abs(area - total) > _AREA * total:
        return None
    return _Polygon(tuple(corners[index] for index in hull), total)


def _hull(flat: Floats) -> list[int]:
    """Return the corners of the hull of points (N, 2), in order."""
    order = sorted(range(len(flat)), key=lambda index: (flat[index, 0], flat[index, 1]))
    values = flat.tolist()

    def half(numbers: list[int]) -> list[int]:
        chain: list[int] = []
        for number in numbers:
            # A turn to the right, or none: the one before is no corner.
            while len(chain) > 1 and _turn(values[chain[-2]], values[chain[-1]], values[number]) <= 0.0:
                chain.pop()
            chain.append(number)
        return chain[:-1]

    return half(order) + half(order[::-1])


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


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
