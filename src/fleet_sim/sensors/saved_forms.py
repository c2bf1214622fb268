"""How sensors, their groups and their readings are written in state files, and found again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleet_sim.core.saving.forms import Form
from fleet_sim.core.saving.objects import attributes_of
from fleet_sim.core.schema import NO_ROW
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import StateFileError, brief
from fleet_sim.sensors.group import SensorGroup
from fleet_sim.sensors.groups import GroupKey, SensorGroups
from fleet_sim.sensors.kind import SensorKind
from fleet_sim.sensors.registry import plan_sensor, sensor_kind, sensor_params_class
from fleet_sim.sensors.roster import SensorRoster
from fleet_sim.sensors.sensor import Readings, Sensor, SensorKeeper, SensorParams


class SensorForms:
    """The forms of the sensors of one simulation."""

    def __init__(self, keeper: SensorKeeper, groups: SensorGroups, roster: SensorRoster) -> None:
        self._keeper, self._groups, self._roster = keeper, groups, roster

    def forms(self) -> Iterator[Form[Any]]:
        """Yield all forms."""
        yield Form("sensor", Sensor, _of_sensor, self._sensor)
        yield Form("sensor_group", SensorGroup, self._of_group, self._group)
        yield Form("sensor_kind", SensorKind, self._groups.name_of, self._groups.kind)
        yield Form("sensor_params", SensorParams, _of_params, _params)
        yield Form("readings", Readings, _of_readings, _readings)

    def _sensor(self, saved: tuple[str, SensorParams, SimObject | None, int]) -> Sensor:
        """Return the sensor that `saved` stands for: the one that is mounted if it is the same, else a new one."""
        kind, params, owner, link = saved
        if type(params) is not sensor_params_class(kind) or type(link) is not int or link < -1:
            raise StateFileError(f"{brief(saved)} is no sensor")
        if owner is None or owner.is_alive:
            row = NO_ROW if owner is None else owner.row
            known = self._roster.named(row, params.name) if self._roster.has(row, params.name) else None
            if known is not None and (known.type, known.params, known.link) == (kind, params, link):
                return known
        return Sensor(self._keeper, kind, params, owner, link)

    def _of_group(self, group: SensorGroup) -> GroupKey:
        return next(key for key, known in self._groups.items() if known is group)

    def _group(self, key: GroupKey) -> SensorGroup:
        kind, common, slot = key
        if type(common) is not sensor_params_class(kind) or type(slot) is not int or slot < 0:
            raise StateFileError(f"{brief(key)} is no group of sensors")
        return self._groups.get(kind, common, slot)


def _of_sensor(sensor: Sensor) -> object:
    return sensor.type, sensor.params, sensor.owner, sensor.link


def _of_params(params: SensorParams) -> object:
    return plan_sensor(params).type, attributes_of(params)


def _params(saved: tuple[str, dict[str, Any]]) -> SensorParams:
    # By the constructor: it checks every value as one of a scenario.
    kind, values = saved
    return sensor_params_class(kind)(**values)


def _of_readings(readings: Readings) -> object:
    return readings.sensors[0].type, list(readings.sensors), readings.time, readings.tick, dict(readings.values)


def _readings(saved: tuple[str, list[Sensor], float, int, dict[str, Any]]) -> Readings:
    kind, sensors, time, tick, values = saved
    if not all(isinstance(sensor, Sensor) for sensor in sensors) or any(
        len(value) != len(sensors) for value in values.values()
    ):
        raise StateFileError(f"readings of {brief(kind)}: not one for each sensor")
    return Readings(sensors, time, tick, values, sensor_kind(kind).reading_class)
