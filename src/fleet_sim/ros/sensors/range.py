"""<robot>/range: readings of range finders."""

from __future__ import annotations

from sensor_msgs.msg import Range

from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.sensors.topics import MessageTopics
from fleet_sim.sensors import RangeParams, Readings


def range_message(params: RangeParams, frame: str) -> Range:
    """Return the message of a range finder."""
    message = Range(
        radiation_type=Range.INFRARED if params.radiation == "infrared" else Range.ULTRASOUND,
        field_of_view=params.field_of_view,
        min_range=params.range_min,
        max_range=params.range_max,
    )
    message.header.frame_id = frame
    return message


class RangeTopic(MessageTopics):
    """Publishes the distance to the nearest obstacle: inf without one, -inf if it is too near.

    On <robot>/<sensor>, a sensor_msgs/Range in m with the sensor's field of view, as REP 117 has it.
    """

    sensor_type = "range"
    message_type = Range

    def message(self, params: RangeParams, frame: str) -> Range:
        return range_message(params, frame)

    def send(self, readings: Readings, now: int) -> None:
        stamp = time_to_msg(now)
        for index, channel in self.with_channels(readings):
            message = self._messages[channel.slot]
            message.header.stamp = stamp
            message.range = float(readings.values["range"][index])
            channel.publisher.publish(message)
