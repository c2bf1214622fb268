"""/fleet/collisions: the pairs in collision, recorded when they changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.core.ros_names import Frames
from fleet_sim.record.mcap_file import LATCHED, McapFile
from fleet_sim.record.message_types import make, stamped
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample

KIND = "fleet_sim_msgs/msg/Collisions"
Pair = tuple[str, str]


class RecordedCollisions(RecordedTopic):
    """Records which pairs are in collision, and which of them began or ended since the last message."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channel = RecordedChannel(file, "/fleet/collisions", KIND, LATCHED)
        self._active: dict[Pair, None] | None = None
        self._pairs: Ints | None = None

    def on_bodies_changed(self, sample: Sample) -> None:
        """Write the pairs again at the next sample: they are by name."""
        # The indices are others now.
        self._pairs = None

    def write(self, sample: Sample) -> None:
        """Write which pairs began and ended to collide, and which do, when that changes, and at times all the same."""
        snapshot, before, keyframe = sample.snapshot, self._active, self.is_keyframe(sample.now)
        if not keyframe and self._pairs is not None and np.array_equal(self._pairs, snapshot.collisions):
            return
        self._pairs = snapshot.collisions
        active = {(snapshot.names[a], snapshot.names[b]): None for a, b in snapshot.collisions.tolist()}
        # The first sample says that there are none yet.
        if active == before and not keyframe:
            return
        known = before or {}
        message = make(
            KIND,
            header=stamped(self.frames.map, sample.now),
            active=_messages(active),
            started=_messages(pair for pair in active if pair not in known),
            ended=_messages(pair for pair in known if pair not in active),
        )
        self._active = active
        self._channel.send_message(sample.now, message)


def _messages(pairs: Iterable[Pair]) -> list[Any]:
    return [make("fleet_sim_msgs/msg/CollisionPair", first=first, second=second) for first, second in pairs]
