"""Sensors of swarm agents: one per file, by name in `BUILT_IN`."""

from __future__ import annotations

from typing import Any

from fleet_sim.swarm.sensors.binary_fov import BinaryFOVSensor
from fleet_sim.swarm.sensors.binary_los import BinaryLOSSensor
from fleet_sim.swarm.sensors.neighbours import NeighboursInRangeSensor
from fleet_sim.swarm.sensors.point_collision import PointCollisionSensor
from fleet_sim.swarm.sensors.regional import RegionalSensor
from fleet_sim.swarm.sensors.static import StaticSensor
from fleet_sim.swarm.sensors.targeter import Targeter

BUILT_IN: dict[str, type[Any]] = {
    "BinaryFOVSensor": BinaryFOVSensor,
    "binary_fov": BinaryFOVSensor,
    "BinaryLOSSensor": BinaryLOSSensor,
    "binary_los": BinaryLOSSensor,
    "RegionalSensor": RegionalSensor,
    "regional": RegionalSensor,
    "StaticSensor": StaticSensor,
    "static": StaticSensor,
    "PointCollisionSensor": PointCollisionSensor,
    "point_collision": PointCollisionSensor,
    "NeighboursInRangeSensor": NeighboursInRangeSensor,
    "neighbours_in_range": NeighboursInRangeSensor,
    "Targeter": Targeter,
    "targeter": Targeter,
}
"""The classes by name."""

__all__ = [
    "BUILT_IN",
    "BinaryFOVSensor",
    "BinaryLOSSensor",
    "NeighboursInRangeSensor",
    "PointCollisionSensor",
    "RegionalSensor",
    "StaticSensor",
    "Targeter",
]
