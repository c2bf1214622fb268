"""Force/torque sensors: what acts in a joint of a robot that the engine moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.random import normal_rows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.errors import StateError
from fleet_sim.sensors.kind import Batch, SensorKind, State
from fleet_sim.sensors.sensor import Reading, SensorParams
from fleet_sim.settings import setting
from fleet_sim.spatial import quaternions

_FORCE, _TORQUE = range(2)
"""Channels of noise."""


@dataclass(frozen=True)
class ForceTorqueParams(SensorParams):
    """A force/torque sensor in the joint that carries its `link`, fixed joints included."""

    default_name: ClassVar[str] = "wrench"

    force_noise: float = setting(0.0, low=0, unit="N", doc="Standard deviation of the force along each axis.")
    torque_noise: float = setting(0.0, low=0, unit="N m", doc="Standard deviation of the torque about each axis.")


@dataclass(frozen=True, eq=False)
class ForceTorqueReading(Reading):
    """A reading of a force/torque sensor: `force` (3,) in N and `torque` (3,) in N m, in the sensor's frame.

    They are what the parent applies to the link, motor included, in the last step of the engine: a link at rest is held
    up by the weight of all it carries. The torque is about the origin of the sensor's frame. NaN before the first step,
    and while something carries the robot. Of joints that mimic others or are mimicked, the part along the axis that
    their gear applies is not measured.
    """

    force: Floats
    torque: Floats


class ForceTorque(SensorKind):
    """Reads the wrenches of joints that the engine measures in each of its steps."""

    params_class = ForceTorqueParams
    reading_class = ForceTorqueReading

    @classmethod
    def check_mount(cls, world: World, row: int, link: int) -> None:
        """Raise StateError for an entity without forces in joints, and for the base, which no joint carries."""
        label = "the world" if row == NO_ROW else repr(world.label(row))
        if row == NO_ROW or not world.dynamic[row] or world.model_of(row) is None:
            raise StateError(
                f"force_torque: {label} has no forces in joints; they act with physics on, in a robot with a "
                "description and a mass (mass: null is that of the description)"
            )
        if link < 0:
            raise StateError(f"force_torque: the base of {label} is carried by no joint; name another link")

    def state(self, params: ForceTorqueParams) -> State:
        """Remember that the engine was told to measure."""
        return {"told": np.empty(0, np.bool_)}

    def begin(self, batch: Batch) -> None:
        """Let the engine measure from its next step on."""
        self.context.reactions.want(batch.rows, batch.links)
        batch.state["told"][:] = True

    def sense(self, batch: Batch) -> Mapping[str, Any]:
        """Return forces and torques."""
        params: ForceTorqueParams = batch.params
        wrenches = self.context.reactions.wrenches(batch.rows, batch.links)
        poses = [sensor.params.pose for sensor in batch.sensors]
        places = np.array([pose.position for pose in poses]).reshape(-1, 3)
        back = quaternions.conjugate(np.array([pose.orientation for pose in poses]).reshape(-1, 4))
        force, torque = wrenches[:, :3], wrenches[:, 3:]
        # From the origin of the link to that of the sensor.
        torque = torque - quaternions.cross(places, force)
        return {
            "force": quaternions.rotate(back, force) + _noise(batch, params.force_noise, _FORCE),
            "torque": quaternions.rotate(back, torque) + _noise(batch, params.torque_noise, _TORQUE),
        }


def _noise(batch: Batch, deviation: float, channel: int) -> Floats:
    """Return noise (N, 3) of a standard deviation."""
    if not deviation:
        return np.zeros((len(batch), 3))
    return deviation * normal_rows(batch.keys, batch.tick, 3, channel)
