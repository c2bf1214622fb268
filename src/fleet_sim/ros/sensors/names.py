"""Names of sensor topics and frames, and which sensors have them."""

from __future__ import annotations

from fleet_sim.core.ros_names import is_ros_name
from fleet_sim.ros.interface import Bridge
from fleet_sim.sensors import Sensor
from fleet_sim.sensors.ros_frames import frame_links as frame_links
from fleet_sim.sensors.ros_frames import frame_of as frame_of
from fleet_sim.sensors.ros_frames import optical_frame_of as optical_frame_of
from fleet_sim.sensors.ros_frames import owner_of
from fleet_sim.sensors.ros_frames import reference_of as reference_of
from fleet_sim.sensors.ros_frames import topic_of as topic_of


def is_published(bridge: Bridge, sensor: Sensor) -> bool:
    """Return whether a sensor has topics and a frame: its names are valid, and its robot has the group `sensors`."""
    owner = owner_of(sensor)
    if owner and not (is_ros_name(owner) and bridge.params.has_own(owner, "sensors")):
        return False
    return is_ros_name(sensor.name)
