"""PyBullet's shapes: one per distinct geometry, and those of bodies that users make themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import is_file, to_read
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.client import BulletClient
from fleet_sim.models.generated import height_field_file, mesh_file, read_triangles, read_vertices
from fleet_sim.models.meshes import mesh as primitives
from fleet_sim.models.meshes.loading import load_mesh, version_of
from fleet_sim.models.meshes.mesh import Mesh
from fleet_sim.world.shapes import BodyShape, Geometry, RobotModel, Vector, seen_as

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


def simple_geometry(client: BulletClient, kind: int, sizes: Sequence[float]) -> Geometry | None:
    """Return a simple shape as `getCollisionShapeData` and `getVisualShapeData` tell it; None for other kinds.

    A box has its side lengths in `sizes`, a sphere its radius, a cylinder and a capsule height and radius.
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


# The shapes of bodies that users make themselves: so that what does not ask PyBullet sees these bodies, too. PyBullet
# tells the form of simple shapes only, neither the triangles of a mesh nor the heights of a height field. So the
# calls that make shapes through `sim.bullet` are remembered.


_COMMON = ("shapeType", "radius", "halfExtents")
_COLLISION = (*_COMMON, "height", "fileName", "meshScale", "planeNormal", "flags", "collisionFramePosition",
              "collisionFrameOrientation")  # fmt: skip
_VISUAL = (*_COMMON, "length", "fileName", "meshScale", "planeNormal", "flags", "rgbaColor", "specularColor",
           "visualFramePosition", "visualFrameOrientation")  # fmt: skip
_BODY = ("baseMass", "baseCollisionShapeIndex", "baseVisualShapeIndex", "basePosition", "baseOrientation",
         "baseInertialFramePosition", "baseInertialFrameOrientation")  # fmt: skip
PARAMETERS = {"createCollisionShape": _COLLISION, "createVisualShape": _VISUAL, "createMultiBody": _BODY}
"""The calls that are remembered, and their parameters in order, as far as anybody gives them by position."""

_SIMPLE = ("BOX", "SPHERE", "CYLINDER", "CAPSULE")


class OwnShapes:
    """What the user has made in one client: shapes and bodies by PyBullet's numbers."""

    def __init__(self, client: BulletClient) -> None:
        self._client = client
        self._epoch = client.epoch
        # By call: PyBullet counts collision shapes, visual shapes and bodies apart.
        self._made: dict[str, dict[int, Mapping[str, Any]]] = {call: {} for call in PARAMETERS}

    def remember(self, call: str, args: Sequence[Any], kwargs: Mapping[str, Any], made: object) -> None:
        """Remember a call in PARAMETERS, which made the shape or body `made`."""
        self._renew()
        if isinstance(made, int) and made >= 0:
            self._made[call][made] = dict(zip(PARAMETERS[call], args, strict=False)) | dict(kwargs)

    def forget(self, body: object) -> None:
        """Forget `body`, which was removed: PyBullet gives its number to another one."""
        if isinstance(body, int):
            self._made["createMultiBody"].pop(body, None)

    def has_color(self, body: int) -> bool:
        """Return whether PyBullet knows the color of `body`: of those without a visual shape it chooses one by itself.

        It tells such bodies to be white, so that nothing could give the color back that the window shows.
        """
        self._renew()
        made = self._made["createMultiBody"].get(body)
        return made is None or int(made.get("baseVisualShapeIndex", -1)) >= 0

    def shape_of(self, body: int) -> BodyShape | None:
        """Return what `body` looks like and collides as, in its base frame; None where that is not known.

        Known are bodies without joints, made through `sim.bullet` with createMultiBody or of one simple shape.
        """
        self._renew()
        if self._client.getNumJoints(body):
            return None
        made = self._made["createMultiBody"].get(body)
        if made is None or made.get("baseInertialFramePosition") or made.get("baseInertialFrameOrientation"):
            return self._told(body)
        collision = self._geometry("createCollisionShape", made.get("baseCollisionShapeIndex", -1))
        if collision is None:
            return self._told(body)
        # Without a visual shape PyBullet draws the collision shape. Where the visual one is not known, as a file in
        # PyBullet's search path only, that form is still seen rather than nothing.
        visual = self._geometry("createVisualShape", made.get("baseVisualShapeIndex", -1)) or collision
        return BodyShape(seen_as(visual, (collision,)), collision)

    def _renew(self) -> None:
        # The numbers of an emptied engine begin anew.
        if self._epoch != self._client.epoch:
            self._epoch = self._client.epoch
            for made in self._made.values():
                made.clear()

    # ---- what was given ----------------------------------------------------------------------------------------------

    def _geometry(self, call: str, number: int) -> Geometry | None:
        """Return shape `number` that the user made by `call`, in the frame of its link; None where it cannot be told.

        Unknown are shapes made of what is not kept: planes that lean, meshes without a readable file, and other kinds.
        """
        given = self._made[call].get(number)
        if given is None:
            return None
        client, kind = self._client, given["shapeType"]
        placed = Geometry(
            ShapeKind.NONE,
            position=_numbers(given, "collisionFramePosition", "visualFramePosition", default=(0.0, 0.0, 0.0)),
            orientation=_numbers(
                given, "collisionFrameOrientation", "visualFrameOrientation", default=(0.0, 0.0, 0.0, 1.0)
            ),
            rgba=_four(_numbers(given, "rgbaColor", default=(1.0, 1.0, 1.0, 1.0))),
        )
        if kind == client.GEOM_HEIGHTFIELD:
            return _height_field(given, placed)
        if kind == client.GEOM_MESH:
            return self._mesh(given, placed)
        if kind == client.GEOM_PLANE:
            upright = _numbers(given, "planeNormal", default=(0.0, 0.0, 1.0)) == (0.0, 0.0, 1.0)
            return replace(placed, kind=int(ShapeKind.PLANE)) if upright else None
        for name in _SIMPLE:
            if kind == getattr(client, f"GEOM_{name}"):
                return replace(
                    placed,
                    kind=int(ShapeKind[name]),
                    half_extents=_three(_numbers(given, "halfExtents", default=(1.0, 1.0, 1.0))),
                    radius=float(given.get("radius", 0.5)),
                    height=float(given.get("height", given.get("length", 1.0))),
                )
        return None

    def _mesh(self, given: Mapping[str, Any], placed: Geometry) -> Geometry | None:
        """Return a mesh from a file or from vertices as PyBullet reads it, or None if it has neither.

        From vertices alone PyBullet makes their convex hull; triangles, or the flag for it, make the mesh concave.
        """
        concave = bool(int(given.get("flags", 0)) & self._client.GEOM_FORCE_CONCAVE_TRIMESH)
        if given.get("fileName"):
            path = Path(given["fileName"])
            if not is_file(path):
                return None
            name = str(path.resolve())
        else:
            try:
                vertices, triangles = (read(given.get(key)) for read, key in _READERS)
            except InvalidValueError:
                return None
            if vertices is None:
                return None
            # With triangles PyBullet makes a concave mesh, without them the convex hull of the vertices.
            concave = triangles is not None
            corners = len(vertices)
            name = mesh_file(vertices, triangles or tuple((0, k, k + 1) for k in range(1, corners - 1)))
        scale = _three(_numbers(given, "meshScale", default=(1.0, 1.0, 1.0)))
        return replace(placed, kind=int(ShapeKind.MESH), mesh_path=name, mesh_scale=scale, concave=concave)

    # ---- what PyBullet tells -----------------------------------------------------------------------------------------

    def _told(self, body: int) -> BodyShape | None:
        """Return the shape of a body of unknown origin, None unless it is a simple one."""
        client = self._client
        shapes = client.getCollisionShapeData(body, -1)
        if len(shapes) != 1:
            return None
        (_, _, kind, sizes, _, position, orientation) = shapes[0]
        # In the frame of the centre of mass, whose place in the base frame is known.
        information = client.getDynamicsInfo(body, -1)
        at, turn = quaternions.compose(*(np.array([part]) for part in (*information[3:5], position, orientation)))
        geometry = simple_geometry(client, kind, sizes)
        if geometry is None:
            return None
        drawn = client.getVisualShapeData(body)
        color = _four(drawn[0][7]) if drawn else (1.0, 1.0, 1.0, 1.0)
        place, rotation = tuple(at[0].tolist()), tuple(turn[0].tolist())
        collision = replace(geometry, rgba=color, position=place, orientation=rotation)
        return BodyShape(collision, collision)


_READERS: tuple[tuple[Any, str], ...] = ((read_vertices, "vertices"), (read_triangles, "indices"))


def _height_field(given: Mapping[str, Any], placed: Geometry) -> Geometry | None:
    """Return the mesh of a height field as PyBullet was given it, or None if its heights do not fill its grid.

    The field is centered on the shape's frame, as PyBullet centers it; heights are scaled by the third number of
    `meshScale`.
    """
    heights = np.asarray(given.get("heightfieldData", ()), np.float64)
    # PyBullet's rows go along x.
    columns, lines = int(given.get("numHeightfieldRows", 0)), int(given.get("numHeightfieldColumns", 0))
    if min(columns, lines) < 2 or heights.size != columns * lines:
        return None
    x, y, z = _three(_numbers(given, "meshScale", default=(1.0, 1.0, 1.0)))
    path = height_field_file(z * heights.reshape(lines, columns), (x, y), centred=True)
    return replace(placed, kind=int(ShapeKind.MESH), mesh_path=path, concave=True)


def _numbers(given: Mapping[str, Any], *names: str, default: tuple[float, ...]) -> tuple[float, ...]:
    for name in names:
        if given.get(name) is not None:
            return tuple(float(number) for number in given[name])
    return default


def _three(numbers: Sequence[float]) -> Vector:
    x, y, z = numbers
    return x, y, z


def _four(numbers: Sequence[float]) -> tuple[float, float, float, float]:
    red, green, blue, opacity = numbers
    return red, green, blue, opacity
