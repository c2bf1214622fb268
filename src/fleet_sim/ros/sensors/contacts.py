"""<robot>/contacts: contacts of bumpers."""

from __future__ import annotations

from geometry_msgs.msg import Point

from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.sensors.names import frame_of
from fleet_sim.ros.sensors.topics import SensorTopics
from fleet_sim.sensors import Readings
from fleet_sim_msgs.msg import Contacts


class ContactsTopic(SensorTopics):
    """Publishes the entities that touch a bumper and the points in its frame; an empty message without contacts.

    On <robot>/<bumper>, a Contacts with the names of the entities; points are in m.
    """

    sensor_type = "contact"
    message_type = Contacts

    def send(self, readings: Readings, now: int) -> None:
        """Publish what each sensor touches, by name, and where, in the sensor's frame."""
        world = self.bridge.sim.world
        stamp = time_to_msg(now)
        for index, channel in self.with_channels(readings):
            rows = world.index.rows_of(readings.values["others"][index]).tolist()
            message = Contacts(
                others=[world.label(row) for row in rows],
                points=[Point(x=x, y=y, z=z) for x, y, z in readings.values["points"][index].tolist()],
            )
            message.header.stamp = stamp
            message.header.frame_id = frame_of(self.bridge.frames, channel.sensor)
            channel.publisher.publish(message)
