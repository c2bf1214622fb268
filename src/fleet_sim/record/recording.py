"""Recording: what a recording holds, read back as snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fleet_sim.arrays import Floats, as_float
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.gate.json_values import mapping_in
from fleet_sim.output import as_path
from fleet_sim.record.entities import RecordedRoster, read_roster
from fleet_sim.record.mcap_index import McapIndex, Place, Topic, count_until
from fleet_sim.record.message_types import NS_PER_S
from fleet_sim.record.recorder import ABOUT, FLOOR_PLAN, FORMAT, SCENARIO
from fleet_sim.record.topics import bodies
from fleet_sim.record.topics.joints import SHARED
from fleet_sim.record.unpacking import (
    FleetReader,
    read_collisions,
    read_details,
    read_object_poses,
    read_path,
    string_of,
)
from fleet_sim.sites.floor_plan import FloorPlan, plans_from_json

Read = TypeVar("Read")


class Recording:
    """A recording made by `sim.record`, also one that was cut off; for one thread at a time.

    `times` are those of its samples in s, never less than the one before; `duration` is the last of them less the
    first. `whole` tells whether it was closed, `notes` what of it cannot be shown here. `folders` are those that models
    and meshes may be read from, besides the folders of models. Raises InvalidValueError for a file that is no recording
    of ours, or broken, also while it is read.
    """

    def __init__(self, path: str | Path, *, folders: Sequence[str | Path] = ()) -> None:
        self.path = as_path(path)
        self._folders = tuple(folders)
        self.index = McapIndex(self.path)
        try:
            self._read_head()
        except BaseException:
            self.index.close()
            raise
        self._closed = False
        self._kept: dict[tuple[str, int], Any] = {}
        self._readers: dict[int, FleetReader] = {}
        self._objects: tuple[int, int, dict[str, Floats]] = (-1, -1, {})

    def _read_head(self) -> None:
        """Read what the recording says about itself; raises InvalidValueError for other files."""
        path = self.path
        self.about: Mapping[str, str] = self.index.metadata.get(ABOUT, {})
        if (given := self.about.get("format")) != FORMAT:
            version = self.about.get("version")
            made = f"it was made by fleet_sim {version}, in the format {given!r}; show it with that version"
            reason = "it is an MCAP file, but no recording of fleet_sim" if given is None else made
            raise InvalidValueError(f"{path}: {reason}; this version reads {FORMAT!r}")
        self.whole = self.index.whole
        self._states = self._topic("/fleet/states").places
        if not self._states:
            raise InvalidValueError(f"{path}: there is no sample in it: the run was over, or killed, before the first")
        self.times: Floats = np.array([place.time for place in self._states], np.float64) / NS_PER_S
        if (np.diff(self.times) < 0.0).any():
            raise InvalidValueError(f"{path}: its times go back")

    @property
    def duration(self) -> float:
        """Simulated time from the first sample to the last, in s."""
        return float(self.times[-1] - self.times[0])

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario of the run; empty where it was built in Python, or cannot be written."""
        text = self.index.attachments.get(SCENARIO)
        if text is None:
            return {}
        return mapping_in(text, f"{self.path}: {SCENARIO} in it")

    @property
    def floor_plans(self) -> tuple[FloorPlan, ...]:
        """Stations, zones and doors of the building, storey by storey; none where the run was in none."""
        text = self.index.attachments.get(FLOOR_PLAN)
        try:
            return () if text is None else plans_from_json(text)
        except InvalidValueError as error:
            raise InvalidValueError(f"{self.path}: {FLOOR_PLAN} in it: {error}") from error

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the entities met so far cannot be shown here, and why."""
        return tuple(dict.fromkeys(note for reader in self._readers.values() for note in reader.roster.notes))

    def snapshot_at(self, time: float) -> Snapshot:
        """Return the state of the last sample that is not after `time` in s; before the first, that one.

        Poses, joints and paths are as recorded, bit for bit; paths are looked at twice a second. Not recorded are
        velocities of objects (0) and the columns of features (none). Raises StateError after `close`.
        """
        time = as_float(time, "time in s")
        if self._closed:
            raise StateError(f"{self.path}: this recording was closed, so nothing more can be read")
        number = max(int(np.searchsorted(self.times, time, side="right")) - 1, 0)
        try:
            return self._snapshot(self._states[number])
        except (ValueError, KeyError, IndexError, TypeError, AssertionError) as error:
            # Decoders and layouts say so of bytes that are no message of that type.
            raise InvalidValueError(f"{self.path}: broken at {self.times[number]:g} s: {error}") from error

    def close(self) -> None:
        """Close the file; nothing can be read from then on."""
        self._closed = True
        self.index.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ---- one sample --------------------------------------------------------------------------------------------------

    def _topic(self, name: str) -> Topic:
        return self.index.topics.get(name) or Topic(name, "", {})

    def _snapshot(self, sample: Place) -> Snapshot:
        """Return the state at a sample, with the entities that there were then; raises InvalidValueError."""
        now = sample.time
        entities = self._topic(bodies.ENTITIES).places
        newest = count_until(entities, now) - 1
        if newest < 0:
            raise InvalidValueError("there is no list of entities before it")
        reader = self._readers.get(newest)
        if reader is None:
            text = string_of(self.index.message(entities[newest]))
            reader = FleetReader(read_roster(text, self._folders), self.about.get("map_frame", "map"))
            # The newest only: lists come with each spawn, and a long recording has thousands of them.
            self._readers = {newest: reader}
        since = entities[newest].time
        reader.take_states(self.index.message(sample))
        reader.take_joints(self._joint_messages(reader.roster, now))
        shared = self._message_at(SHARED, now)
        if shared is not None:
            reader.take_shared_joints(shared)
        reader.take_objects(self._objects_at(since, now))
        details, blocked = (self._last(topic, now, read_details) for topic in (bodies.DETAILS, bodies.BLOCKED))
        reader.take_details({**(details or {}), **(blocked or {})})
        reader.take_paths({name: self._last(f"/{name}/plan", now, read_path) for name in reader.robots})
        pairs = self._last("/fleet/collisions", now, read_collisions) or []
        time = now / NS_PER_S
        timestep = float(self.about.get("timestep", "1"))
        return reader.snapshot(time, round(time / timestep) if timestep > 0.0 else 0, pairs)

    def _last(self, topic: str, now: int, read: Callable[[bytes], Read]) -> Read | None:
        """Return what the newest message of `topic` says, read once; None without one."""
        places = self._topic(topic).places
        newest = count_until(places, now) - 1
        if newest < 0:
            return None
        key = (topic, newest)
        if key not in self._kept:
            # Begun anew when it is large: who plays a recording meets most messages once.
            if len(self._kept) > 100_000:
                self._kept.clear()
            self._kept[key] = read(self.index.message(places[newest]))
        found: Read = self._kept[key]
        return found

    def _joint_messages(self, roster: RecordedRoster, now: int) -> dict[str, bytes]:
        """Return the messages of this sample about the joints of robots with topics of their own, by name."""
        counted = zip(roster.names, roster.joint_counts.tolist(), strict=True)
        found = {name: self._message_at(f"/{name}/joint_states", now) for name, count in counted if count}
        return {name: data for name, data in found.items() if data is not None}

    def _message_at(self, topic: str, now: int) -> bytes | None:
        """Return the message of `topic` of the sample at `now`, in ns; None without one."""
        places = self._topic(topic).places
        newest = count_until(places, now) - 1
        return self.index.message(places[newest]) if newest >= 0 and places[newest].time == now else None

    def _objects_at(self, since: int, now: int) -> dict[str, Floats]:
        """Return the poses (7,) of objects, from where they were written all at once, at `since` or after, on."""
        places = self._topic("/tf").places
        end = count_until(places, now)
        known_since, known, poses = self._objects
        if known_since != since or known > end:
            # All are written at the beginning, and at keyframes; from the former on is right, from the latter faster.
            known, poses = count_until(places, since - 1), {}
        for place in places[known:end]:
            read_object_poses(self.index.message(place), poses)
        self._objects = (since, end, poses)
        return poses
