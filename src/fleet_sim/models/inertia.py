"""Converts inertia tensors to a principal frame and three moments."""

from __future__ import annotations

import numpy as np

from fleet_sim.core.robot_model import Inertial
from fleet_sim.models.markup import Element
from fleet_sim.models.values import Quaternion, Vector
from fleet_sim.spatial import quaternions

_NEGATIVE = -1e-9


def inertial_of(
    element: Element, mass: float, position: Vector, orientation: Quaternion, tensor: tuple[float, ...]
) -> Inertial:
    """Return the Inertial of `mass` and `tensor` (ixx, ixy, ixz, iyy, iyz, izz) in a frame of the link.

    A diagonal tensor keeps its frame. Raises InvalidValueError for a negative mass, and for a negative principal
    moment, which no body can have.
    """
    if mass < 0.0:
        raise element.error(f"the mass must not be negative, got {mass:g} kg")
    ixx, ixy, ixz, iyy, iyz, izz = tensor
    moments: tuple[float, ...] = (ixx, iyy, izz)
    # Left alone where it is diagonal: eigenvalues come sorted, which would turn the frame for nothing.
    if ixy or ixz or iyz:
        values, axes = np.linalg.eigh(np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]))
        # Eigenvectors may form a left-handed frame.
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] *= -1.0
        moments = tuple(values.tolist())
        turned = quaternions.multiply(np.array([orientation]), quaternions.from_matrix(axes)[None])
        x, y, z, w = quaternions.normalized(turned)[0].tolist()
        orientation = (x, y, z, w)
    # Rounding in files makes tiny negative moments; these become 0 below.
    if min(moments) < _NEGATIVE * max(map(abs, moments)):
        raise element.error(
            "the inertia tensor must have no negative principal moment, got "
            f"{', '.join(f'{moment:.3g}' for moment in sorted(moments))} kg m2"
        )
    about_x, about_y, about_z = (max(moment, 0.0) for moment in moments)
    return Inertial(mass, position, orientation, (about_x, about_y, about_z))
