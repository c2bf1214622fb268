"""<robot>/odom: true pose and velocity of each robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from nav_msgs.msg import Odometry

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.world import World
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.names import Frames
from fleet_sim.ros.per_robot import publishers
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.sensors.odometry import odometry_template
from fleet_sim.ros.templates import MessageTemplate
from fleet_sim.spatial import quaternions


def body_twists(world: World, rows: Rows) -> Floats:
    """Return the twists (N, 6) of `rows`, linear then angular, in the frames of their bases."""
    back = quaternions.conjugate(world.orientation[rows])
    linear = quaternions.rotate(back, world.velocity[rows])
    return np.hstack([linear, quaternions.rotate(back, world.angular_velocity[rows])])


def odom_template(frames: Frames, names: Sequence[str]) -> MessageTemplate:
    """Return the template of one Odometry for each robot; groups sec, nanosec, position, orientation, twist (N, 6)."""
    messages = []
    for name in names:
        message = Odometry(child_frame_id=frames.base(name))
        message.header.frame_id = frames.odom(name)
        messages.append(message)
    return odometry_template(messages)


class OdomTopic(Interface):
    """Publishes poses in <robot>/odom and twists in <robot>/base_link."""

    rate = "odom"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publishers = publishers(bridge, "state", Odometry, "odom", qos.STATE)

    def on_fleet_changed(self, roster: Roster) -> None:
        self._publishers.on_fleet_changed(roster)
        self._template = odom_template(self.bridge.frames, self._publishers.names)
        self._publish = [publisher.publish for publisher in self._publishers.items]

    def publish(self, now: int) -> None:
        rows, world = self._publishers.rows, self.bridge.sim.world
        if not len(rows):
            return
        self._template.write_stamp(now)
        self._template.write("position", world.position[rows])
        self._template.write("orientation", world.orientation[rows])
        self._template.write("twist", body_twists(world, rows))
        for publish, piece in zip(self._publish, self._template.pieces(), strict=True):
            publish(piece)
