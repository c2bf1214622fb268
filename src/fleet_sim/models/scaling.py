"""Models in another size."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from fleet_sim.core.robot_model import PRISMATIC, Inertial, LinkGeometry, RobotModel
from fleet_sim.core.shapes import Geometry


@lru_cache(maxsize=256)
def scaled_model(model: RobotModel, factor: float) -> RobotModel:
    """Return `model` with all lengths times `factor`, as with PyBullet's globalScaling.

    Equal calls return the same object. Shapes, origins of joints, centres of mass and limits of prismatic joints are
    scaled; masses, inertias, speeds and forces are not.
    """
    # Values of prismatic joints are lengths, those of others are angles.
    lengths = np.where(model.joint_types == PRISMATIC, factor, 1.0)
    return replace(
        model,
        joint_positions=model.joint_positions * factor,
        lower=model.lower * lengths,
        upper=model.upper * lengths,
        inertials=tuple(_inertial(inertial, factor) for inertial in model.inertials),
        visuals=tuple(LinkGeometry(part.link, _geometry(part.geometry, factor)) for part in model.visuals),
        collisions=tuple(LinkGeometry(part.link, _geometry(part.geometry, factor)) for part in model.collisions),
        # A slide that follows a hinge goes farther for the same angle.
        mimics=tuple(
            replace(
                mimic,
                multiplier=mimic.multiplier * float(lengths[mimic.follower] / lengths[mimic.leader]),
                offset=mimic.offset * float(lengths[mimic.follower]),
            )
            for mimic in model.mimics
        ),
    )


def _inertial(inertial: Inertial, factor: float) -> Inertial:
    x, y, z = inertial.position
    return replace(inertial, position=(factor * x, factor * y, factor * z))


def _geometry(geometry: Geometry, factor: float) -> Geometry:
    """Return a geometry `factor` times as large, at a place that is as much farther away."""
    (a, b, c), (x, y, z) = geometry.half_extents, geometry.mesh_scale
    return replace(
        geometry,
        half_extents=(factor * a, factor * b, factor * c),
        radius=factor * geometry.radius,
        height=factor * geometry.height,
        mesh_scale=(factor * x, factor * y, factor * z),
        position=tuple(factor * part for part in geometry.position),
    )
