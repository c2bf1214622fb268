"""<robot>/joint_states: joint positions and velocities of each robot, and efforts of those with motors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fleet_sim.arrays import Ints, ranges
from fleet_sim.cdr import STAMP, ByteTemplate, MessagePart, array_numbers
from fleet_sim.core.ros_names import is_ros_name
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.record.message_types import make, serializer
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample, robots_of

KIND = "sensor_msgs/msg/JointState"
SHARED = "/fleet/joints"
"""Of robots whose name cannot be part of a topic."""


def shared_names(robots: Iterable[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return the names of joints on SHARED, <robot>/<joint>, given the names of robots and of their joints."""
    return tuple(f"{robot}/{joint}" for robot, joints in robots for joint in joints)


def joints_layout(joint_names: Sequence[Sequence[str]], motors: Sequence[bool]) -> ByteTemplate:
    """Return the template of one JointState for each robot, given the names of its joints and whether it has motors.

    Groups sec, nanosec; position and velocity, (J, 1) for the J joints of all robots, robot by robot; effort, of those
    with motors.
    """
    messages = [
        make(
            KIND,
            name=list(names),
            position=np.zeros(len(names)),
            velocity=np.zeros(len(names)),
            effort=np.zeros(len(names) if powered else 0),
        )
        for names, powered in zip(joint_names, motors, strict=True)
    ]
    parts = [MessagePart(STAMP), array_numbers("position"), array_numbers("velocity"), array_numbers("effort")]
    return ByteTemplate(messages, parts, serializer(KIND))


class RecordedJoints(RecordedTopic):
    """Records the movable joints of robots: on a topic of each, and of those whose name no topic may have on SHARED."""

    def on_bodies_changed(self, sample: Sample) -> None:
        """Lay out one message for each robot with joints, and one for those that share a topic."""
        snapshot = sample.snapshot
        counts = np.diff(snapshot.joint_starts)
        jointed = [index for index in robots_of(snapshot) if counts[index]]
        robots = [index for index in jointed if is_ros_name(snapshot.names[index])]
        sharing = [index for index in jointed if not is_ros_name(snapshot.names[index])]
        topics = [f"/{snapshot.names[index]}/joint_states" for index in robots]
        powered = snapshot.bodies.motor_mask
        names = [_names(snapshot, index) for index in robots]
        motors = powered[robots].tolist()
        if sharing:
            topics.append(SHARED)
            names.append(shared_names([(snapshot.names[index], _names(snapshot, index)) for index in sharing]))
            # Without motors their efforts are 0.
            motors.append(True)
        self._channels = [RecordedChannel(self.file, topic, KIND) for topic in topics]
        self._template = joints_layout(names, motors) if topics else None
        self._slots = _slots(snapshot, [*robots, *sharing])
        self._powered = _slots(snapshot, [*[index for index in robots if powered[index]], *sharing])

    def write(self, sample: Sample) -> None:
        """Write positions and velocities of all joints, and efforts of those with motors."""
        snapshot, joints = sample.snapshot, self._template
        if joints is None:
            return
        joints.write_stamp(sample.now)
        joints.write("position", snapshot.joint_positions[self._slots][:, None])
        joints.write("velocity", snapshot.joint_velocities[self._slots][:, None])
        if len(self._powered):
            joints.write("effort", snapshot.joint_efforts[self._powered][:, None])
        for channel, piece in zip(self._channels, joints.views(), strict=True):
            channel.send(sample.now, piece)


def _names(snapshot: Snapshot, index: int) -> tuple[str, ...]:
    """Return the names of the movable joints of a robot; those with joints always have a model."""
    model = snapshot.bodies.models[index]
    return () if model is None else tuple(model.movable_names)


def _slots(snapshot: Snapshot, indices: Sequence[int]) -> Ints:
    """Return where the joints of robots by index are, one robot after the other."""
    own = np.array(indices, np.int64)
    return ranges(snapshot.joint_starts[own], np.diff(snapshot.joint_starts)[own])
