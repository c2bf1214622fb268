"""<robot>/plan: the path each robot follows, recorded when it changed."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.cdr import ORIENTATION, POSITION, ByteTemplate, under
from fleet_sim.core.ros_names import Frames, is_ros_name
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.record.mcap_file import LATCHED, McapFile
from fleet_sim.record.message_types import make, stamped
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample, template

KIND = "nav_msgs/msg/Path"
PERIOD = 500_000_000
"""In ns, between two looks at the paths."""
POSE_SIZE = 56
"""Bytes of the position and the orientation of a waypoint."""


@lru_cache(maxsize=64)
def path_template(frame: str, count: int) -> ByteTemplate:
    """Return the template of a path of `count` waypoints in `frame`."""
    poses = [make("geometry_msgs/msg/PoseStamped", header=stamped(frame)) for _ in range(count)]
    numbers = {"pose": ("f8", under("pose", (*POSITION, *ORIENTATION)))}
    return template(KIND, [make(KIND, header=stamped(frame), poses=poses)], numbers, "poses")


class RecordedPlans(RecordedTopic):
    """Records the waypoints of paths in the map frame, an empty path at the end of one."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channels: dict[str, RecordedChannel] = {}
        self._recorded: dict[str, bytes] = {}
        self._looked = -PERIOD

    def on_bodies_changed(self, sample: Sample) -> None:
        """Look at all paths again at the next sample, and forget those of robots that are gone."""
        self._looked = -PERIOD
        # Who is spawned again under the name of one that was removed has another path.
        names = set(sample.snapshot.names)
        self._recorded = {name: points for name, points in self._recorded.items() if name in names}

    def write(self, sample: Sample) -> None:
        """Write the path of each robot whose path has changed, an empty one where it has ended."""
        if sample.now - self._looked < PERIOD:
            return
        self._looked = sample.now
        snapshot = sample.snapshot
        poses = np.concatenate([snapshot.path_positions, snapshot.path_orientations], axis=1)
        for count, begins in self._changed(snapshot, poses).items():
            path = path_template(self.frames.map, count)
            path.write_stamp(sample.now)
            # All of one length at once: in the traffic, they are a thousand a second.
            places = np.array(list(begins.values()))[:, None] + np.arange(count)
            for name, data in zip(begins, path.repeated("pose", poses[places]), strict=True):
                self._channel(name).send(sample.now, data)

    def _changed(self, snapshot: Snapshot, poses: Floats) -> dict[int, dict[str, int]]:
        """Return where in `poses` the paths begin that have changed: by their length, and by the names of robots."""
        content, starts = poses.tobytes(), snapshot.path_starts.tolist()
        paths = set(np.flatnonzero(np.diff(snapshot.path_starts)).tolist())
        # Those whose path has just ended, too: an empty one is recorded.
        paths.update(snapshot.index_of(name) for name, points in self._recorded.items() if points)
        changed: dict[int, dict[str, int]] = {}
        for index in sorted(paths):
            name, begin, end = snapshot.names[index], starts[index], starts[index + 1]
            own = content[POSE_SIZE * begin : POSE_SIZE * end]
            if own != self._recorded.get(name, b"") and (name in self._channels or is_ros_name(name)):
                self._recorded[name] = own
                changed.setdefault(end - begin, {})[name] = begin
        return changed

    def _channel(self, name: str) -> RecordedChannel:
        if name not in self._channels:
            self._channels[name] = RecordedChannel(self.file, f"/{name}/plan", KIND, LATCHED)
        return self._channels[name]
