"""Reading sensors in a controller, with errors that say what is wrong."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.agents import Group


def reading(group: Group, sensor_id: int, what: str) -> AnyArray:
    """Return the last readings (N, ...) of sensor `sensor_id` of `group`; raises InvalidValueError without it."""
    if sensor_id not in group.readings:
        raise InvalidValueError(
            f"{what}: sensor_id {sensor_id} does not exist; these agents have {len(group.sensors)} sensors,"
            " which count from 0"
        )
    return group.readings[sensor_id]


def detections(group: Group, sensor_id: int, what: str) -> Bools:
    """Return which agents (N,) of `group` detect something: a reading other than 0, NaN and no row.

    Raises InvalidValueError where the sensor does not exist, or reads more than one number.
    """
    values = reading(group, sensor_id, what)
    if values.ndim != 1:
        raise InvalidValueError(f"{what}: sensor {sensor_id} gives {values.shape[1:]} numbers; a binary one is needed")
    if values.dtype.kind == "f":
        return np.asarray((values != 0) & ~np.isnan(values))
    return np.asarray(values != 0)


def positions(group: Group, sensor_id: int, what: str) -> Floats:
    """Return positions (N, 2) in the world frame from a sensor that reads them; NaN where it has none.

    Raises InvalidValueError where the sensor does not exist, or reads something else.
    """
    values = reading(group, sensor_id, what)
    if values.shape[1:] != (2,) and len(values):
        raise InvalidValueError(f"{what}: sensor {sensor_id} does not read positions; a Targeter does")
    return np.asarray(values, np.float64).reshape(len(group), 2)
