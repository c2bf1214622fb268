"""<robot>/joint_commands and <robot>/joint_trajectory: targets and trajectories of joints."""

from __future__ import annotations

from functools import partial

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from fleet_sim.core.commands import Command, ExecuteAction, SetJoints
from fleet_sim.errors import InvalidValueError
from fleet_sim.ros import qos
from fleet_sim.ros.controller_topic import ControllerTopic
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.polled import PolledTopic, RobotCommandTopic
from fleet_sim.ros.roster import Roster, with_joints
from fleet_sim.ros.trajectories import start_time, trajectory_from_msg


class JointCommandsTopic(Interface):
    """Moves joints to received positions, or at received velocities if there are no positions.

    Joints that are not named are not affected; without names the message is for all movable joints, in order. Messages
    that name the same joints are combined into one command.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._topic = PolledTopic(bridge, JointState, "joint_commands", qos.COMMAND)

    def on_fleet_changed(self, roster: Roster) -> None:
        self._topic.on_fleet_changed(with_joints(roster, self.bridge.sim.world))

    def receive(self) -> None:
        """Make one command of all messages that name the same joints; one with wrong lengths is rejected."""
        # Messages of the same form become one command: robots of one model usually get the same names.
        alike: dict[tuple[tuple[str, ...], int, bool], list[tuple[str, list[float]]]] = {}
        for index, message in self._topic.take():
            name = self._topic.names[index]
            # Velocities count only without positions, as many publishers fill in both.
            are_positions = len(message.position) > 0
            values = list(message.position if are_positions else message.velocity)
            if not values or (len(message.name) and len(message.name) != len(values)):
                reason = (
                    f"expected one position, or one velocity, per name ({len(message.name)}), got "
                    f"{len(message.position)} positions and {len(message.velocity)} velocities"
                )
                self.bridge.reject(f"{name}/joint_commands", reason)
                continue
            alike.setdefault((tuple(message.name), len(values), are_positions), []).append((name, values))
        for (joint_names, _, are_positions), entries in alike.items():
            names = tuple(name for name, _ in entries)
            make = partial(_command, names, joint_names, np.array([values for _, values in entries]), are_positions)
            self.bridge.gateway.take(f"joint_commands of {', '.join(names[:3])}", make)


def _command(names: tuple[str, ...], joint_names: tuple[str, ...], values: np.ndarray, are_positions: bool) -> Command:
    return SetJoints(
        names=names,
        joint_names=joint_names,
        positions=values if are_positions else None,
        velocities=None if are_positions else values,
        source="joint_commands",
    )


class JointTrajectoryTopic(ControllerTopic, RobotCommandTopic):
    """Makes joints follow a received trajectory; it replaces running actions. Without points it stops the joints.

    Subscribes to <robot>/joint_trajectory. Times count from when it is received, or from its stamp where it has one.
    Unknown joints, points outside of limits and times that do not increase are rejected as a whole.
    """

    message_type = JointTrajectory
    topic = "joint_trajectory"

    def on_fleet_changed(self, roster: Roster) -> None:
        super().on_fleet_changed(with_joints(roster, self.bridge.sim.world))

    def command(self, name: str, message: JointTrajectory) -> Command:
        """Return what follows the trajectory, or stops the joints where it has no points."""
        if not message.points:
            world = self.bridge.sim.world
            model = world.model_of(world.index.row_named(name))
            if model is None:
                raise InvalidValueError("it has no joints")
            # As with ros_control's joint_trajectory_controller, an empty trajectory stops the joints.
            joints = tuple(message.joint_names) or model.movable_names
            return SetJoints(
                names=(name,), joint_names=joints, velocities=np.zeros((1, len(joints))), source="joint_trajectory"
            )
        action = trajectory_from_msg(message, start_time_wanted=start_time(self.bridge, message.header.stamp))
        return ExecuteAction(names=(name,), actions=(action,), source="joint_trajectory")
