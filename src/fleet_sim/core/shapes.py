"""Visual and collision shapes of bodies, interned so that equal bodies share one entry and PyBullet's shapes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fleet_sim.saved_classes import saved
from fleet_sim.spatial.shapes import ShapeKind

Vector = tuple[float, float, float]


@saved
@dataclass(frozen=True)
class Geometry:
    """One visual or collision geometry in the body frame; hashable, all lengths in m.

    `kind` is a spatial.shapes.ShapeKind. `height` is the whole height of a cylinder and the cylindrical part of a
    capsule. A `concave` mesh is its triangles, with room inside; any other mesh collides as its convex hull.
    """

    kind: int
    half_extents: Vector = (0.5, 0.5, 0.5)
    radius: float = 0.5
    height: float = 1.0
    mesh_path: str = ""
    mesh_scale: Vector = (1.0, 1.0, 1.0)
    rgba: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0)
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)
    concave: bool = False


def half_extents_of(shape: Geometry) -> Vector:
    """Return the half extents of a shape that is not a mesh, as `spatial.shapes` defines them."""
    radius = shape.radius
    if shape.kind == ShapeKind.SPHERE:
        return radius, radius, radius
    if shape.kind == ShapeKind.CYLINDER:
        return radius, radius, 0.5 * shape.height
    if shape.kind == ShapeKind.CAPSULE:
        return radius, radius, 0.5 * shape.height + radius
    return shape.half_extents if shape.kind == ShapeKind.BOX else (0.0, 0.0, 0.0)


def seen_as(visual: Geometry, collisions: Iterable[Geometry]) -> Geometry:
    """Return `visual`, concave where a collision shape is the same concave mesh: cameras see both sides, as rays do."""
    same = any(shape.concave and shape.mesh_path == visual.mesh_path for shape in collisions)
    return replace(visual, concave=True) if same and not visual.concave else visual


@saved
@dataclass(frozen=True)
class BodyShape:
    """Everything that PyBullet needs to create a body, except mass and pose.

    Either `visual` and `collision` geometries (each may be None), or `model_path`, a robot description file, all whose
    lengths are times `scale`.
    """

    visual: Geometry | None = None
    collision: Geometry | None = None
    model_path: str = ""
    fixed_base: bool = False
    scale: float = 1.0


class ShapeCatalog:
    """The distinct BodyShapes of a world, by a small number."""

    def __init__(self) -> None:
        self._shapes: list[BodyShape] = []
        self._ids: dict[BodyShape, int] = {}
        self.concave: list[int] = []
        """The numbers of the shapes that collide as concave meshes."""

    def intern(self, shape: BodyShape) -> int:
        """Return the number of `shape`, the same for equal shapes."""
        shape_id = self._ids.get(shape)
        if shape_id is None:
            shape_id = self._ids[shape] = len(self._shapes)
            self._shapes.append(shape)
            if shape.collision is not None and shape.collision.concave:
                self.concave.append(shape_id)
        return shape_id

    def __getitem__(self, shape_id: int) -> BodyShape:
        return self._shapes[shape_id]

    def __len__(self) -> int:
        return len(self._shapes)
