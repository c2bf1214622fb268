"""/clock: simulated time."""

from __future__ import annotations

from fleet_sim.cdr import ByteTemplate, MessagePart
from fleet_sim.core.ros_names import Frames
from fleet_sim.record.mcap_file import McapFile
from fleet_sim.record.message_types import make, serializer
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample

KIND = "rosgraph_msgs/msg/Clock"


class RecordedClock(RecordedTopic):
    """Records the time of each sample."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channel = RecordedChannel(file, "/clock", KIND)
        numbers = MessagePart({"sec": ("i4", ["clock.sec"]), "nanosec": ("u4", ["clock.nanosec"])})
        self._template = ByteTemplate([make(KIND)], [numbers], serializer(KIND))

    def write(self, sample: Sample) -> None:
        self._template.write_stamp(sample.now)
        self._channel.send(sample.now, self._template.views()[0])
