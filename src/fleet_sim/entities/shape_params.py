"""ShapeParams: the settings of one visual or collision shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fleet_sim.core.shapes import Geometry
from fleet_sim.errors import InvalidValueError, did_you_mean
from fleet_sim.gate.bounds import LARGEST_EXTENT, LARGEST_SIZE
from fleet_sim.gate.remote import check_file, is_remote
from fleet_sim.geometry import Pose
from fleet_sim.geometry.pose import TURN
from fleet_sim.models.height_fields import Heights, height_field_file, image_heights, read_heights
from fleet_sim.models.mesh_arrays import Triangles, Vertices, mesh_file, read_triangles, read_vertices
from fleet_sim.paths import expanded, is_file, is_folder
from fleet_sim.settings import Checked, setting
from fleet_sim.spatial.shapes import ShapeKind

ShapeType = Literal["box", "sphere", "cylinder", "capsule", "plane", "mesh", "heightfield"]
Vector = tuple[float, float, float]

_POSE_KEYS = ("position", "orientation", "rpy", "yaw")
_POSE_SCHEMA = {
    "description": "[x, y, z], [x, y, z, yaw], or a mapping of position with yaw, rpy (rad) or orientation (xyzw).",
    "anyOf": [
        {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 4},
        {"type": "object", "properties": {key: {} for key in _POSE_KEYS}, "additionalProperties": False},
    ],
}

_TRIPLES = {
    "anyOf": [
        {"type": "null"},
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}},
        {"type": "array", "items": {"type": "number"}, "minItems": 3},
    ]
}


_HEIGHTS = {
    "anyOf": [
        {"type": "null"},
        {
            "type": "array",
            "items": {"type": "array", "items": {"type": "number"}, "minItems": 2},
            "minItems": 2,
        },
    ]
}


def read_pose(value: object) -> Pose | None:
    """Return a Pose from any of the ways to write one; raises InvalidValueError, also for one beyond all bounds."""
    pose = _read_pose(value)
    # `not ... <=`, so that NaN is refused too.
    if pose is not None and not max(map(abs, pose.position)) <= LARGEST_EXTENT:
        raise InvalidValueError(f"a position is within {LARGEST_EXTENT:g} m along each axis, got {value!r}")
    return pose


def _read_place(value: object) -> Pose:
    pose = read_pose(value)
    if pose is None:
        raise InvalidValueError("must be a pose, got nothing; leave the key out for the default")
    return pose


def _read_pose(value: object) -> Pose | None:
    """Return the pose in a mapping, in [x, y, z] or in [x, y, z, yaw]: m, and rad or what angles are given in.

    A mapping has `position` and one of `orientation` (xyzw), `rpy` and `yaw`. Raises InvalidValueError otherwise.
    """
    if value is None or isinstance(value, Pose):
        return value
    if isinstance(value, dict):
        unknown = [str(key) for key in value if key not in _POSE_KEYS]
        if unknown:
            raise InvalidValueError(f"unknown key {unknown[0]!r} of a pose.{did_you_mean(unknown[0], _POSE_KEYS)}")
        # Three ways to say one thing; two of them could contradict each other.
        if len(value.keys() & {"orientation", "rpy", "yaw"}) > 1:
            raise InvalidValueError(f"a pose has one of orientation, rpy and yaw, got {value!r}")
        x, y, z = _numbers(value.get("position", (0.0, 0.0, 0.0)), (3,))
        if "orientation" in value:
            return Pose((x, y, z), _numbers(value["orientation"], (4,)))
        rpy = value["rpy"] if "rpy" in value else (0.0, 0.0, value.get("yaw", 0.0))
        return Pose.from_euler(x, y, z, *map(_angle, _numbers(rpy, (3,))))
    x, y, z, *yaw = _numbers(value, (3, 4))
    return Pose.from_yaw(x, y, z, *map(_angle, yaw)) if yaw else Pose((x, y, z))


def _angle(value: float) -> float:
    """Return an angle of at most one turn; raises InvalidValueError for what must be degrees."""
    if abs(value) > TURN:
        in_radians = value * math.pi / 180.0 if abs(value) <= 360.0 else None
        hint = f"; {value:g} degrees are {in_radians:.4f}" if in_radians is not None else ""
        raise InvalidValueError(f"angles are in radians, at most one turn, got {value:g}{hint}")
    return value


def _numbers(value: object, lengths: tuple[int, ...]) -> list[float]:
    """Return a list of numbers of one of `lengths`; raises InvalidValueError for anything else, as truth values."""
    items = list(value) if isinstance(value, (list, tuple)) else []
    good = all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in items)
    # Exactly as many numbers as meant: a fourth one would be taken for something that it is not.
    if len(items) not in lengths or not good:
        raise InvalidValueError(f"expected {' or '.join(map(str, lengths))} numbers, got {value!r}")
    try:
        return [float(item) for item in items]
    except OverflowError as error:
        raise InvalidValueError(f"a number is too large: {str(error)[:80]}") from error


def pose_setting(default: Pose | None = None, *, doc: str, aliases: tuple[str, ...] = ()) -> Any:
    """Return a dataclass field for a pose."""
    if default is not None:
        return setting(default, reader=_read_place, schema=_POSE_SCHEMA, doc=doc, aliases=aliases)
    schema = {"anyOf": [_POSE_SCHEMA, {"type": "null"}]}
    return setting(None, reader=read_pose, schema=schema, doc=doc, aliases=aliases)


_SIZES = {
    "half_extents": ("box",),
    "radius": ("sphere", "cylinder", "capsule"),
    "height": ("cylinder", "capsule", "heightfield"),
    "field_size": ("heightfield",),
    "mesh_scale": ("mesh",),
}
"""Which kinds of shapes have which size."""


@dataclass
class ShapeParams(Checked):
    """A shape: box, sphere, cylinder, capsule, plane, mesh, heightfield. Checked when constructed and when changed."""

    shape_type: ShapeType | None = setting(None, doc="Kind of shape; null: no shape.")
    mesh_path: str | None = setting(
        None, doc="Mesh file (.obj or .stl); its convex hull is used for collisions, unless it is concave."
    )
    mesh_scale: Vector = setting((1.0, 1.0, 1.0), above=0, high=LARGEST_SIZE, doc="Scale of the mesh along each axis.")
    half_extents: Vector = setting((0.5, 0.5, 0.5), above=0, high=LARGEST_SIZE, unit="m", doc="Half the size of a box.")
    radius: float = setting(0.5, above=0, high=LARGEST_SIZE, unit="m", doc="Radius of a sphere, cylinder or capsule.")
    height: float = setting(
        1.0,
        above=0,
        high=LARGEST_SIZE,
        unit="m",
        doc="Of a cylinder; of a capsule between its half spheres; of white in a height_image.",
    )
    rgba_color: tuple[float, float, float, float] = setting((0.8, 0.8, 0.8, 1.0), low=0, high=1, doc="Color.")
    frame_pose: Pose | None = pose_setting(doc="Pose of the shape in the body frame.")
    vertices: Vertices | None = setting(
        None, reader=read_vertices, schema=_TRIPLES, doc="Of a mesh without a file, in m: triples, or one flat list."
    )
    indices: Triangles | None = setting(
        None, reader=read_triangles, schema=_TRIPLES, doc="Its triangles: three numbers of vertices each, from 0."
    )
    concave: bool = setting(
        False, doc="A mesh collides as its triangles, with room inside: for what never moves, as a hall or a terrain."
    )
    heights: Heights | None = setting(
        None, reader=read_heights, schema=_HEIGHTS, doc="Of a heightfield, in m: lines along x, from the least y on."
    )
    height_image: str | None = setting(
        None, doc="Of a heightfield: a grayscale picture, seen from above, y up; black is 0, white is `height`."
    )
    field_size: tuple[float, float] = setting(
        (10.0, 10.0), above=0, high=LARGEST_SIZE, unit="m", doc="Length of a heightfield along x and along y."
    )

    def __post_init__(self) -> None:
        """Refuse a size that this kind of shape does not have."""
        super().__post_init__()
        self._check_kind()

    def to_geometry(self, frame_pose: Pose | None = None) -> Geometry | None:
        """Return the hashable geometry (None without `shape_type`); raises InvalidValueError for a missing mesh file.

        `frame_pose`, where given, takes precedence over the shape's own.
        """
        # Again, as both may have been assigned since.
        self._check_kind()
        if self.shape_type is None:
            return None
        field = self.shape_type == "heightfield"
        frame = frame_pose or self.frame_pose or Pose((0.0, 0.0, 0.0))
        return Geometry(
            kind=int(ShapeKind.MESH if field else ShapeKind[self.shape_type.upper()]),
            half_extents=self.half_extents,
            radius=self.radius,
            height=self.height,
            mesh_path=self._field() if field else self._mesh() if self.shape_type == "mesh" else "",
            mesh_scale=(1.0, 1.0, 1.0) if field else self.mesh_scale,
            rgba=self.rgba_color,
            position=frame.position,
            orientation=frame.orientation,
            concave=self.concave or field,
        )

    def _check_kind(self) -> None:
        """Raise InvalidValueError where something is given that a shape of this kind does not have."""
        kind = self.shape_type or "shape without a shape_type"
        if self.concave and kind not in ("mesh", "heightfield"):
            raise InvalidValueError(f"concave: only a mesh can be concave, not a {kind}")
        if kind != "heightfield" and (self.heights is not None or self.height_image):
            raise InvalidValueError(f"heights and height_image: for a heightfield only, not for a {kind}")
        if kind != "mesh" and (self.vertices is not None or self.indices is not None or self.mesh_path):
            raise InvalidValueError(f"mesh_path, vertices and indices: for a mesh only, not for a {kind}")
        for name, kinds in _SIZES.items():
            # What was never given has its default, which no shape misses.
            if kind not in kinds and getattr(self, name) != getattr(ShapeParams, name):
                its = [size for size, owners in _SIZES.items() if kind in owners]
                advice = f"it has {' and '.join(its)}" if its else "it has no size"
                raise InvalidValueError(f"{name}: for a {' or '.join(kinds)} only, not for a {kind}; {advice}")

    def _field(self) -> str:
        """Return the file of the surface of a heightfield."""
        # Equal truth values: both are given, or neither.
        if (self.heights is None) == (not self.height_image):
            raise InvalidValueError("a heightfield has either heights or height_image")
        given = self.heights or image_heights(existing_file(self.height_image, "height_image"), self.height)
        heights = np.array(given)
        lines, columns = heights.shape
        # Between the outermost samples lie one fewer spaces than samples.
        spacing = self.field_size[0] / (columns - 1), self.field_size[1] / (lines - 1)
        return height_field_file(heights, spacing, centred=False)

    def _mesh(self) -> str:
        """Return the file of a mesh: the given one, or one made of `vertices` and `indices`.

        Raises InvalidValueError unless it is exactly one of both, and for vertices in a message from outside.
        """
        if self.vertices is None and self.indices is None:
            return existing_file(self.mesh_path, "mesh_path")
        if self.vertices is None or self.indices is None or self.mesh_path:
            raise InvalidValueError("a mesh has either mesh_path, or both vertices and indices")
        if is_remote():
            # It would be written to the disk, and each message may have another one.
            raise InvalidValueError("vertices: messages may not bring meshes; give mesh_path, a file of a known folder")
        return mesh_file(self.vertices, self.indices)


def existing_file(name: str | None, what: str) -> str:
    """Return the absolute path of the file `name`; raises InvalidValueError with the closest names beside it."""
    if not name:
        raise InvalidValueError(f"{what}: must name a file, got {name!r}")
    path = expanded(name)
    check_file(path, what)
    if not is_file(path):
        # Only names of the same kind: a typo is rarely in the ending.
        beside = path.parent.iterdir() if is_folder(path.parent) else ()
        near = [entry.name for entry in beside if entry.suffix == path.suffix]
        raise InvalidValueError(f"{what}: there is no file {str(path)!r}.{did_you_mean(path.name, near)}")
    return str(path.resolve())


def geometries(
    shapes: ShapeParams | list[ShapeParams] | None, frame_pose: Pose | None, what: str
) -> tuple[Geometry, ...]:
    """Return the geometries of one shape or of several; raises InvalidValueError.

    `frame_pose`, where given, is that of a single shape.
    """
    if isinstance(shapes, list) and len(shapes) > 1 and frame_pose is not None:
        raise InvalidValueError(
            f"{what}_frame_pose: is the pose of one shape, and there are {len(shapes)}; give each its frame_pose"
        )
    # A single one may have its pose from either of the two settings.
    given = shapes if isinstance(shapes, list) else [shapes]
    made = [shape.to_geometry(frame_pose) for shape in given if shape is not None]
    return tuple(geometry for geometry in made if geometry is not None)
