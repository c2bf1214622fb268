"""<robot>/scan: readings of planar lidars."""

from __future__ import annotations

from sensor_msgs.msg import LaserScan

from fleet_sim.ros.sensors.bulk import BulkMessage
from fleet_sim.ros.sensors.topics import Channel, MessageTopics
from fleet_sim.sensors import LidarParams, Readings


def scan_message(params: LidarParams, frame: str, period: float) -> BulkMessage:
    """Return the message of a lidar, with the arrays ranges and intensities."""
    message = LaserScan(
        angle_min=params.angle_min,
        angle_max=float(params.angles[-1]),
        angle_increment=params.angle_increment,
        scan_time=period,
        range_min=params.range_min,
        range_max=params.range_max,
    )
    message.header.frame_id = frame
    count = params.rays
    return BulkMessage(message, {"ranges": ("f4", count), "intensities": ("f4", count if params.intensities else 0)})


class ScanTopic(MessageTopics):
    """Publishes ranges, and intensities if the lidar has them.

    On <robot>/<lidar>, a LaserScan, counter-clockwise from `angle_min`: inf where nothing is in range, -inf nearer than
    `range_min`.
    """

    sensor_type = "lidar"
    message_type = LaserScan

    def message_of(self, channel: Channel) -> BulkMessage:
        return scan_message(channel.sensor.params, self.frame_of(channel.sensor), self.period_of(channel))

    def send(self, readings: Readings, now: int) -> None:
        """Publish the ranges of each lidar, and the intensities of those that read them."""
        ranges, intensities = readings.values["ranges"], readings.values["intensities"]
        for index, channel in self.with_channels(readings):
            arrays = {"ranges": ranges[index]}
            if intensities[index] is not None:
                arrays["intensities"] = intensities[index]
            channel.publisher.publish(self._messages[channel.slot].fill(now, **arrays))
