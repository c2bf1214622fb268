"""<robot>/odom: true pose and velocity of each robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from nav_msgs.msg import Odometry

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.ros_names import Frames
from fleet_sim.core.world import World
from fleet_sim.ros.sensors.odometry import ODOMETRY
from fleet_sim.ros.state_topic import StateTopic
from fleet_sim.ros.wire import MessageTemplate, stamped_template
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
    return stamped_template(messages, ODOMETRY)


class OdomTopic(StateTopic):
    """Publishes poses in <robot>/odom and twists in <robot>/base_link.

    On <robot>/odom at `ros.rates.odom`. It is the truth and does not drift, so <robot>/odom and the map are the same
    frame; an `odometry` sensor has the drifting one.
    """

    rate = "odom"
    message_type = Odometry
    topic = "odom"

    def template_of(self, names: list[str], rows: Rows) -> MessageTemplate:
        return odom_template(self.bridge.frames, names)

    def write(self, template: MessageTemplate, rows: Rows) -> None:
        world = self.bridge.sim.world
        template.write("position", world.position[rows])
        template.write("orientation", world.orientation[rows])
        template.write("twist", body_twists(world, rows))
