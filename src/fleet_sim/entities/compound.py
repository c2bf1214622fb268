"""Bodies of several shapes: a description with one link, so that whatever sees robots sees them shape by shape."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.core.robot_model import BASE, Inertial, LinkGeometry, RobotModel
from fleet_sim.core.shapes import Geometry
from fleet_sim.kinematics.bounds import model_box
from fleet_sim.models.export import urdf_text
from fleet_sim.models.generated import keep
from fleet_sim.models.loading import load_robot_model

Geometries = tuple[Geometry, ...]


def compound_model(visuals: Geometries, collisions: Geometries) -> RobotModel:
    """Return the model of a body with several shapes; equal calls return the same object.

    Its mass is 1 kg, at the origin of the body, to be scaled. Raises InvalidValueError for a mesh that cannot be used
    and for a plane, which is unbounded.
    """
    file = _file(visuals, collisions)
    if not Path(file).is_file():  # the cache folder was emptied
        _file.cache_clear()
        file = _file(visuals, collisions)
    return load_robot_model(file)


@lru_cache(maxsize=256)
def _file(visuals: Geometries, collisions: Geometries) -> str:
    # Twice: the inertia needs the box of all shapes, and the box needs a model.
    _, half = model_box(_one_link(visuals, collisions, Inertial()), np.zeros(0))
    # Of the box around it; the engine works out its own from the shapes, unless it is told to take the file's.
    x, y, z = (np.maximum(half, 1e-3) ** 2 / 3.0).tolist()
    model = _one_link(visuals, collisions, Inertial(mass=1.0, inertia=(y + z, x + z, x + y)))
    return str(keep(urdf_text(model).encode(), "shapes.urdf"))


def _one_link(visuals: Geometries, collisions: Geometries, inertial: Inertial) -> RobotModel:
    """Return a model without joints, whose base has all shapes."""
    none, vectors = np.zeros(0, np.int64), np.zeros((0, 3))
    limits = ("lower", "upper", "max_velocities", "max_forces", "damping", "friction")
    numbers: dict[str, Any] = dict.fromkeys(limits, np.zeros(0))
    return RobotModel(
        name="shapes",
        path="",
        base_name="base_link",
        link_names=(),
        joint_names=(),
        joint_types=none,
        parents=none,
        joint_positions=vectors,
        joint_orientations=np.zeros((0, 4)),
        axes=vectors,
        **numbers,
        inertials=(inertial,),
        visuals=tuple(LinkGeometry(BASE, geometry) for geometry in visuals),
        collisions=tuple(LinkGeometry(BASE, geometry) for geometry in collisions),
    )
