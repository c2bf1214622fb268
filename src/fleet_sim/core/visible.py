"""What of an entity is seen, and the RViz marker that shows each of its shapes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from fleet_sim.core.robot_model import BASE, RobotModel
from fleet_sim.core.shapes import BodyShape, Geometry, Vector
from fleet_sim.paths import shared_uri
from fleet_sim.spatial.shapes import ShapeKind

PLANE_SIZE = 100.0
"""Side length in m of the square that represents an infinite plane."""

CUBE, SPHERE, CYLINDER, MESH_RESOURCE = 1, 2, 3, 10
"""Types of visualization_msgs/Marker."""

WITH_MATERIALS = (".dae", ".obj")
"""Formats of meshes that can have materials."""

TRANSPARENT = (0.0, 0.0, 0.0, 0.0)
"""The color of a marker whose mesh is shown in its own materials; any other color is mixed with them."""


class VisiblePart(NamedTuple):
    """A shape in the frame of a link, BASE or its number."""

    link: int
    geometry: Geometry


def visible_parts(
    model: RobotModel | None, shape: BodyShape | None, half_extents: Vector, centre: Vector
) -> list[VisiblePart]:
    """Return what is seen of an entity: the shapes of its links, or its own.

    A box of `half_extents` about `centre` stands for a robot whose description has nothing to see.
    """
    if model is not None and model.visuals:
        return [VisiblePart(visual.link, visual.geometry) for visual in model.visuals]
    if shape is None:
        return []
    if shape.model_path:
        return [VisiblePart(BASE, Geometry(int(ShapeKind.BOX), half_extents=half_extents, position=centre))]
    return [VisiblePart(BASE, geometry) for geometry in (shape.visual or shape.collision,) if geometry is not None]


def has_own_materials(geometry: Geometry) -> bool:
    """Return whether `geometry` is a mesh that is seen in the materials of its file: nothing else gives it a color."""
    kept = Path(geometry.mesh_path).suffix.lower() in WITH_MATERIALS
    return ShapeKind(geometry.kind) is ShapeKind.MESH and kept and geometry.rgba == Geometry.rgba


def marker_shape(geometry: Geometry) -> tuple[int, Vector, str]:
    """Return the type of the marker that shows `geometry`, its scale in m, and the URI of its mesh or nothing."""
    kind, across = ShapeKind(geometry.kind), 2.0 * geometry.radius
    if kind is ShapeKind.MESH:
        return MESH_RESOURCE, geometry.mesh_scale, shared_uri(geometry.mesh_path)
    if kind is ShapeKind.SPHERE:
        return SPHERE, (across, across, across), ""
    if kind is ShapeKind.CYLINDER:
        return CYLINDER, (across, across, geometry.height), ""
    if kind is ShapeKind.CAPSULE:
        # There is no marker for capsules.
        return CYLINDER, (across, across, geometry.height + across), ""
    if kind is ShapeKind.PLANE:
        # Not of height 0, as RViz does not draw markers with a scale of 0.
        return CUBE, (PLANE_SIZE, PLANE_SIZE, 0.001), ""
    x, y, z = geometry.half_extents
    return CUBE, (2.0 * x, 2.0 * y, 2.0 * z), ""
