"""Where the wheels of a robot are, how large they are, and what steers them: read from its description.

`robots/template.py` has those that motors drive.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ROUND_KINDS, ShapeKind
from fleet_sim.models.kinematics.links import mesh_box, round_mask
from fleet_sim.models.profile import Structure
from fleet_sim.world.shapes import FIXED, REVOLUTE, Geometry, LinkGeometry, RobotModel

log = logging.getLogger(__name__)

LEVEL = 0.9
"""Smallest component in the plane of a wheel's axis, and smallest upward component of the axis of what steers it."""
ALIKE = 0.1
"""How much the two half widths of a wheel's mesh may differ, as a fraction of the larger one."""

UNSTEERED = -1
"""In place of the joint that steers a wheel: there is none."""


@dataclass(frozen=True, eq=False)
class WheelPlaces:
    """The K wheels of a model that roll on the ground, and the S joints that steer them; joints by number among those
    that move.

    `at` (K, 2) is where a wheel is and `heading` (K, 2) the unit vector in which it rolls when its joint turns
    positively, both in the base frame with all joints at 0. `steered_by` (K,) indexes `steering` (S,), or is UNSTEERED.
    `steering_sign` (S,) is 1 where a positive angle steers to the left, else -1. Turning an `even` wheel changes the
    outline of nothing.
    """

    wheels: Ints
    at: Floats
    heading: Floats
    radii: Floats
    even: Bools
    steered_by: Ints
    steering: Ints
    steering_at: Floats
    steering_sign: Floats

    @property
    def cornered(self) -> bool:
        """Whether there are four wheels with sideways axes, one in each quadrant, as on mecanum bases."""
        if len(self.wheels) != 4 or bool((self.steered_by != UNSTEERED).any()):
            return False
        quadrants = set(zip(np.sign(self.at[:, 0]).tolist(), np.sign(self.at[:, 1]).tolist(), strict=True))
        return bool((np.abs(self.heading[:, 0]) > LEVEL).all()) and len(quadrants) == 4 and bool(self.at.all())


@lru_cache(maxsize=256)
def find_places(model: RobotModel, radius: float = 0.0, separation: float = 0.0) -> WheelPlaces:
    """Return the wheels of `model` with a level axis that are attached to its base, directly or below what steers them.

    A `radius` and a `separation` of left and right wheels in m take the place of what the description says; 0 leaves
    that to it. A wheel below any other moving joint does not count, nor does one whose radius is not known.
    """
    structure = Structure(model)
    positions, orientations = structure.frames
    axes = quaternions.rotate(orientations, model.axes) if model.num_joints else np.zeros((0, 3))
    wheels, steering = _find_wheels(model, structure, axes, radius)
    joints = np.array([wheel.joint for wheel in wheels], np.int64)
    at = positions[joints, :2].reshape(-1, 2)
    # Wheels on the middle line stay on it.
    if separation:
        at[:, 1] = np.sign(at[:, 1]) * 0.5 * separation
    return WheelPlaces(
        wheels=model.slots[joints],
        at=at,
        heading=np.array([wheel.heading for wheel in wheels]).reshape(-1, 2),
        radii=np.array([wheel.radius for wheel in wheels]),
        even=round_mask(model)[joints],
        steered_by=np.array([wheel.steered_by for wheel in wheels], np.int64),
        steering=model.slots[np.array(steering, np.int64)],
        steering_at=positions[steering, :2].reshape(-1, 2),
        steering_sign=np.sign(axes[steering, 2]),
    )


class _Wheel(NamedTuple):
    """The joint of a wheel, where it heads, its radius in m, and the number of what steers it."""

    joint: int
    heading: tuple[float, float]
    radius: float
    steered_by: int


def _find_wheels(
    model: RobotModel, structure: Structure, axes: Floats, radius: float
) -> tuple[list[_Wheel], list[int]]:
    """Return the wheels that roll, and the joints that steer some; warns of wheels whose radius is not known."""
    found: list[_Wheel] = []
    unknown: list[str] = []
    steering: list[int] = []
    for joint in np.flatnonzero(structure.wheel_mask).tolist():
        # The moving joints between it and the base.
        above = [link for link in list(model.chain(joint))[1:] if model.joint_types[link] != FIXED]
        level = math.sqrt(axes[joint, 0] * axes[joint, 0] + axes[joint, 1] * axes[joint, 1])
        if level < LEVEL or len(above) > 1 or any(not _steers(model, axes, link) for link in above):
            continue
        size = radius or _radius(model, joint)
        if not size:
            unknown.append(model.joint_names[joint])
            continue
        steered_by = UNSTEERED
        if above:
            steering += [] if above[0] in steering else above
            steered_by = steering.index(above[0])
        # A wheel rolls ahead where its axis points to the left.
        heading = (axes[joint, 1] / level, -axes[joint, 0] / level)
        found.append(_Wheel(joint, heading, size, steered_by))
    if unknown:
        log.warning("%s: wheels of unknown radius do not turn (give wheel_radius): %s", model.name, ", ".join(unknown))
    return found, steering


def _steers(model: RobotModel, axes: Floats, joint: int) -> bool:
    return bool(model.joint_types[joint] == REVOLUTE) and abs(float(axes[joint, 2])) >= LEVEL


def _radius(model: RobotModel, joint: int) -> float:
    """Return the radius of the wheel that `joint` turns, 0 if nothing of it tells: as it collides, else as it looks."""
    for pieces in (model.collisions, model.visuals):
        radius = max((_radius_of(piece.geometry, model.axes[joint]) for piece in _of(pieces, joint)), default=0.0)
        if radius:
            return radius
    return 0.0


def _of(pieces: tuple[LinkGeometry, ...], link: int) -> list[LinkGeometry]:
    return [piece for piece in pieces if piece.link == link]


def _radius_of(shape: Geometry, axis: Floats) -> float:
    """Return the radius of a round shape, or of a mesh that is as wide as high across `axis` (3,), else 0."""
    if shape.kind in ROUND_KINDS:
        return shape.radius
    if shape.kind != ShapeKind.MESH:
        return 0.0
    # The axis in the frame of the mesh, which has to be as wide as high across it.
    inside = quaternions.rotate(quaternions.conjugate(np.array([shape.orientation])), axis[None])[0]
    along = int(np.argmax(np.abs(inside)))
    if abs(inside[along]) < LEVEL:
        return 0.0
    try:
        _, half_extents = mesh_box(shape)
    except InvalidValueError:
        # Whoever needs the mesh itself says what is wrong with it.
        return 0.0
    low, high = sorted(np.delete(half_extents, along).tolist())
    return high if high - low <= ALIKE * high else 0.0
