"""<robot>/cmd_vel: velocity commands, which end after `cmd_vel_timeout`."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Twist, TwistStamped

from fleet_sim.arrays import Floats
from fleet_sim.cdr import HEADER_SIZE
from fleet_sim.core.commands import SetVelocity
from fleet_sim.errors import InvalidValueError
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import twists_from_msgs
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.polled import PolledTopic
from fleet_sim.ros.roster import Roster

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

    def on_fleet_changed(self, roster: Roster) -> None:
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
        return indices, *twists_from_msgs(twists)
