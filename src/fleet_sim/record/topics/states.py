"""/fleet/states: all robots in one message, as the ROS node publishes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints
from fleet_sim.cdr import ROBOT_STATE, ByteTemplate
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.features import FEATURES
from fleet_sim.core.ros_names import Frames
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.record.mcap_file import McapFile
from fleet_sim.record.message_types import make, stamped
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample, names_of, places_of, robots_of, template
from fleet_sim.spatial import quaternions

KIND = "fleet_sim_msgs/msg/FleetState"
POSE = ControllerMode.POSE.code
STEPS_PER_M = 1024.0
"""A power of two: what is rounded to it has few bits."""
STEPS_PER_SPEED = 2.0**20
"""Per m/s and rad/s. All bits of the speeds of a thousand robots that accelerate are a megabyte of each minute."""
# Numbers side by side are one group: writing several to each of many rows takes as long as writing one.
_CODES = ("mode", "operating_mode", "last_cause", "moving", "busy", "blocked", "carrying", "charging", "has_goal")
_NUMBERS = {"motion": ROBOT_STATE["motion"], "faults": ROBOT_STATE["faults"], "codes": ("u1", _CODES)}
_WIDTH = len(ROBOT_STATE["motion"][1])


def states_layout(map_frame: str, names: Sequence[str]) -> ByteTemplate:
    """Return the template of one FleetState of robots by name.

    Its groups are sec and nanosec, and for the robots motion (N, 22): position, orientation, linear and angular
    velocity in the frame of the base, distance left, battery, goal; faults (N, 1); and codes (N, 9) as in _CODES. Texts
    are empty.
    """
    states = [make("fleet_sim_msgs/msg/RobotState", name=name) for name in names]
    return template(KIND, [make(KIND, header=stamped(map_frame), robots=states)], _NUMBERS, "robots")


class RecordedStates(RecordedTopic):
    """Records the numbers of the states of all robots: poses, twists in the base frame, goals, batteries, flags."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channel = RecordedChannel(file, "/fleet/states", KIND)
        self._names: list[str] | None = None
        # Used again: memory that is new costs as much as what is written to it.
        self._motion = np.empty((0, _WIDTH))

    def on_bodies_changed(self, sample: Sample) -> None:
        """Lay the message out anew where robots have come, gone or got another name."""
        robots = robots_of(sample.snapshot)
        self._robots = places_of(robots)
        names = names_of(sample.snapshot, robots)
        # Loads come and go by the second, robots do not.
        if names != self._names:
            self._names = names
            self._template = states_layout(self.frames.map, names)

    def write(self, sample: Sample) -> None:
        """Write the states of all robots in one message."""
        snapshot, robots, states = sample.snapshot, self._robots, self._template
        states.write_stamp(sample.now)
        if self._names:
            if len(self._motion) != len(snapshot.names):
                self._motion = np.empty((len(snapshot.names), _WIDTH))
            codes = codes_of(snapshot)
            faults = reports_of(snapshot, self._motion[:, 14], codes)
            codes[:, 3] |= motion_of(snapshot, self._motion)
            states.write("motion", self._motion[robots])
            states.write("faults", faults[robots, None])
            states.write("codes", codes[robots])
        self._channel.send(sample.now, states.views()[0])


def motion_of(snapshot: Snapshot, motion: Floats) -> Bools:
    """Write to `motion` what the group of that name of `states_layout` has of all entities; return who has a velocity.

    Distances are to about a millimetre, velocities to 1e-6 m/s and rad/s.
    """
    motion[:, :3], motion[:, 3:7] = snapshot.positions, snapshot.orientations
    # Components side by side are read several times as fast.
    turns, speeds = np.empty((4, len(motion))), np.empty((2, 3, len(motion)))
    turns[:], speeds[0], speeds[1] = snapshot.orientations.T, snapshot.velocities.T, snapshot.angular_velocities.T
    moving_mask: Bools = (speeds != 0.0).any(axis=(0, 1))
    moving = np.flatnonzero(moving_mask)
    # Those that stand have nothing to turn, and they are often most.
    if len(moving) < len(motion):
        turns, speeds = turns.take(moving, axis=1), speeds.take(moving, axis=2)
    np.negative(turns[:3], out=turns[:3])
    turned = np.empty_like(speeds)
    quaternions.rotate_rows(turns, speeds[0], turned[0])
    quaternions.rotate_rows(turns, speeds[1], turned[1])
    turned *= STEPS_PER_SPEED
    np.rint(turned, out=turned)
    turned *= 1.0 / STEPS_PER_SPEED
    if len(moving) < len(motion):
        motion[:, 7:13] = 0.0
        motion[moving, 7:13] = turned.reshape(6, -1).T
    else:
        motion[:, 7:13] = turned.reshape(6, -1).T
    # All bits of a distance would take as much of the file as those of the position.
    distances, motion[:, 15:] = ways_left(snapshot)
    motion[:, 13] = np.rint(distances * STEPS_PER_M) / STEPS_PER_M
    return moving_mask


def ways_left(snapshot: Snapshot) -> tuple[Floats, Floats]:
    """Return the distances (N,) in m to the ends of the paths of all entities, and these (N, 7); 0 without one."""
    starts, distances = snapshot.path_starts, np.zeros(len(snapshot.positions))
    goals = np.zeros((len(distances), 7))
    driving = np.flatnonzero(starts[1:] != starts[:-1])
    if len(driving):
        last = starts[driving + 1] - 1
        ends = snapshot.path_positions.take(last, axis=0)
        goals[driving, :3], goals[driving, 3:] = ends, snapshot.path_orientations.take(last, axis=0)
        x, y, z = (ends - snapshot.positions.take(driving, axis=0)).T.copy()
        distances[driving] = np.sqrt(x * x + y * y + z * z)
    return distances, goals


def codes_of(snapshot: Snapshot) -> Bytes:
    """Return the group codes of `states_layout` of all entities, but for who is charged or moves without a goal."""
    codes = np.zeros((len(snapshot.names), len(_CODES)), np.uint8)
    codes[:, 0] = snapshot.modes
    codes[:, 3] = snapshot.modes == POSE
    codes[:, 4] = snapshot.busy_mask
    codes[:, 5] = snapshot.blockers >= 0
    codes[snapshot.carriers[snapshot.carriers >= 0], 6] = True
    codes[:, 8] = snapshot.path_starts[1:] != snapshot.path_starts[:-1]
    return codes


def reports_of(snapshot: Snapshot, battery: Floats, codes: Bytes) -> Ints:
    """Write what features tell of all entities to `battery` (N,) and `codes`, and return their faults (N,)."""
    faults = np.zeros(len(battery), np.int64)
    battery[:] = np.nan
    for name, columns in snapshot.features.items():
        told = FEATURES.get(name).report(columns)
        if "battery" in told:
            battery[:] = told["battery"]
        if "charging" in told:
            codes[:, 7] |= told["charging"]
        if "faults" in told:
            faults |= told["faults"].astype(np.int64)
    return faults
