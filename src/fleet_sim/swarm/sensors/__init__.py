"""Sensors of swarm agents: one per file. One line here gives it its names."""

from __future__ import annotations

from fleet_sim.swarm.agents import Sensor
from fleet_sim.swarm.component import OWNERS
from fleet_sim.swarm.parts import PartRegistry, built_in_names
from fleet_sim.swarm.sensors.binary_fov import BinaryFOVSensor as BinaryFOVSensor
from fleet_sim.swarm.sensors.binary_los import BinaryLOSSensor as BinaryLOSSensor
from fleet_sim.swarm.sensors.neighbours_in_range import NeighboursInRangeSensor as NeighboursInRangeSensor
from fleet_sim.swarm.sensors.point_collision import PointCollisionSensor as PointCollisionSensor
from fleet_sim.swarm.sensors.regional import RegionalSensor as RegionalSensor
from fleet_sim.swarm.sensors.static_sensor import StaticSensor as StaticSensor
from fleet_sim.swarm.sensors.targeter import Targeter as Targeter

BUILT_IN: dict[str, type[Sensor]] = built_in_names(globals(), suffix="Sensor")
SENSORS = PartRegistry("sensor", Sensor, BUILT_IN, OWNERS)
