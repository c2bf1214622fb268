"""Contact sensors, and sensors of forces and torques in joints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows, ragged_range
from fleet_sim.base.errors import StateError
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.sensing.sensors.lidar import FULL_TURN, check_span
from fleet_sim.sensing.sensors.sensor import Batch, Reading, SensorKind, SensorParams, State
from fleet_sim.sensing.sensors.solids import nearer_on_surfaces, nearest_points, solids_of, surfaces_of
from fleet_sim.world.clock import normal_rows
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World


@dataclass(frozen=True)
class ContactParams(SensorParams):
    """A bumper: reports collisions of its robot between two angles in the sensor's frame, counter-clockwise.

    It uses the collision checks of the simulation, at their rate and with their margin.
    """

    default_name: ClassVar[str] = "contacts"

    angle_min: float = setting(
        -math.pi, low=-FULL_TURN, high=FULL_TURN, unit="rad", doc="Angle at which the bumper begins."
    )
    angle_max: float = setting(
        math.pi, low=-FULL_TURN, high=FULL_TURN, unit="rad", doc="Angle at which the bumper ends, counter-clockwise."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_span(self.angle_min, self.angle_max)


@dataclass(frozen=True, eq=False)
class ContactReading(Reading):
    """A reading of a bumper.

    `others` (K,) are object ids in ascending order, `points` (K, 3) the places, in the sensor's frame, at which they
    are nearest to it, `bearings` (K,) their directions in rad.
    """

    others: Ints
    points: Floats
    bearings: Floats

    @property
    def touching(self) -> bool:
        """Whether anything touches the bumper."""
        return len(self.others) > 0


class ContactSensor(SensorKind):
    """Reads bumpers from the colliding pairs."""

    params_class = ContactParams
    reading_class = ContactReading

    def sense(self, batch: Batch) -> dict[str, Any]:
        """Return others, points and bearings, an array for each sensor."""
        params: ContactParams = batch.params
        sensors, others = self._partners(batch.rows)
        points = self._points(batch, sensors, others)
        bearings = trig.arctan2(points[:, 1], points[:, 0])
        offsets = bearings - params.angle_min
        # Counted from where the bumper begins, in [0, 2 pi): so a bumper may extend across the angle pi.
        offsets -= FULL_TURN * np.floor(offsets / FULL_TURN)
        felt = np.flatnonzero(offsets <= params.angle_max - params.angle_min + 1e-9)
        sensors, ids = sensors[felt], self.world.object_id[others[felt]]
        order = np.lexsort((ids, sensors))
        # Sorted by sensor, so that one split gives every sensor its own, possibly empty, array.
        cuts = np.searchsorted(sensors[order], np.arange(1, len(batch)))
        values = {"others": ids, "points": points[felt], "bearings": bearings[felt]}
        return {name: _frozen(np.split(array[order], cuts)) for name, array in values.items()}

    def _partners(self, rows: Rows) -> tuple[Ints, Rows]:
        """Return pairs of an index in `rows` and a row that collides with it."""
        pairs = self.context.contacts()
        # Each pair is listed once; both of its entities feel it.
        first, second = np.concatenate((pairs, pairs[:, ::-1])).T
        order = np.argsort(first, kind="stable")
        first, second = first[order], second[order]
        starts = np.searchsorted(first, rows, "left")
        # A sensor fixed in the world collides with nothing.
        counts = np.where(rows == NO_ROW, 0, np.searchsorted(first, rows, "right") - starts)
        return np.repeat(np.arange(len(rows)), counts), second[ragged_range(starts, counts)]

    def _points(self, batch: Batch, sensors: Ints, others: Rows) -> Floats:
        """Return the nearest points (K, 3) of the entities `others` in the frames of `sensors` (K,)."""
        if not len(sensors):
            return np.empty((0, 3))
        rows, points = np.unique(others), batch.positions[sensors]
        nearest = nearest_points(solids_of(self.world, rows), others, points)
        world = nearer_on_surfaces(surfaces_of(self.world, rows), others, points, nearest)
        return quaternions.rotate(quaternions.conjugate(batch.orientations[sensors]), world - batch.positions[sensors])


def _frozen(arrays: list[Any]) -> list[Any]:
    for array in arrays:
        array.flags.writeable = False
    return arrays


# Force/torque sensors: what acts in a joint of a robot that the engine moves.


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
        torque = torque - quaternions.cross_rows(places, force)
        return {
            "force": quaternions.rotate(back, force) + _noise(batch, params.force_noise, _FORCE),
            "torque": quaternions.rotate(back, torque) + _noise(batch, params.torque_noise, _TORQUE),
        }


def _noise(batch: Batch, deviation: float, channel: int) -> Floats:
    """Return noise (N, 3) of a standard deviation."""
    if not deviation:
        return np.zeros((len(batch), 3))
    return deviation * normal_rows(batch.keys, batch.tick, 3, channel)
