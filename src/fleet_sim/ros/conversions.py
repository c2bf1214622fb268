"""Values of the simulation as messages and back: `x_to_msg` and `x_from_msg` in pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Quaternion, Twist, Vector3
from geometry_msgs.msg import Pose as PoseMsg

from fleet_sim.arrays import Floats
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.errors import LONGEST_SHOWN
from fleet_sim.geometry import Pose
from fleet_sim_msgs.msg import CommandResult

NS_PER_S = 1_000_000_000
LONGEST_DURATION = 2**31 - 1
"""Seconds that a Duration can tell."""


def time_to_msg(nanoseconds: int) -> Time:
    """Return a time in ns as a message."""
    sec, nanosec = divmod(nanoseconds, NS_PER_S)
    return Time(sec=sec, nanosec=nanosec)


def time_from_msg(msg: Time) -> int:
    """Return the time of a message in ns."""
    return int(msg.sec) * NS_PER_S + int(msg.nanosec)


def duration_to_msg(seconds: float) -> Duration:
    """Return a time span in s as a message; one that is longer than a message can tell is cut."""
    sec, nanosec = divmod(round(min(seconds, LONGEST_DURATION) * NS_PER_S), NS_PER_S)
    return Duration(sec=sec, nanosec=nanosec)


def duration_from_msg(msg: Duration) -> float:
    """Return the time span of a message in s."""
    return float(msg.sec) + float(msg.nanosec) / NS_PER_S


def ack_to_msg(ack: CommandAck, nanoseconds: int, error: str = "") -> CommandResult:
    """Return what became of a command as a message of a time in ns; `error` is why all of it was refused."""
    return CommandResult(
        command_id=ack.command_id,
        source=ack.source,
        stamp=time_to_msg(nanoseconds),
        accepted=list(ack.accepted_names),
        # No entity has such a name: an answer need not be as long as what was sent.
        rejected=[name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}..." for name in ack.rejected],
        reasons=list(ack.rejected.values()),
        error=error,
    )


def pose_to_msg(pose: Pose) -> PoseMsg:
    """Return a pose as a message."""
    return row_to_pose_msg(pose.position, pose.orientation)


def pose_from_msg(msg: PoseMsg) -> Pose:
    """Return the pose of a message; raises InvalidValueError if it is not finite or has a zero quaternion."""
    p, q = msg.position, msg.orientation
    return Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))


def row_to_pose_msg(position: Sequence[float] | Floats, orientation: Sequence[float] | Floats) -> PoseMsg:
    """Return a pose given as (3,) and (4,) as a message."""
    x, y, z = map(float, position)
    qx, qy, qz, qw = map(float, orientation)
    return PoseMsg(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def poses_from_msgs(msgs: Sequence[PoseMsg]) -> tuple[Floats, Floats]:
    """Return the poses of messages unchecked, (N, 3) and (N, 4): they may be not finite or have zero quaternions."""
    points = [(m.position.x, m.position.y, m.position.z) for m in msgs]
    orientations = [(m.orientation.x, m.orientation.y, m.orientation.z, m.orientation.w) for m in msgs]
    return np.array(points, np.float64).reshape(-1, 3), np.array(orientations, np.float64).reshape(-1, 4)


def poses_to_msgs(positions: Floats, orientations: Floats) -> list[PoseMsg]:
    """Return poses (N, 3), (N, 4) as messages."""
    return [row_to_pose_msg(p, q) for p, q in zip(positions.tolist(), orientations.tolist(), strict=True)]


def twists_from_msgs(msgs: Sequence[Twist]) -> tuple[Floats, Floats]:
    """Return the linear (N, 3) and angular (N, 3) parts of messages, unchecked."""
    linear = [(m.linear.x, m.linear.y, m.linear.z) for m in msgs]
    angular = [(m.angular.x, m.angular.y, m.angular.z) for m in msgs]
    return np.array(linear, np.float64).reshape(-1, 3), np.array(angular, np.float64).reshape(-1, 3)


def twists_to_msgs(linear: Floats, angular: Floats) -> list[Twist]:
    """Return twists (N, 3), (N, 3) as messages."""
    return [
        Twist(linear=Vector3(x=v[0], y=v[1], z=v[2]), angular=Vector3(x=w[0], y=w[1], z=w[2]))
        for v, w in zip(linear.tolist(), angular.tolist(), strict=True)
    ]
