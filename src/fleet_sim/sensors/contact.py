"""Contact sensors: the entities that touch a robot, on a given side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.sensors.kind import Batch, SensorKind
from fleet_sim.sensors.nearby import ragged_range
from fleet_sim.sensors.ranging import FULL_TURN, check_span
from fleet_sim.sensors.sensor import Reading, SensorParams
from fleet_sim.sensors.solids import nearest_points, solids_of
from fleet_sim.sensors.surfaces import nearer_on_surfaces, surfaces_of
from fleet_sim.settings import setting
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig


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
