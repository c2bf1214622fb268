"""<robot>/joint_states: joint positions and velocities of each robot, and efforts of those with motors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.cdr import STAMP, ByteTemplate, MessagePart, array_numbers
from fleet_sim.core.ros_names import is_ros_name
from fleet_sim.record.message_types import make, serializer
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample, robots_of

KIND = "sensor_msgs/msg/JointState"


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
    """Records the movable joints of robots that have some and whose name can be part of a topic."""

    def on_bodies_changed(self, sample: Sample) -> None:
        """Lay out one message for each robot with joints and a name that topics may have."""
        snapshot, starts = sample.snapshot, sample.snapshot.joint_starts
        counts = np.diff(starts)
        robots = [index for index in robots_of(snapshot) if counts[index] and is_ros_name(snapshot.names[index])]
        self._channels = [
            RecordedChannel(self.file, f"/{snapshot.names[index]}/joint_states", KIND) for index in robots
        ]
        # Robots with joints always have a model.
        models = [snapshot.bodies.models[index] for index in robots]
        names = [() if model is None else model.movable_names for model in models]
        self._template = joints_layout(names, snapshot.bodies.motor_mask[robots].tolist()) if robots else None
        own = [np.arange(starts[index], starts[index + 1]) for index in robots]
        powered = [slots for index, slots in zip(robots, own, strict=True) if snapshot.bodies.motor_mask[index]]
        self._slots = np.concatenate([np.zeros(0, np.int64), *own])
        self._powered = np.concatenate([np.zeros(0, np.int64), *powered])

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
