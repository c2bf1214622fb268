"""What robots are told over ROS: velocities, goals, paths, joint targets and trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
from nav_msgs.msg import Path
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from fleet_sim.base.arrays import Floats
from fleet_sim.base.cdr import HEADER_SIZE
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.robots.actions.joints import JointTrajectoryAction
from fleet_sim.ros import messages
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge, Interface, PolledTopic, RobotCommandTopic
from fleet_sim.world.commands import Command, ExecuteAction, FollowPath, Navigate, SetJoints, SetVelocity

LITTLE_ENDIAN = b"\x00\x01"
"""How plain CDR of that kind begins."""
NO_TWIST = "what arrived is not a little-endian geometry_msgs/msg/Twist"
# The header of the encapsulation, then six float64 without padding: CDR counts alignment from the end of the header on.
_TWIST = np.dtype([("kind", np.uint8, HEADER_SIZE), ("numbers", "<f8", 6)])


def check_frame(bridge: Bridge, robot: str, frame_id: str) -> None:
    """Raise InvalidValueError for a frame in which velocities of a robot are not given."""
    # Frames of ROS 1 began with a slash, and some programs still write it.
    frame = frame_id.removeprefix("/")
    # Programs written for a single robot name its base without the robot's name.
    if frame not in ("", "base_link", bridge.frames.base(robot)):
        own = bridge.frames.base(robot)
        raise InvalidValueError(f"frame {frame!r}; a velocity is in the frame {own!r}, or in none")


class CmdVelTopic(Interface):
    """Drives robots with the received twists, in the frame of the base. All twists of a step form one command.

    Subscribes to <robot>/cmd_vel, a Twist or, by `ros.cmd_vel_type`, a TwistStamped: m/s and rad/s. A velocity ends
    after `ros.cmd_vel_timeout` s of simulated time without another one. Messages with numbers that are not finite, and
    stamped ones in another frame than <robot>/base_link, move nothing and are logged.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._stamped = bridge.params.cmd_vel_type == "twist_stamped"
        self._topic = PolledTopic(bridge, TwistStamped if self._stamped else Twist, "cmd_vel", qos.COMMAND)

    def on_fleet_changed(self, roster: messages.Roster) -> None:
        self._topic.on_fleet_changed(roster)

    def receive(self) -> None:
        """Make one command of the newest message of each robot."""
        indices, linear, angular = self._take_stamped() if self._stamped else self._take()
        if not indices:
            return
        command = SetVelocity(
            names=self._topic.names_of(indices),
            linear=linear,
            angular=angular,
            timeout=self.bridge.params.cmd_vel_timeout,
            source="cmd_vel",
        )
        self.bridge.gateway.take("cmd_vel", lambda: command)

    def _take(self) -> tuple[list[int], Floats, Floats]:
        """Poll Twist topics; all messages are decoded in one call."""
        arrived = self._topic.take_bytes()
        # All of one size and layout, so that the whole fleet's messages are read as one array.
        good = [(index, data) for index, data in arrived if len(data) == _TWIST.itemsize and data[:2] == LITTLE_ENDIAN]
        if len(good) < len(arrived):
            for index in dict(arrived).keys() - dict(good).keys():
                self.bridge.reject(f"{self._topic.names[index]}/cmd_vel", NO_TWIST)
        numbers = np.frombuffer(b"".join([data for _, data in good]), _TWIST)["numbers"]
        return [index for index, _ in good], numbers[:, :3], numbers[:, 3:]

    def _take_stamped(self) -> tuple[list[int], Floats, Floats]:
        """Return indices and twists of messages that are in the frame of their robot; others are rejected."""
        indices, twists = [], []
        for index, message in self._topic.take():
            name = self._topic.names[index]
            try:
                check_frame(self.bridge, name, message.header.frame_id)
            except InvalidValueError as error:
                self.bridge.reject(f"{name}/cmd_vel", error)
                continue
            indices.append(index)
            twists.append(message.twist)
        return indices, *messages.twists_from_msgs(twists)


# <robot>/goal_pose and <robot>/path: goals in any known frame.


class GoalPoseTopic(RobotCommandTopic):
    """Drives a robot to a received pose.

    Subscribes to <robot>/goal_pose, a PoseStamped, as RViz sends it. Any frame that TF connects to the map will do; one
    that is not connected is rejected with the reason in the log.
    """

    message_type = PoseStamped
    topic = "goal_pose"

    def command(self, name: str, message: PoseStamped) -> Command:
        """Return the command for a pose in any frame; raises UnknownNameError for an unknown frame."""
        positions, orientations = messages.poses_from_msgs([message.pose])
        positions, orientations = self.bridge.transforms.to_map(message.header.frame_id, positions, orientations)
        return Navigate(names=(name,), positions=positions, orientations=orientations, source="goal_pose")


class PathTopic(RobotCommandTopic):
    """Makes a robot follow a received path. Poses without a frame are in the frame of the path.

    Subscribes to <robot>/path, a nav_msgs/Path. An empty path is rejected.
    """

    message_type = Path
    topic = "path"

    def command(self, name: str, message: Path) -> Command:
        """Return the command of a path; poses without a frame are in that of the message."""
        positions, orientations = messages.poses_from_msgs([stamped.pose for stamped in message.poses])
        frames = [stamped.header.frame_id or message.header.frame_id for stamped in message.poses]
        # Each frame once, as looking one up goes through TF.
        for frame in dict.fromkeys(frames):
            mask = [own == frame for own in frames]
            positions[mask], orientations[mask] = self.bridge.transforms.to_map(
                frame, positions[mask], orientations[mask]
            )
        return FollowPath(name=name, positions=positions, orientations=orientations, source="path")


# Conversion of joint trajectory messages to actions.


def trajectory_from_msg(message: JointTrajectory, **options: Any) -> JointTrajectoryAction:
    """Return the action that follows a trajectory; `options` are further arguments. Raises InvalidValueError.

    Velocities are used if every point has them; accelerations and efforts are ignored.
    """
    points: Sequence[Any] = message.points
    if not points:
        raise InvalidValueError("a trajectory needs at least one point, got none")
    for index, point in enumerate(points):
        if len(point.positions) != len(message.joint_names):
            raise InvalidValueError(
                f"point {index}: expected {len(message.joint_names)} positions, one per joint, got "
                f"{len(point.positions)}"
            )
    # A cubic needs the velocities at both of its ends, so those of some points only are of no use.
    smooth = all(len(point.velocities) == len(message.joint_names) for point in points)
    return JointTrajectoryAction(
        list(message.joint_names),
        [messages.duration_from_msg(point.time_from_start) for point in points],
        [list(point.positions) for point in points],
        [list(point.velocities) for point in points] if smooth else None,
        **options,
    )


def point_to_msg(positions: Floats, velocities: Floats) -> JointTrajectoryPoint:
    """Return positions and velocities (K,) as a message."""
    return JointTrajectoryPoint(positions=positions.tolist(), velocities=velocities.tolist())


def start_time(bridge: Bridge, stamp: Time) -> float | None:
    """Return the simulation time of a trajectory's stamp, None to start at once; exact in phase 1 of a step."""
    wanted = messages.time_from_msg(stamp)
    if wanted == 0:
        return None
    # By the difference to published time, which after a reset is ahead of the clock.
    time: float = bridge.sim.clock.time + (wanted - bridge.time.last) / messages.NS_PER_S
    return time


# <robot>/joint_commands and <robot>/joint_trajectory: targets and trajectories of joints.


class JointCommandsTopic(Interface):
    """Moves joints to received positions, or at received velocities if there are no positions.

    Joints that are not named are not affected; without names the message is for all movable joints, in order. Messages
    that name the same joints are combined into one command.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._topic = PolledTopic(bridge, JointState, "joint_commands", qos.COMMAND)

    def on_fleet_changed(self, roster: messages.Roster) -> None:
        self._topic.on_fleet_changed(messages.with_joints(roster, self.bridge.sim.world))

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


class JointTrajectoryTopic(RobotCommandTopic):
    """Makes joints follow a received trajectory; it replaces running actions. Without points it stops the joints.

    Subscribes to <robot>/joint_trajectory, or below the name of the controller where `ros.joint_controller` names one:
    there programs written for ros2_control find it. Times count from when it is received, or from its stamp where it
    has one.
    Unknown joints, points outside of limits and times that do not increase are rejected as a whole.
    """

    message_type = JointTrajectory

    def __init__(self, bridge: Bridge) -> None:
        self.topic = bridge.params.in_joint_controller("joint_trajectory")
        super().__init__(bridge)

    def on_fleet_changed(self, roster: messages.Roster) -> None:
        super().on_fleet_changed(messages.with_joints(roster, self.bridge.sim.world))

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
