"""The wheels of a robot to spawn: those that motors drive, and those that turn with the way where no motor does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.features import read_features, spawn_values
from fleet_sim.core.robot_model import FIXED, RobotModel
from fleet_sim.entities.spawn_params import AgentSpawnParams
from fleet_sim.kinematics.wheel_places import find_places
from fleet_sim.models.structure import Structure
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.shapes import ROUND_KINDS

TURNING = "wheels"
"""The feature that turns the wheels of robots without motors."""

LEVEL = 0.9
"""Minimum sideways component of a driven wheel's axis."""


@dataclass(frozen=True, eq=False)
class Wheels:
    """For each of the M joints that move: rad that the wheel turns per m rolled ahead (0: no driven wheel), and how far
    to the left of the base frame it is, in m.
    """

    rates: Floats
    offsets: Floats

    @property
    def driven(self) -> bool:
        """Whether there are driven wheels on both sides."""
        return bool((self.offsets[self.rates != 0.0] > 0.0).any() and (self.offsets[self.rates != 0.0] < 0.0).any())


def find_wheels(model: RobotModel, radius: float | None = None, separation: float | None = None) -> Wheels:
    """Return the wheels of `model`: those attached to its base that rotate about a sideways axis.

    `radius` and `separation` (between left and right wheels) in m take the place of what the description says. A wheel
    whose radius is not known, because it collides as a mesh, does not count.
    """
    count = len(model.movable)
    rates, offsets = np.zeros(count), np.zeros(count)
    structure = Structure(model)
    positions, orientations = structure.frames
    for place, joint in enumerate(model.movable.tolist()):
        above = list(model.chain(joint))[1:]
        # A wheel below another moving joint, as of a caster, is not attached to the base.
        if not structure.wheel_mask[joint] or any(model.joint_types[link] != FIXED for link in above):
            continue
        axis = quaternions.rotate(orientations[[joint]], model.axes[[joint]])[0]
        size = radius or _radius(model, joint)
        if abs(axis[1]) < LEVEL or not size:
            continue
        # The axis may point to either side, so the joint may have to turn backwards to roll ahead.
        rates[place] = np.sign(axis[1]) / size
        offset = float(positions[joint, 1])
        offsets[place] = np.sign(offset) * 0.5 * separation if separation else offset
    return Wheels(rates, offsets)


def _radius(model: RobotModel, link: int) -> float:
    """Return the radius of a wheel's collision shape, 0 if it is not round."""
    shapes = [part.geometry for part in model.collisions if part.link == link and part.geometry.kind in ROUND_KINDS]
    return max((shape.radius for shape in shapes), default=0.0)


def turns_wheels(model: RobotModel, params: AgentSpawnParams | None = None) -> bool:
    """Return whether a robot of `model`, spawned from `params`, has wheels that roll as it drives."""
    return bool(len(find_places(model, (params and params.wheel_radius) or 0.0).wheels))


def wheel_columns(params: AgentSpawnParams) -> dict[str, Any]:
    """Return the columns of the feature TURNING, which every robot has whose wheels turn without motors."""
    settings = params.features.get(TURNING) or read_features({TURNING: {}})[TURNING]
    sizes = {"radius": params.wheel_radius or 0.0, "separation": params.wheel_separation or 0.0}
    return {**spawn_values(TURNING, settings), **sizes}
