"""/fleet/states: all robots in one message, as the ROS node publishes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.cdr import ROBOT_STATE, ByteTemplate
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.ros_names import Frames
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.record.mcap_file import McapFile
from fleet_sim.record.message_types import make, stamped
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample, names_of, robots_of, template
from fleet_sim.spatial import quaternions

KIND = "fleet_sim_msgs/msg/FleetState"
POSE = ControllerMode.POSE.code


def states_layout(map_frame: str, names: Sequence[str]) -> ByteTemplate:
    """Return the template of one FleetState of robots by name.

    Its groups are sec and nanosec, and for the robots position, orientation, twist (N, 6), distance_left, mode and
    flags (N, 4).
    """
    states = [make("fleet_sim_msgs/msg/RobotState", name=name) for name in names]
    return template(KIND, [make(KIND, header=stamped(map_frame), robots=states)], ROBOT_STATE, "robots")


class RecordedStates(RecordedTopic):
    """Records poses, twists in the base frame, distances left, modes and flags of all robots."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channel = RecordedChannel(file, "/fleet/states", KIND)
        self._names: list[str] | None = None

    def on_bodies_changed(self, sample: Sample) -> None:
        robots = robots_of(sample.snapshot)
        self._robots = np.array(robots, np.int64)
        names = names_of(sample.snapshot, robots)
        # Loads come and go by the second, robots do not.
        if names != self._names:
            self._names = names
            self._template = states_layout(self.frames.map, names)

    def write(self, sample: Sample) -> None:
        snapshot, robots, states = sample.snapshot, self._robots, self._template
        states.write_stamp(sample.now)
        if len(robots):
            states.write("position", snapshot.positions[robots])
            states.write("orientation", snapshot.orientations[robots])
            states.write("twist", body_twists(snapshot, robots))
            states.write("distance_left", distances_left(snapshot)[robots][:, None])
            states.write("mode", snapshot.modes[robots][:, None])
            states.write("flags", flags_of(snapshot)[robots])
        self._channel.send(sample.now, states.pieces()[0])


def body_twists(snapshot: Snapshot, indices: Ints) -> Floats:
    """Return the twists (K, 6) of `indices`, linear then angular, in the frames of their bases."""
    velocities = np.hstack([snapshot.velocities, snapshot.angular_velocities])[indices]
    # Those that stand have nothing to turn, and they are often most.
    moving = np.flatnonzero(_moving_mask(velocities))
    back = quaternions.conjugate(snapshot.orientations[indices[moving]])
    for part in (slice(0, 3), slice(3, 6)):
        velocities[moving, part] = quaternions.rotate(back, velocities[moving, part])
    return velocities


def distances_left(snapshot: Snapshot) -> Floats:
    """Return the distances (N,) in m to the ends of the paths of all entities, 0 without one."""
    starts = snapshot.path_starts
    distances = np.zeros(len(snapshot.positions))
    driving = np.flatnonzero(np.diff(starts))
    ends = snapshot.path_positions[starts[driving + 1] - 1]
    distances[driving] = np.linalg.norm(ends - snapshot.positions[driving], axis=1)
    return distances


def flags_of(snapshot: Snapshot) -> Bools:
    """Return the flags of ROBOT_STATE of all entities, (N, 4)."""
    speed = _moving_mask(snapshot.velocities) | _moving_mask(snapshot.angular_velocities)
    carrying = np.zeros(len(snapshot.names), np.bool_)
    carrying[snapshot.carriers[snapshot.carriers >= 0]] = True
    return np.stack([(snapshot.modes == POSE) | speed, snapshot.busy_mask, snapshot.blockers >= 0, carrying], axis=1)


def _moving_mask(velocities: Floats) -> Bools:
    """Return which rows (N, K) are not zero. Column by column: `any` along such short rows takes ten times as long."""
    mask = np.zeros(len(velocities), np.bool_)
    for column in velocities.T:
        mask |= column != 0.0
    return mask
