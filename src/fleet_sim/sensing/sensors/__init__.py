"""Sensors: what robots see, measure and touch. Read when due and asked for, in simulation time.

A kind is a `SensorKind`, which reads all of its sensors in one call; its name is in `registry.py`.
"""

from __future__ import annotations

from fleet_sim.sensing.sensors.contact import ContactParams, ForceTorqueParams
from fleet_sim.sensing.sensors.imu import ImuParams, OdometryParams
from fleet_sim.sensing.sensors.lidar import Lidar3dParams, LidarParams, RangeParams, draw_scans
from fleet_sim.sensing.sensors.occupancy import OccupancyGrid, occupancy_grid
from fleet_sim.sensing.sensors.registry import (
    list_sensors,
    plan_sensor,
    register_sensor,
    sensor_kind,
    sensor_params_class,
)
from fleet_sim.sensing.sensors.sensor import (
    Batch,
    CameraReading,
    CameraSensorParams,
    Reading,
    Readings,
    Sensor,
    SensorContext,
    SensorKind,
    SensorParams,
)
from fleet_sim.sensing.sensors.system import SensorSystem

__all__ = [
    "Batch",
    "CameraReading",
    "CameraSensorParams",
    "ContactParams",
    "ForceTorqueParams",
    "ImuParams",
    "Lidar3dParams",
    "LidarParams",
    "OccupancyGrid",
    "OdometryParams",
    "RangeParams",
    "Reading",
    "Readings",
    "Sensor",
    "SensorContext",
    "SensorKind",
    "SensorParams",
    "SensorSystem",
    "draw_scans",
    "list_sensors",
    "occupancy_grid",
    "plan_sensor",
    "register_sensor",
    "sensor_kind",
    "sensor_params_class",
]
