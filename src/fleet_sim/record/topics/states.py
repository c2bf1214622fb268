"""/fleet/states: all robots in one message, as the ROS node publishes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats
from fleet_sim.cdr import ORIENTATION, POSITION, TWIST, ByteTemplate, under
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.ros_names import Frames
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.record.mcap_file import McapFile
from fleet_sim.record.message_types import make, stamped
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample, names_of, places_of, robots_of, template
from fleet_sim.record.topics.compiled_states import STEPS_PER_M, STEPS_PER_SPEED, write_motion
from fleet_sim.spatial import quaternions

KIND = "fleet_sim_msgs/msg/FleetState"
POSE = ControllerMode.POSE.code
# Numbers side by side are one group: writing several to each of many rows takes as long as writing one.
_NUMBERS = {
    "motion": ("f8", [*under("pose", (*POSITION, *ORIENTATION)), *under("twist", TWIST), "distance_left"]),
    "codes": ("u1", ("mode", "moving", "busy", "blocked", "carrying")),
}


def states_layout(map_frame: str, names: Sequence[str]) -> ByteTemplate:
    """Return the template of one FleetState of robots by name.

    Its groups are sec and nanosec, and for the robots motion (N, 14): position, orientation, linear and angular
    velocity in the frame of the base, distance left; and codes (N, 5): mode, moving, busy, blocked, carrying.
    """
    states = [make("fleet_sim_msgs/msg/RobotState", name=name) for name in names]
    return template(KIND, [make(KIND, header=stamped(map_frame), robots=states)], _NUMBERS, "robots")


class RecordedStates(RecordedTopic):
    """Records poses, twists in the base frame, distances left, modes and flags of all robots."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channel = RecordedChannel(file, "/fleet/states", KIND)
        self._names: list[str] | None = None
        # Used again: memory that is new costs as much as what is written to it.
        self._motion = np.empty((0, 14))

    def on_bodies_changed(self, sample: Sample) -> None:
        """Lay the message out anew where robots have come, gone or got another name."""
        robots = robots_of(sample.snapshot)
        self._robots, self._indices = places_of(robots), np.array(robots, np.int64)
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
            moving_mask = self._write_motion(snapshot)
            states.write("codes", codes_of(snapshot, moving_mask)[robots])
        self._channel.send(sample.now, states.views()[0])

    def _write_motion(self, snapshot: Snapshot) -> Bools:
        """Write the group motion, and return which robots have a velocity, as a mask of all entities."""
        if self.with_kernels:
            moving_mask = np.zeros(len(snapshot.names), np.bool_)
            write_motion(
                snapshot.positions,
                snapshot.orientations,
                snapshot.velocities,
                snapshot.angular_velocities,
                snapshot.path_starts,
                snapshot.path_positions,
                self._indices,
                *self._template.rows("motion"),
                moving_mask,
            )
            return moving_mask
        moving_mask = _moving_mask(snapshot)
        if len(self._motion) != len(snapshot.names):
            self._motion = np.zeros((len(snapshot.names), 14))
        self._template.write("motion", motion_of(snapshot, moving_mask, self._motion)[self._robots])
        return moving_mask


def motion_of(snapshot: Snapshot, moving_mask: Bools, motion: Floats) -> Floats:
    """Return `motion` with what the group of that name of `states_layout` has of all entities.

    `moving_mask` says who has a velocity. Distances are to about a millimetre, velocities to 1e-12 m/s and rad/s.
    """
    motion[:, :3], motion[:, 3:7] = snapshot.positions, snapshot.orientations
    motion[:, 7:] = 0.0
    # Those that stand have nothing to turn, and they are often most.
    moving = np.flatnonzero(moving_mask)
    # `take` finds rows several times as fast as an index does; components side by side are read several times as fast.
    x, y, z, w = snapshot.orientations.take(moving, axis=0).T.copy()
    velocities = np.empty((3, 2, len(moving)))
    velocities[:, 0] = snapshot.velocities.take(moving, axis=0).T
    velocities[:, 1] = snapshot.angular_velocities.take(moving, axis=0).T
    turned = np.stack(quaternions.rotate_parts((-x, -y, -z, w), tuple(velocities)))
    turned *= STEPS_PER_SPEED
    np.rint(turned, out=turned)
    turned *= 1.0 / STEPS_PER_SPEED
    motion[moving, 7:13] = turned.transpose(2, 1, 0).reshape(-1, 6)
    if len(snapshot.path_positions):
        # All bits of a distance would take as much of the file as those of the position.
        motion[:, 13] = np.rint(distances_left(snapshot) * STEPS_PER_M) * (1.0 / STEPS_PER_M)
    return motion


def distances_left(snapshot: Snapshot) -> Floats:
    """Return the distances (N,) in m to the ends of the paths of all entities, 0 without one."""
    starts = snapshot.path_starts
    distances = np.zeros(len(snapshot.positions))
    driving = np.flatnonzero(starts[1:] != starts[:-1])
    ends = snapshot.path_positions.take(starts[driving + 1] - 1, axis=0)
    x, y, z = (ends - snapshot.positions.take(driving, axis=0)).T
    distances[driving] = np.sqrt(x * x + y * y + z * z)
    return distances


def codes_of(snapshot: Snapshot, moving_mask: Bools) -> Bytes:
    """Return what the group codes of `states_layout` has of all entities, given who has a velocity."""
    codes = np.zeros((len(snapshot.names), 5), np.uint8)
    codes[:, 0] = snapshot.modes
    codes[:, 1] = (snapshot.modes == POSE) | moving_mask
    codes[:, 2] = snapshot.busy_mask
    codes[:, 3] = snapshot.blockers >= 0
    codes[snapshot.carriers[snapshot.carriers >= 0], 4] = True
    return codes


def _moving_mask(snapshot: Snapshot) -> Bools:
    """Return who has a velocity. Column by column: `any` along such short rows takes three times as long."""
    mask = snapshot.velocities != 0.0
    mask |= snapshot.angular_velocities != 0.0
    return mask[:, 0] | mask[:, 1] | mask[:, 2]
