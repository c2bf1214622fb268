"""Shapes of any kind from the sizes of all: a shape refuses those that its kind does not have."""

from __future__ import annotations

from typing import Any

import fleet_sim as fs

SIZES = {
    "box": ("half_extents",),
    "sphere": ("radius",),
    "cylinder": ("radius", "height"),
    "capsule": ("radius", "height"),
    "plane": (),
    "mesh": ("mesh_path", "mesh_scale"),
}


def shape_of(kind: str, **sizes: Any) -> fs.ShapeParams:
    """Return a shape with those of `sizes` that its kind has."""
    given = {name: size for name, size in sizes.items() if name in SIZES[kind]}
    return fs.ShapeParams(kind, **given)  # type: ignore[arg-type]
