"""Recorded messages back into the arrays of a snapshot.

`FleetReader` is filled with the messages of one moment, kind by kind, and returns a snapshot. What a recording does not
have, such as who blocks whom, is as if there were none.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, Ints, ranges
from fleet_sim.cdr import ByteTemplate
from fleet_sim.core.ros_names import is_ros_name
from fleet_sim.core.snapshot import LinkColors, Snapshot
from fleet_sim.errors import InvalidValueError
from fleet_sim.record.entities import RecordedRoster
from fleet_sim.record.message_types import deserializer
from fleet_sim.record.topics import bodies, collisions, frames, plans
from fleet_sim.record.topics.joints import joints_layout, shared_names
from fleet_sim.record.topics.states import states_layout
from fleet_sim.spatial import quaternions

Pairs = list[tuple[str, str]]
# No waypoints: positions and orientations.
NO_PATH = (np.zeros((0, 3)), np.zeros((0, 4)))


def string_of(data: bytes) -> str:
    """Return the text of a std_msgs/String."""
    return str(deserializer(bodies.KIND)(data).data)


def read_details(data: bytes) -> dict[str, Any]:
    """Return who carries what, and colors, or what stands before whom, by name."""
    content = json.loads(string_of(data))
    if not isinstance(content, dict) or not all(isinstance(value, dict) for value in content.values()):
        raise InvalidValueError("expected mappings by name")
    return content


def read_collisions(data: bytes) -> Pairs:
    """Return the names of the pairs in collision."""
    return [(str(pair.first), str(pair.second)) for pair in deserializer(collisions.KIND)(data).active]


def read_path(data: bytes) -> tuple[Floats, Floats]:
    """Return the waypoints of a path, (P, 3) and (P, 4)."""
    # The first pose is where the robot was.
    poses = [stamped.pose for stamped in deserializer(plans.KIND)(data).poses[1:]]
    points = [(pose.position.x, pose.position.y, pose.position.z) for pose in poses]
    turns = [(p.orientation.x, p.orientation.y, p.orientation.z, p.orientation.w) for p in poses]
    return np.array(points, np.float64).reshape(-1, 3), np.array(turns, np.float64).reshape(-1, 4)


def read_object_poses(data: bytes, poses: dict[str, Floats]) -> None:
    """Add the pose of the object that a message of /tf is of, by its frame; those of robots are of many frames."""
    # The number of transforms is read without decoding, as most messages are of all robots.
    if len(data) < 8 or struct.unpack_from("<I", data, 4)[0] != 1:
        return
    (transform,) = deserializer(frames.KIND)(data).transforms
    place, turn = transform.transform.translation, transform.transform.rotation
    poses[str(transform.child_frame_id)] = np.array([place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w])


class FleetReader:
    """Takes messages of one moment, in the layout that `roster` says, and returns them as a snapshot.

    Each `take` replaces what the last one took. Raises ValueError for messages of another layout.
    """

    def __init__(self, roster: RecordedRoster, map_frame: str) -> None:
        self.roster = roster
        self._index = {name: index for index, name in enumerate(roster.names)}
        count = len(roster.names)
        self._robot_indices = np.flatnonzero(roster.agent_mask)
        self.robots = [roster.names[index] for index in self._robot_indices.tolist()]
        objects = np.flatnonzero(~roster.agent_mask).tolist()
        self._objects = {frames.object_frame(roster.names[index], map_frame): index for index in objects}
        self._states = states_layout(map_frame, self.robots)
        self._positions, self._orientations = np.zeros((count, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
        self._velocities, self._turns = np.zeros((count, 3)), np.zeros((count, 3))
        self._modes, self._busy = np.zeros(count, np.uint8), np.zeros(count, np.bool_)
        self._starts = np.concatenate([[0], np.cumsum(roster.joint_counts)])
        self._joints = np.zeros((3, int(self._starts[-1])))
        self._layouts: dict[int, Any] = {}
        self._shared: tuple[ByteTemplate, Ints] | None = None
        self._paths: list[tuple[Floats, Floats]] = []
        self._details: Mapping[str, Any] = {}

    def take_states(self, data: bytes) -> None:
        """Take the poses, velocities and flags of robots from a FleetState."""
        self._states.fill([data])
        robots = self._robot_indices
        if not len(robots):
            return
        motion, codes = self._states.read("motion"), self._states.read("codes")
        turns = motion[:, 3:7]
        self._positions[robots], self._orientations[robots] = motion[:, :3], turns
        # Recorded in the robots' own axes, shown in those of the world.
        self._velocities[robots] = quaternions.rotate(turns, motion[:, 7:10])
        self._turns[robots] = quaternions.rotate(turns, motion[:, 10:13])
        self._modes[robots], self._busy[robots] = codes[:, 0], codes[:, 4]

    def take_joints(self, messages: Mapping[str, bytes]) -> None:
        """Take the joints of robots by name; those of others stay."""
        for name, data in messages.items():
            index = self._index[name]
            if index not in self._layouts:
                powered = bool(self.roster.bodies.motor_mask[index])
                self._layouts[index] = joints_layout([self.roster.joint_names[index]], [powered])
            layout, own = self._layouts[index], slice(self._starts[index], self._starts[index + 1])
            layout.fill([data])
            self._joints[0, own], self._joints[1, own] = layout.read("position")[:, 0], layout.read("velocity")[:, 0]
            if self.roster.bodies.motor_mask[index]:
                self._joints[2, own] = layout.read("effort")[:, 0]

    def take_shared_joints(self, data: bytes) -> None:
        """Take the joints of all robots that have no topic of their own; where there are some."""
        if self._shared is None:
            roster, own = self.roster, [index for index in self._robot_indices.tolist() if self._shares_topic(index)]
            names = shared_names([(roster.names[index], roster.joint_names[index]) for index in own])
            self._shared = joints_layout([names], [True]), ranges(self._starts[own], np.diff(self._starts)[own])
        layout, slots = self._shared
        layout.fill([data])
        for number, group in enumerate(("position", "velocity", "effort")):
            self._joints[number, slots] = layout.read(group)[:, 0]

    def _shares_topic(self, index: int) -> bool:
        return bool(self.roster.joint_counts[index]) and not is_ros_name(self.roster.names[index])

    def take_objects(self, poses: Mapping[str, Floats]) -> None:
        """Take the poses (7,) of objects by their frames."""
        for frame, pose in poses.items():
            index = self._objects.get(frame)
            # Robots have their poses from the state of the fleet.
            if index is not None:
                self._positions[index], self._orientations[index] = pose[:3], pose[3:]

    def take_details(self, details: Mapping[str, Any]) -> None:
        """Take what `read_details` returned."""
        self._details = details

    def take_paths(self, paths: Mapping[str, tuple[Floats, Floats] | None]) -> None:
        """Take the waypoints of robots by name."""
        self._paths = [(paths.get(name) if is_ros_name(name) else None) or NO_PATH for name in self.roster.names]

    def snapshot(self, time: float, tick: int, pairs: Sequence[tuple[str, str]]) -> Snapshot:
        """Return all of it as a snapshot."""
        roster, index, count = self.roster, self._index, len(self.roster.names)
        # Checked once, here: what is drawn from it would fail somewhere else.
        if not all(np.isfinite(array).all() for array in (self._positions, self._orientations, self._joints)):
            raise InvalidValueError("a pose or a joint is not a number")
        # -1: carried by nobody, blocked by nothing, and of no color of its own.
        blockers = np.full(count, -1, np.int64)
        for name, blocker in self._details.get("blocked_by", {}).items():
            blockers[index[name]] = index[blocker]
        carriers, colors = np.full(count, -1, np.int64), np.full((count, 4), -1.0)
        for name, carrier in self._details.get("carried", {}).items():
            carriers[index[name]] = index[carrier]
        for name, color in self._details.get("colors", {}).items():
            colors[index[name]] = np.clip(np.asarray(color, np.float64), 0.0, 1.0)
        lengths = [len(points) for points, _ in self._paths]
        collided = [(index[a], index[b]) for a, b in pairs if a in index and b in index]
        return Snapshot(
            tick=tick,
            time=time,
            **roster.shown,
            positions=_frozen(self._positions),
            orientations=_frozen(self._orientations),
            velocities=_frozen(self._velocities),
            angular_velocities=_frozen(self._turns),
            carriers=_frozen(carriers),
            modes=_frozen(self._modes),
            busy_mask=_frozen(self._busy),
            blockers=_frozen(blockers),
            path_starts=_frozen(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])),
            path_positions=_frozen(np.concatenate([points for points, _ in self._paths] or [NO_PATH[0]])),
            path_orientations=_frozen(np.concatenate([turns for _, turns in self._paths] or [NO_PATH[1]])),
            joint_starts=_frozen(self._starts),
            joint_positions=_frozen(self._joints[0]),
            joint_velocities=_frozen(self._joints[1]),
            joint_efforts=_frozen(self._joints[2]),
            collisions=_frozen(np.array(collided, np.int64).reshape(-1, 2)),
            colors=_frozen(colors),
            link_colors=self._link_colors(),
            features={},
        )

    def _link_colors(self) -> LinkColors:
        given = self._details.get("link_colors", {})
        return {
            self._index[name]: {int(link): tuple(np.asarray(color, np.float64).tolist()) for link, color in own.items()}
            for name, own in given.items()
        }


def _frozen(array: AnyArray) -> AnyArray:
    # A copy, as the next message goes into the same array; frozen, as readers share snapshots.
    copy = array.copy()
    copy.flags.writeable = False
    return copy
