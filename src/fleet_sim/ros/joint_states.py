"""<robot>/joint_states: joint positions and velocities of each robot, and efforts of those with motors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.jointed import with_joints
from fleet_sim.ros.per_robot import publishers
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.templates import STAMP, MessagePart, MessageTemplate


class _Number:
    """One element of an array in a message, as an object with a field."""

    def __init__(self, message: JointState, field: str, index: int) -> None:
        # Around the method below, which writes to the message.
        object.__setattr__(self, "_place", (message, field, index))

    def __setattr__(self, name: str, value: float) -> None:
        message, field, index = self._place  # type: ignore[attr-defined]
        getattr(message, field)[index] = value


def joint_states_template(joint_names: Sequence[Sequence[str]], motors: Sequence[bool]) -> MessageTemplate:
    """Return the template of one JointState for each robot, given the names of its joints and whether it has motors.

    Groups sec, nanosec; position and velocity, (J, 1) for the J joints of all robots, robot by robot; effort, of those
    with motors. The others leave it empty: the message says so of what is not known.
    """
    messages = [
        JointState(
            name=list(names),
            position=[0.0] * len(names),
            velocity=[0.0] * len(names),
            effort=[0.0] * (len(names) if powered else 0),
        )
        for names, powered in zip(joint_names, motors, strict=True)
    ]

    def numbers(field: str) -> MessagePart:
        return MessagePart(
            {field: ("f8", ("number",))},
            lambda message: [_Number(message, field, index) for index in range(len(getattr(message, field)))],
        )

    return MessageTemplate(messages, [MessagePart(STAMP), numbers("position"), numbers("velocity"), numbers("effort")])


class JointStatesTopic(Interface):
    """Publishes positions, velocities and efforts of movable joints; robots without any have no topic."""

    rate = "joint_states"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publishers = publishers(bridge, "state", JointState, "joint_states", qos.STATE)

    def on_fleet_changed(self, roster: Roster) -> None:
        world = self.bridge.sim.world
        self._publishers.on_fleet_changed(with_joints(roster, world))
        # Robots with joints always have a model.
        models = [world.models[number] for number in world.robots.model[self._publishers.rows].tolist()]
        motors = world.robots.motors[self._publishers.rows].tolist()
        self._template = joint_states_template([model.movable_names for model in models], motors)
        self._publish = [publisher.publish for publisher in self._publishers.items]

    def publish(self, now: int) -> None:
        rows, world = self._publishers.rows, self.bridge.sim.world
        if not len(rows):
            return
        slots = world.joints.slots(world.robots, rows)
        self._template.write_stamp(now)
        self._template.write("position", world.joints.position[slots][:, np.newaxis])
        self._template.write("velocity", world.joints.velocity[slots][:, np.newaxis])
        powered = world.joints.slots(world.robots, rows[world.robots.motors[rows]])
        if len(powered):
            self._template.write("effort", world.joints.effort[powered][:, np.newaxis])
        for publish, piece in zip(self._publish, self._template.pieces(), strict=True):
            publish(piece)
