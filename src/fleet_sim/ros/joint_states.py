"""<robot>/joint_states: joint positions and velocities of each robot, and efforts of those with motors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from fleet_sim.arrays import Rows
from fleet_sim.cdr import STAMP, MessagePart, array_numbers
from fleet_sim.ros.roster import Roster, with_joints
from fleet_sim.ros.state_topic import StateTopic
from fleet_sim.ros.wire import MessageTemplate


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

    numbers = [array_numbers(field) for field in ("position", "velocity", "effort")]
    return MessageTemplate(messages, [MessagePart(STAMP), *numbers])


class JointStatesTopic(StateTopic):
    """Publishes positions, velocities and efforts of movable joints; robots without any have no topic.

    On <robot>/joint_states at `ros.rates.joint_states`: rad and rad/s, or m and m/s of sliding joints. `effort` (N m or
    N) is filled for robots whose joints the engine's motors move, and empty for others.
    """

    rate = "joint_states"
    message_type = JointState
    topic = "joint_states"

    def robots_of(self, roster: Roster) -> Roster:
        """Return the robots with joints; others have no topic."""
        return with_joints(roster, self.bridge.sim.world)

    def template_of(self, names: list[str], rows: Rows) -> MessageTemplate:
        world = self.bridge.sim.world
        # Robots with joints always have a model.
        models = [world.models[number] for number in world.robots.model[rows].tolist()]
        return joint_states_template([model.movable_names for model in models], world.robots.motors[rows].tolist())

    def write(self, template: MessageTemplate, rows: Rows) -> None:
        """Write true positions and velocities, and the efforts of motors, into the message of each robot."""
        world = self.bridge.sim.world
        slots = world.joints.slots(world.robots, rows)
        template.write("position", world.joints.position[slots][:, np.newaxis])
        template.write("velocity", world.joints.velocity[slots][:, np.newaxis])
        powered = world.joints.slots(world.robots, rows[world.robots.motors[rows]])
        if len(powered):
            template.write("effort", world.joints.effort[powered][:, np.newaxis])
