"""ShapeParams: one visual or collision shape, as users write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fleet_sim.arrays import as_float, as_floats
from fleet_sim.core.shapes import Geometry
from fleet_sim.errors import InvalidValueError, did_you_mean
from fleet_sim.geometry import Pose
from fleet_sim.spatial.shapes import ShapeKind

_KINDS = {kind.name.lower(): kind for kind in ShapeKind if kind not in (ShapeKind.NONE, ShapeKind.COMPOUND)}


@dataclass
class ShapeParams:
    """A shape: box, sphere, cylinder, capsule, plane or mesh.

    Lengths in m. `half_extents` for boxes; `radius` for spheres, cylinders and capsules; `height` of the whole cylinder,
    or of the capsule between its half spheres; `mesh_path` and `mesh_scale` for meshes (collision: its convex hull).
    `frame_pose` is where the shape sits in the body.
    """

    shape_type: str | None = None
    mesh_path: str | None = None
    mesh_scale: Sequence[float] = (1.0, 1.0, 1.0)
    half_extents: Sequence[float] = (0.5, 0.5, 0.5)
    radius: float = 0.5
    height: float = 1.0
    rgba_color: Sequence[float] = (0.8, 0.8, 0.8, 1.0)
    frame_pose: Pose | None = field(default=None)

    def to_geometry(self, frame_pose: Pose | None = None) -> Geometry | None:
        """Return the checked, hashable geometry (None without `shape_type`); raises InvalidValueError.

        `frame_pose`, where given, takes precedence over the shape's own.
        """
        if self.shape_type is None:
            return None
        kind = _KINDS.get(self.shape_type)
        if kind is None:
            raise InvalidValueError(
                f"shape_type: unknown shape {self.shape_type!r}.{did_you_mean(str(self.shape_type), _KINDS)}"
            )
        mesh_path = ""
        if kind is ShapeKind.MESH:
            mesh_path = self._mesh_file()
        half_extents = as_floats(self.half_extents, (3,), "half_extents")
        if half_extents.min() <= 0.0:
            raise InvalidValueError(f"half_extents: every number must be above 0 m, got {list(self.half_extents)}")
        scale = as_floats(self.mesh_scale, (3,), "mesh_scale")
        if scale.min() <= 0.0:
            raise InvalidValueError(f"mesh_scale: every number must be above 0, got {list(self.mesh_scale)}")
        rgba = as_floats(self.rgba_color, (4,), "rgba_color")
        if rgba.min() < 0.0 or rgba.max() > 1.0:
            raise InvalidValueError(f"rgba_color: four numbers from 0 to 1, got {list(self.rgba_color)}")
        frame = frame_pose or self.frame_pose or Pose((0.0, 0.0, 0.0))
        return Geometry(
            kind=int(kind),
            half_extents=tuple(half_extents.tolist()),
            radius=as_float(self.radius, "radius in m", low=1e-9),
            height=as_float(self.height, "height in m", low=1e-9),
            mesh_path=mesh_path,
            mesh_scale=tuple(scale.tolist()),
            rgba=tuple(rgba.tolist()),
            position=tuple(frame.position),
            orientation=tuple(frame.orientation),
        )

    def _mesh_file(self) -> str:
        if not self.mesh_path:
            raise InvalidValueError("a mesh shape needs mesh_path, the path of an .obj or .stl file")
        path = Path(self.mesh_path).expanduser()
        if not path.is_file():
            near = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
            raise InvalidValueError(f"mesh_path: there is no file {str(path)!r}.{did_you_mean(path.name, near)}")
        return str(path.resolve())
