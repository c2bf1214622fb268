"""<robot>/scan: readings of planar lidars."""

from __future__ import annotations

from sensor_msgs.msg import LaserScan

from fleet_sim.ros.sensors.bulk import BulkMessage
from fleet_sim.ros.sensors.names import frame_of
from fleet_sim.ros.sensors.topics import SensorTopics
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


class ScanTopic(SensorTopics):
    """Publishes ranges, and intensities if the lidar has them."""

    sensor_type = "lidar"
    message_type = LaserScan

    def prepare(self) -> None:
        frames, dt = self.bridge.frames, self.bridge.sim.clock.dt
        self._messages = [
            scan_message(
                channel.sensor.params,
                frame_of(frames, channel.sensor),
                dt if channel.sensor.params.rate is None else 1.0 / channel.sensor.params.rate,
            )
            for channel in self.channels
        ]

    def send(self, readings: Readings, now: int) -> None:
        ranges, intensities = readings.values["ranges"], readings.values["intensities"]
        for index, channel in self.with_channels(readings):
            arrays = {"ranges": ranges[index]}
            if intensities[index] is not None:
                arrays["intensities"] = intensities[index]
            channel.publisher.publish(self._messages[channel.slot].fill(now, **arrays))
