"""Sensors of swarm agents. One line here gives each its names."""

from __future__ import annotations

from fleet_sim.swarm.agents import Sensor
from fleet_sim.swarm.parameters import OWNERS, PartRegistry, built_in_names
from fleet_sim.swarm.sensors.binary import BinaryFOVSensor as BinaryFOVSensor
from fleet_sim.swarm.sensors.binary import BinaryLOSSensor as BinaryLOSSensor
from fleet_sim.swarm.sensors.binary import NeighboursInRangeSensor as NeighboursInRangeSensor
from fleet_sim.swarm.sensors.binary import PointCollisionSensor as PointCollisionSensor
from fleet_sim.swarm.sensors.binary import RegionalSensor as RegionalSensor
from fleet_sim.swarm.sensors.binary import StaticSensor as StaticSensor
from fleet_sim.swarm.sensors.binary import Targeter as Targeter

SENSORS = PartRegistry("sensor", Sensor, built_in_names(globals(), suffix="Sensor"), OWNERS)
