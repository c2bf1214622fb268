"""Sensors: what robots see, measure and touch. Read when due and asked for, in simulation time.

One kind per file, a `SensorKind` that reads all of its sensors in one call; its name is in `registry.py`.
"""

from __future__ import annotations

from fleet_sim.sensors.camera import CameraReading, CameraSensorParams
from fleet_sim.sensors.contact import ContactParams
from fleet_sim.sensors.drawing import draw_scans
from fleet_sim.sensors.force_torque import ForceTorqueParams
from fleet_sim.sensors.imu import ImuParams
from fleet_sim.sensors.kind import Batch, SensorContext, SensorKind
from fleet_sim.sensors.lidar import LidarParams
from fleet_sim.sensors.lidar_3d import Lidar3dParams
from fleet_sim.sensors.occupancy import OccupancyGrid, occupancy_grid
from fleet_sim.sensors.odometry import OdometryParams
from fleet_sim.sensors.range import RangeParams
from fleet_sim.sensors.registry import (
    list_sensors,
    plan_sensor,
    register_sensor,
    sensor_kind,
    sensor_params_class,
)
from fleet_sim.sensors.sensor import Reading, Readings, Sensor, SensorParams
from fleet_sim.sensors.system import SensorSystem

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
