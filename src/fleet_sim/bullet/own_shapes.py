"""The shapes of bodies that users make themselves: so that what does not ask PyBullet sees these bodies, too.

PyBullet tells the form of simple shapes only, neither the triangles of a mesh nor the heights of a height field. So the
calls that make shapes through `sim.bullet` are remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.bullet.client import BulletClient
from fleet_sim.bullet.told_shapes import simple_geometry
from fleet_sim.core.shapes import BodyShape, Geometry, Vector, seen_as
from fleet_sim.errors import InvalidValueError
from fleet_sim.models.height_fields import height_field_file
from fleet_sim.models.mesh_arrays import mesh_file, read_triangles, read_vertices
from fleet_sim.paths import is_file
from fleet_sim.spatial import poses
from fleet_sim.spatial.shapes import ShapeKind

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
        at, turn = poses.compose(*(np.array([part]) for part in (*information[3:5], position, orientation)))
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
