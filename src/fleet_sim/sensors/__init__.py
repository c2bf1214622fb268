"""Sensors: what robots see, measure and touch. Read when due and asked for, in simulation time.

One kind per file, a `SensorKind` that reads all of its sensors in one call; its place in the list is here.
"""

from __future__ import annotations

from fleet_sim.sensors.base import Batch, Reading, Readings, Sensor, SensorContext, SensorKind, SensorParams
from fleet_sim.sensors.camera import Camera, CameraReading, CameraSensorParams
from fleet_sim.sensors.contact import Contact, ContactParams
from fleet_sim.sensors.drawing import draw_scans
from fleet_sim.sensors.imu import Imu, ImuParams
from fleet_sim.sensors.lidar import Lidar, LidarParams
from fleet_sim.sensors.lidar_3d import Lidar3d, Lidar3dParams
from fleet_sim.sensors.occupancy import OccupancyGrid, occupancy_grid
from fleet_sim.sensors.odometry import Odometry, OdometryParams
from fleet_sim.sensors.range import Range, RangeParams
from fleet_sim.sensors.registry import (
    list_sensors,
    plan_sensor,
    register_sensor,
    sensor_kind,
    sensor_params_class,
)
from fleet_sim.sensors.system import SensorSystem

_BUILT_IN: dict[str, type[SensorKind]] = {
    "camera": Camera,
    "contact": Contact,
    "imu": Imu,
    "lidar": Lidar,
    "lidar_3d": Lidar3d,
    "odometry": Odometry,
    "range": Range,
}

for _name, _kind in _BUILT_IN.items():
    register_sensor(_name, _kind)

__all__ = [
    "Batch",
    "CameraReading",
    "CameraSensorParams",
    "ContactParams",
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
