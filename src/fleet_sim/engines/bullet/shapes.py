"""PyBullet's shapes: one per distinct geometry, and those of bodies that users make themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import is_file, to_read
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.client import BulletClient
from fleet_sim.models.meshes import mesh as primitives
from fleet_sim.models.meshes.formats import FORMATS
from fleet_sim.models.meshes.loading import load_mesh, version_of
from fleet_sim.models.meshes.mesh import Mesh
from fleet_sim.world.shapes import Geometry, RobotModel

# Mesh files that PyBullet has read.


# For all clients, as is what PyBullet keeps of the files.
_read: dict[str, int] = {}


def mesh_version(client: BulletClient, geometry: Geometry) -> int:
    """Return the version of the mesh file of `geometry`, 0 for other kinds; a file that changed is read again."""
    if geometry.kind != ShapeKind.MESH:
        return 0
    version = version_of(geometry.mesh_path)
    if _read.setdefault(geometry.mesh_path, version) != version:
        _read[geometry.mesh_path] = version
        # PyBullet keeps what it has read by the name of the file; switching this off forgets it.
        for on in (0, 1):
            client.setPhysicsEngineParameter(enableFileCaching=on)
    return version


def renew_meshes(client: BulletClient, model: RobotModel) -> None:
    """Let PyBullet read the mesh files of `model` again that changed since it read them."""
    for piece in (*model.visuals, *model.collisions):
        mesh_version(client, piece.geometry)


NO_SHAPE = -1
_PLANE_HALF_SIZE = 100.0
_CAPSULE_LEVEL = 1
"""Level of detail of capsules; coarse, as each triangle adds to the time of an image."""

_MOST_VERTICES = 131_072
"""PyBullet takes no more vertices as numbers; a larger mesh is drawn from its file, from one side."""

# Without a visual shape PyBullet draws the collision shape, which is slower.
_INVISIBLE = Geometry(ShapeKind.BOX, half_extents=(1e-4, 1e-4, 1e-4), rgba=(1.0, 1.0, 1.0, 0.0))


class ShapeCache:
    """Shape ids by geometry and version of its mesh file, for one client.

    The cache is cleared when the client begins a new epoch.
    """

    def __init__(self, client: BulletClient) -> None:
        self._client = client
        self._epoch = client.epoch
        self._collisions: dict[tuple[Any, ...], int] = {}
        self._visuals: dict[tuple[Geometry, int], int] = {}

    def collision(self, geometry: Geometry | None) -> int:
        """Return the collision shape of `geometry`, -1 for none; raises InvalidValueError for an unusable mesh."""
        self._renew()
        if geometry is None or geometry.kind == ShapeKind.NONE:
            return NO_SHAPE
        # Without the color, which does not matter for collisions.
        key = (geometry.kind, geometry.half_extents, geometry.radius, geometry.height, geometry.mesh_path,
               geometry.mesh_scale, geometry.position, geometry.orientation, geometry.concave,
               mesh_version(self._client, geometry))  # fmt: skip
        shape = self._collisions.get(key)
        if shape is None:
            shape = self._collisions[key] = self._make_collision(geometry)
        return shape

    def visual(self, geometry: Geometry | None) -> int:
        """Return the visual shape of `geometry`, an invisible one for none.

        Raises InvalidValueError for an unusable mesh.
        """
        self._renew()
        if geometry is None or geometry.kind == ShapeKind.NONE:
            geometry = _INVISIBLE
        key = geometry, mesh_version(self._client, geometry)
        shape = self._visuals.get(key)
        if shape is None:
            shape = self._visuals[key] = self._make_visual(geometry)
        return shape

    def _renew(self) -> None:
        if self._epoch != self._client.epoch:
            self._collisions.clear()
            self._visuals.clear()
            self._epoch = self._client.epoch

    def _make_collision(self, geometry: Geometry) -> int:
        """Return PyBullet's number of a new collision shape; raises InvalidValueError for what PyBullet cannot load.

        Planes keep their normal along z; a concave mesh collides as its triangles, other meshes as their convex hull.
        """
        client = self._client
        placed = {"collisionFramePosition": geometry.position, "collisionFrameOrientation": geometry.orientation}
        arguments = self._dimensions(geometry)
        if geometry.kind == ShapeKind.PLANE:
            arguments = {"shapeType": client.GEOM_PLANE, "planeNormal": (0.0, 0.0, 1.0)}
        elif "length" in arguments:
            arguments["height"] = arguments.pop("length")
        if geometry.concave:
            arguments["flags"] = client.GEOM_FORCE_CONCAVE_TRIMESH
        try:
            return int(client.createCollisionShape(**arguments, **placed))
        except client.module.error as error:
            raise _unusable(geometry, "collision", error) from error

    def _make_visual(self, geometry: Geometry) -> int:
        """Return PyBullet's number of a new visual shape; raises InvalidValueError for what PyBullet cannot load.

        What PyBullet draws wrongly is drawn as something else: capsules as meshes, planes as wide thin boxes, concave
        meshes from both sides.
        """
        client = self._client
        arguments = self._dimensions(geometry)
        position = geometry.position
        if geometry.kind == ShapeKind.CAPSULE:
            # PyBullet draws a capsule with pointed ends.
            arguments = self._triangles(primitives.capsule(_CAPSULE_LEVEL, geometry.radius, geometry.height))
        if geometry.concave:
            # PyBullet draws what faces the camera only; walls are seen from both sides.
            both = self._triangles(load_mesh(geometry.mesh_path).two_sided())
            if len(both["vertices"]) <= _MOST_VERTICES:
                arguments = {**both, "meshScale": geometry.mesh_scale}
        if geometry.kind == ShapeKind.PLANE:
            # PyBullet cannot draw its plane shape; a thin wide box is drawn instead.
            arguments = {"shapeType": client.GEOM_BOX, "halfExtents": (_PLANE_HALF_SIZE, _PLANE_HALF_SIZE, 1e-3)}
        placed = {"visualFramePosition": position, "visualFrameOrientation": geometry.orientation}
        try:
            return int(client.createVisualShape(**arguments, **placed, rgbaColor=geometry.rgba))
        except client.module.error as error:
            raise _unusable(geometry, "visual", error) from error

    def _triangles(self, mesh: Mesh) -> dict[str, Any]:
        """Return the arguments of createVisualShape for a mesh, without its materials."""
        drawables = [part.drawable() for part in mesh.parts]
        vertices = np.concatenate([drawable.vertices for drawable in drawables])
        firsts = np.cumsum([0, *(len(drawable.vertices) for drawable in drawables[:-1])])
        triangles = np.concatenate(
            [drawable.triangles + first for drawable, first in zip(drawables, firsts, strict=True)]
        )
        return {
            "shapeType": self._client.GEOM_MESH,
            "vertices": vertices[:, :3].tolist(),
            "normals": vertices[:, 3:6].tolist(),
            "uvs": vertices[:, 6:].tolist(),
            "indices": triangles.reshape(-1).tolist(),
        }

    def _dimensions(self, geometry: Geometry) -> dict[str, Any]:
        """Return the arguments of createVisualShape that describe the size."""
        client = self._client
        kind = geometry.kind
        if kind == ShapeKind.BOX:
            return {"shapeType": client.GEOM_BOX, "halfExtents": geometry.half_extents}
        if kind == ShapeKind.SPHERE:
            return {"shapeType": client.GEOM_SPHERE, "radius": geometry.radius}
        if kind == ShapeKind.CYLINDER:
            return {"shapeType": client.GEOM_CYLINDER, "radius": geometry.radius, "length": geometry.height}
        if kind == ShapeKind.CAPSULE:
            return {"shapeType": client.GEOM_CAPSULE, "radius": geometry.radius, "length": geometry.height}
        if kind == ShapeKind.MESH:
            check_file(geometry.mesh_path, "mesh")
            return {
                "shapeType": client.GEOM_MESH,
                "fileName": str(to_read(geometry.mesh_path)),
                "meshScale": geometry.mesh_scale,
            }
        if kind == ShapeKind.PLANE:
            return {}
        raise InvalidValueError(f"shape kind {kind!r} has no geometry of its own; allowed: box, sphere, cylinder, "
                                "capsule, plane, mesh")  # fmt: skip


def check_file(path: str, what: str) -> None:
    """Raise InvalidValueError unless `path` is a file."""
    if not is_file(path):
        raise InvalidValueError(f"{what} file {path!r} does not exist; give the path of an existing file")


def _unusable(geometry: Geometry, use: str, error: Exception) -> InvalidValueError:
    name = ShapeKind(geometry.kind).name.lower()
    source = f" from {geometry.mesh_path!r}" if geometry.mesh_path else ""
    return InvalidValueError(
        f"PyBullet cannot make the {use} shape {name}{source}: {error}. It reads .obj and .stl, and .dae in robot "
        "descriptions only"
    )


# What PyBullet tells about the shapes of bodies it has: simple shapes, and colors.


ShapeColor = tuple[int, int, tuple[float, ...]]
"""A link, the number of a shape among the visual shapes of that link, and its rgba."""


def told_geometry(client: BulletClient, kind: int, sizes: Sequence[float], name: bytes) -> Geometry | None:
    """Return a shape as `getCollisionShapeData` and `getVisualShapeData` tell it; None for what they do not tell.

    A box has its side lengths in `sizes`, a sphere its radius, a cylinder and a capsule height and radius, a plane its
    normal, a mesh its scale. Meshes are known by their file.
    """
    first, second, third = sizes
    if kind == client.GEOM_BOX:
        return Geometry(ShapeKind.BOX, half_extents=(0.5 * first, 0.5 * second, 0.5 * third))
    if kind == client.GEOM_SPHERE:
        return Geometry(ShapeKind.SPHERE, radius=first)
    if kind == client.GEOM_CYLINDER:
        return Geometry(ShapeKind.CYLINDER, height=first, radius=second)
    if kind == client.GEOM_CAPSULE:
        return Geometry(ShapeKind.CAPSULE, height=first, radius=second)
    if kind == client.GEOM_PLANE and (first, second) == (0.0, 0.0) and third > 0.0:
        return Geometry(ShapeKind.PLANE)
    file = Path(name.decode(errors="replace"))
    if kind == client.GEOM_MESH and file.suffix.lower() in FORMATS and is_file(file):
        return Geometry(ShapeKind.MESH, mesh_path=str(file.resolve()), mesh_scale=(first, second, third))
    return None


def shape_colors(client: BulletClient, body: int) -> list[ShapeColor]:
    """Return the present colors of all visual shapes of `body`, as `changeVisualShape` names the shapes."""
    # changeVisualShape wants a shape's number within its link, but getVisualShapeData lists shapes without it.
    counts: Counter[int] = Counter()
    colors: list[ShapeColor] = []
    for shape in client.getVisualShapeData(body):
        link = int(shape[1])
        colors.append((link, counts[link], tuple(shape[7])))
        counts[link] += 1
    return colors
