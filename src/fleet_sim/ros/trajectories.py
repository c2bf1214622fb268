"""Conversion of joint trajectory messages to actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from builtin_interfaces.msg import Time
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from fleet_sim.actions.trajectory import JointTrajectoryAction
from fleet_sim.arrays import Floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.ros.conversions import NS_PER_S, duration_from_msg, time_from_msg
from fleet_sim.ros.interface import Bridge


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
        [duration_from_msg(point.time_from_start) for point in points],
        [list(point.positions) for point in points],
        [list(point.velocities) for point in points] if smooth else None,
        **options,
    )


def point_to_msg(positions: Floats, velocities: Floats) -> JointTrajectoryPoint:
    """Return positions and velocities (K,) as a message."""
    return JointTrajectoryPoint(positions=positions.tolist(), velocities=velocities.tolist())


def start_time(bridge: Bridge, stamp: Time) -> float | None:
    """Return the simulation time of a trajectory's stamp, None to start at once; exact in phase 1 of a step."""
    wanted = time_from_msg(stamp)
    if wanted == 0:
        return None
    # By the difference to published time, which after a reset is ahead of the clock.
    time: float = bridge.sim.clock.time + (wanted - bridge.time.last) / NS_PER_S
    return time
