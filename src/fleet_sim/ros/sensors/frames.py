"""Frames of sensors: /tf_static, from the base or a link of their robot, or from the map."""

from __future__ import annotations

from tf2_msgs.msg import TFMessage

from fleet_sim.ros import qos
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.sensors.names import frame_links, is_published
from fleet_sim.ros.tf import frame_transform


class SensorFramesTopic(Interface):
    """Publishes the frames of all sensors in one message, whenever sensors are added or removed; latched.

    On /tf_static: where each sensor is mounted, in the frame of its link, and the optical frame of each camera.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.robots.create_publisher(TFMessage, "/tf_static", qos.LATCHED)
        self._version = -1

    def on_fleet_changed(self, roster: Roster) -> None:
        self._version = -1

    def receive(self) -> None:
        """Publish where all sensors are mounted, whenever one came or went."""
        sensors = self.bridge.sim.sensors
        if sensors.version == self._version:
            return
        self._version = sensors.version
        frames, now = self.bridge.frames, time_to_msg(self.bridge.time.now())
        published = [sensor for sensor in sensors.all if is_published(self.bridge, sensor)]
        transforms = [frame_transform(link) for sensor in published for link in frame_links(frames, sensor)]
        for transform in transforms:
            transform.header.stamp = now
        if transforms:
            self._publisher.publish(TFMessage(transforms=transforms))

    def publish(self, now: int) -> None:
        # At the end of a step as well, as sensors may have been added in it.
        self.receive()
