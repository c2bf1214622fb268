"""Shots and shapes for the tests of pictures."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import MissingDependencyError, StateError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.sensing.sensors.render.gl import make_context
from fleet_sim.sensing.sensors.render.shot import Intrinsics, Shot, optical_orientations
from fleet_sim.world.shapes import BodyShape, Geometry

LENS = Intrinsics.from_fov(320, 240, 1.2)


def look(position: object, yaw: float = 0.0, pitch: float = 0.0) -> tuple[Floats, Floats]:
    """Where a camera's optical frame is that looks along `yaw`, and down by `pitch`."""
    body = quaternions.from_eulers(np.array([[0.0, pitch, yaw]]))
    return np.array(position, float), optical_orientations(body)[0]


def shot(position: object, yaw: float = 0.0, pitch: float = 0.0, lens: Intrinsics = LENS, **settings: object) -> Shot:
    """A shot of all channels."""
    settings = {"channels": ("rgb", "depth", "ids", "links"), **settings}
    return Shot.checked(lens, *look(position, yaw, pitch), **settings)  # type: ignore[arg-type]


def body(kind: ShapeKind, rgba: tuple[float, ...] = (0.8, 0.3, 0.2, 1.0), **sizes: object) -> BodyShape:
    """A shape that is only to be seen."""
    return BodyShape(Geometry(kind, rgba=rgba, **sizes))  # type: ignore[arg-type]


def missing_opengl() -> str:
    """Why there is no OpenGL here, or ""."""
    try:
        make_context().release()
    except (MissingDependencyError, StateError) as error:
        return str(error)
    return ""
