"""Objects to pick: small solids generated from a seed, from 1 cm to 3 cm in size. Nothing is downloaded.

Training and testing use different kinds of the same families.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.errors import InvalidValueError, did_you_mean
from fleet_sim.meshes.hulls import hull_faces

LARGEST, SMALLEST = 0.03, 0.01
"""Largest and smallest extent of an object in m."""
DENSITY = 900.0
"""Density of objects in kg/m^3."""
FAMILIES = ("sphere", "box", "cylinder", "capsule", "convex")
KINDS_PER_FAMILY = {"training": 3, "testing": 2}
_FIRST_SEED = {"training": 1000, "testing": 9000}


@dataclass(frozen=True)
class ObjectKind:
    """A kind of object: its shape, for drawing and collisions, and its mass in kg."""

    name: str
    family: str
    shape: ShapeParams
    mass: float


@cache
def object_kinds(ml_mode: str) -> Mapping[str, ObjectKind]:
    """Return the kinds of the set "training" or "testing" by name; they are the same in every process."""
    kinds = {}
    for index, family in enumerate(FAMILIES):
        for number in range(KINDS_PER_FAMILY[ml_mode]):
            # A generator for each kind: a kind stays the same when others are added.
            rng = np.random.default_rng(_FIRST_SEED[ml_mode] + 10 * index + number)
            name = f"{family}_{ml_mode}_{number + 1}"
            kinds[name] = _make(name, family, rng)
    return MappingProxyType(kinds)


def object_kind(name: str, ml_mode: str = "training") -> ObjectKind:
    """Return a kind by its name, by its family (its first one), or a mesh file (OBJ); raises InvalidValueError."""
    kinds = object_kinds(ml_mode)
    for kind in kinds.values():
        if name in (kind.name, kind.family):
            return kind
    if Path(name).suffix.lower() == ".obj":
        shape = ShapeParams(shape_type="mesh", mesh_path=name, rgba_color=_COLORS["convex"])
        return ObjectKind(name, "file", shape, 0.01)
    raise InvalidValueError(
        f"unknown kind of object {name!r}; expected a mesh file (.obj) or one of {', '.join(FAMILIES)}."
        f"{did_you_mean(name, [*kinds, *FAMILIES])}"
    )


_COLORS = {
    "sphere": (0.85, 0.25, 0.22, 1.0),
    "box": (0.24, 0.45, 0.80, 1.0),
    "cylinder": (0.95, 0.72, 0.20, 1.0),
    "capsule": (0.30, 0.66, 0.38, 1.0),
    "convex": (0.58, 0.38, 0.70, 1.0),
}


def _make(name: str, family: str, rng: np.random.Generator) -> ObjectKind:
    """Return a kind of object with sizes drawn from `rng`, and with the mass that its volume has."""
    color = _COLORS[family]
    if family == "sphere":
        radius = rng.uniform(0.009, 0.5 * LARGEST)
        shape = ShapeParams(shape_type="sphere", radius=radius, rgba_color=color)
        volume = 4.0 / 3.0 * np.pi * radius**3
    elif family == "box":
        half = rng.uniform(0.008, 0.014, 3)
        shape = ShapeParams(shape_type="box", half_extents=tuple(half.tolist()), rgba_color=color)
        volume = 8.0 * half[0] * half[1] * half[2]
    elif family == "cylinder":
        radius, height = rng.uniform(0.007, 0.012), rng.uniform(0.016, LARGEST)
        shape = ShapeParams(shape_type="cylinder", radius=radius, height=height, rgba_color=color)
        volume = np.pi * radius**2 * height
    elif family == "capsule":
        radius = rng.uniform(0.006, 0.009)
        height = rng.uniform(0.004, LARGEST - 2.0 * radius)
        shape = ShapeParams(shape_type="capsule", radius=radius, height=height, rgba_color=color)
        volume = np.pi * radius**2 * (height + 4.0 / 3.0 * radius)
    else:
        corners = _convex_corners(rng)
        path = _write_hull(name, corners)
        shape = ShapeParams(shape_type="mesh", mesh_path=str(path), rgba_color=color)
        extents = corners.max(0) - corners.min(0)
        # An estimate: an ellipsoid fills 0.52 of its box, and these corners lie near one.
        volume = 0.5 * extents[0] * extents[1] * extents[2]
    return ObjectKind(name, family, shape, round(float(DENSITY * volume), 5))


def _convex_corners(rng: np.random.Generator) -> Floats:
    """Return the corners (N, 3) of a random solid, centred at the origin."""
    # Normalised Gaussian vectors are uniform on the sphere; random radii and axis scales make them an uneven solid.
    directions = rng.normal(size=(14, 3))
    directions /= np.sqrt((directions * directions).sum(1))[:, None]
    corners = directions * rng.uniform(0.009, 0.013, (14, 1)) * rng.uniform(0.75, 1.0, (1, 3))
    corners -= 0.5 * (corners.max(0) + corners.min(0))
    extents = corners.max(0) - corners.min(0)
    scaled: Floats = corners * min(1.0, 0.95 * LARGEST / float(extents.max()))
    return scaled


@lru_cache(maxsize=1)
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fleet_sim_objects_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _write_hull(name: str, corners: Floats) -> Path:
    """Write the convex hull of `corners` as an OBJ file with flat faces and return its path."""
    # Each face gets its own three vertices: shared vertices would share normals, and edges would look round.
    lines = [f"o {name}"]
    faces = hull_faces(corners).tolist()
    for face in faces:
        lines += [f"v {x:.9f} {y:.9f} {z:.9f}" for x, y, z in corners[face].tolist()]
    for a, b, c in faces:
        normal = np.cross(corners[b] - corners[a], corners[c] - corners[a])
        x, y, z = (normal / np.sqrt(normal @ normal)).tolist()
        lines.append(f"vn {x:.6f} {y:.6f} {z:.6f}")
    for index in range(len(faces)):
        corner = 3 * index + 1
        lines.append("f " + " ".join(f"{corner + offset}//{index + 1}" for offset in range(3)))
    path = _folder() / f"{name}.obj"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
