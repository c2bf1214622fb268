"""<robot>/plan: the path each robot follows, recorded when it changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, ranges
from fleet_sim.cdr import ORIENTATION, POSITION, ByteTemplate, under
from fleet_sim.core.ros_names import Frames, is_ros_name
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.record.mcap_file import LATCHED, McapFile
from fleet_sim.record.message_types import make, stamped
from fleet_sim.record.settings import PATH_PERIOD
from fleet_sim.record.topic import KEYFRAME, RecordedTopic, Sample, template

KIND = "nav_msgs/msg/Path"
KEYFRAME_NS = KEYFRAME * 1_000_000_000
NEW, NO_TOPIC = 0, -1


@lru_cache(maxsize=64)
def path_template(frame: str, count: int) -> ByteTemplate:
    """Return the template of a path of `count` poses in `frame`."""
    poses = [make("geometry_msgs/msg/PoseStamped", header=stamped(frame)) for _ in range(count)]
    numbers = {"pose": ("f8", under("pose", (*POSITION, *ORIENTATION)))}
    return template(KIND, [make(KIND, header=stamped(frame), poses=poses)], numbers, "poses")


class RecordedPlans(RecordedTopic):
    """Records paths in the map frame, from the robot to the last waypoint, and an empty path at the end of one.

    Viewers draw nothing for a path of one pose, so where the robot is comes first.
    """

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._names: tuple[str, ...] = ()
        self._channels: Ints = np.zeros(0, np.int64)
        """Of each entity: NEW before its first path, NO_TOPIC where its name cannot be part of a topic."""
        self._recorded = _Paths.none(0)
        self._written_at: Ints = np.zeros(0, np.int64)
        """When the path of each was last written, in ns."""
        self._looked = -PATH_PERIOD

    def on_bodies_changed(self, sample: Sample) -> None:
        """Look at all paths again at the next sample, and end the paths of robots that are gone."""
        self._looked = -PATH_PERIOD
        names, before = sample.snapshot.names, {name: index for index, name in enumerate(self._names)}
        self._end_paths_of([before[name] for name in before.keys() - set(names)], sample.now)
        chosen = np.array([before.get(name, -1) for name in names], np.int64)
        self._recorded = self._recorded.of(chosen)
        # The last one is for those that are new: nothing of them was written.
        self._written_at = np.append(self._written_at, 0)[chosen]
        known = self._channels.tolist()
        channels = [known[before[name]] if name in before else NEW if is_ros_name(name) else NO_TOPIC for name in names]
        self._channels = np.array(channels, np.int64)
        self._names = names

    def _end_paths_of(self, gone: list[int], now: int) -> None:
        """Write an empty path where there was one: players keep the last path of a name."""
        for index in sorted(gone):
            if self._recorded.counts[index] and self._channels[index] != NO_TOPIC:
                empty = path_template(self.frames.map, 0)
                empty.write_stamp(now)
                self.file.write(int(self._channels[index]), now, empty.views()[0])

    def write(self, sample: Sample) -> None:
        """Write the path of each robot whose path has changed, an empty one where it has ended, others at times."""
        now, snapshot = sample.now, sample.snapshot
        if now - self._looked < PATH_PERIOD:
            return
        self._looked = now
        paths = _Paths.of_all(snapshot)
        written_mask = paths.differ_from(self._recorded)
        # For players that begin later.
        written_mask |= (paths.counts > 0) & (now - self._written_at >= KEYFRAME_NS)
        written_mask &= self._channels != NO_TOPIC
        self._recorded = paths
        self._written_at[written_mask] = now
        for index in np.flatnonzero(written_mask & (self._channels == NEW)).tolist():
            self._channels[index] = self.file.channel(f"/{self._names[index]}/plan", KIND, LATCHED)
        here = np.concatenate([snapshot.positions, snapshot.orientations], axis=1)
        # All of one length at once: in the traffic, they are a thousand a second.
        for count in np.unique(paths.counts[written_mask]).tolist():
            robots = np.flatnonzero(written_mask & (paths.counts == count))
            poses = paths.poses[paths.places_of(robots)].reshape(len(robots), count, 7)
            # An empty path has no beginning either.
            poses = np.concatenate([here[robots, None], poses], axis=1) if count else poses
            path = path_template(self.frames.map, poses.shape[1])
            path.write_stamp(now)
            self.file.write_all(self._channels[robots], now, path.repeated("pose", poses))


@dataclass(frozen=True, eq=False)
class _Paths:
    """Paths of entities, one after the other: their `poses` (P, 7), how many each has, and where they begin."""

    poses: Floats
    counts: Ints
    begins: Ints

    @classmethod
    def of_all(cls, snapshot: Snapshot) -> _Paths:
        """Return the paths of all entities of `snapshot`."""
        poses = np.concatenate([snapshot.path_positions, snapshot.path_orientations], axis=1)
        return cls(poses, np.diff(snapshot.path_starts), snapshot.path_starts[:-1])

    @classmethod
    def none(cls, count: int) -> _Paths:
        """Return the paths of `count` entities without waypoints."""
        return cls(np.empty((0, 7)), np.zeros(count, np.int64), np.zeros(count, np.int64))

    def of(self, chosen: Ints) -> _Paths:
        """Return the paths of `chosen` (K,), where -1 stands for one without a path."""
        there_mask, paths = chosen >= 0, _Paths.none(len(chosen))
        paths.counts[there_mask] = self.counts[chosen[there_mask]]
        paths.begins[there_mask] = self.begins[chosen[there_mask]]
        return replace(paths, poses=self.poses)

    def places_of(self, chosen: Ints) -> Ints:
        """Return where the poses of `chosen` (K,) are, one path after the other."""
        return ranges(self.begins[chosen], self.counts[chosen])

    def differ_from(self, others: _Paths) -> Bools:
        """Return whose path differs, bit by bit, from the one that `others` has of the same entity."""
        differ_mask = self.counts != others.counts
        same = np.flatnonzero(~differ_mask & (self.counts > 0))
        if len(same):
            poses = self.poses[self.places_of(same)], others.poses[others.places_of(same)]
            others_mask = np.not_equal(*(pose.view(np.int64) for pose in poses)).any(axis=1)
            counts = self.counts[same]
            differ_mask[same] = np.logical_or.reduceat(others_mask, np.cumsum(counts) - counts)
        return differ_mask
