"""/fleet/orders: what became of each order that changed."""

from __future__ import annotations

from fleet_sim.core.ros_names import Frames
from fleet_sim.record.mcap_file import McapFile, Qos
from fleet_sim.record.message_types import make, time_message
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample

KIND = "fleet_sim_msgs/msg/OrderStatus"


class RecordedOrders(RecordedTopic):
    """Records the statuses of the orders that changed since the last sample."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channel = RecordedChannel(file, "/fleet/orders", KIND, Qos(depth=100))

    def write(self, sample: Sample) -> None:
        """Write one message for each order that changed."""
        for status in sample.orders:
            message = make(KIND, stamp=time_message(sample.now), **status.message_fields())
            self._channel.send_message(sample.now, message)
