"""/tf and /tf_static: map -> <robot>/odom -> <robot>/base_link of every robot, in one message each.

Frames that others publish there are heard."""

from __future__ import annotations

from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

from fleet_sim.arrays import NO_ROWS
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.templates import ORIENTATION, STAMP, MessageTemplate, Part, under

TRANSLATION = ("translation.x", "translation.y", "translation.z")
ROTATION = tuple(field.replace("orientation", "rotation") for field in ORIENTATION)


def tf_template(transforms: list[TransformStamped]) -> MessageTemplate:
    """Return the template of one TFMessage; groups sec, nanosec, translation (N, 3), rotation (N, 4)."""
    numbers = {
        **STAMP,
        "translation": ("f8", under("transform", TRANSLATION)),
        "rotation": ("f8", under("transform", ROTATION)),
    }
    return MessageTemplate([TFMessage(transforms=transforms)], [Part(numbers, lambda message: message.transforms)])


class TfTopic(Interface):
    """Publishes <robot>/odom -> <robot>/base_link, and map -> <robot>/odom, which is fixed, for late joiners too."""

    rate = "tf"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.robots.create_publisher(TFMessage, "/tf", qos.TF)
        self._static_publisher = bridge.robots.create_publisher(TFMessage, "/tf_static", qos.LATCHED)
        self._rows = NO_ROWS

    def follow(self, roster: Roster) -> None:
        frames = self.bridge.frames
        self._rows = roster.rows
        self._template = tf_template([_transform(frames.odom(name), frames.base(name)) for name in roster.names])
        static = [_transform(frames.map, frames.odom(name)) for name in roster.names]
        now = time_to_msg(self.bridge.time.now())
        for transform in static:
            transform.header.stamp = now
        self._static_publisher.publish(TFMessage(transforms=static))

    def receive(self) -> None:
        self.bridge.transforms.listen()

    def publish(self, now: int) -> None:
        if not len(self._rows):
            return
        world = self.bridge.sim.world
        self._template.write_stamp(now)
        self._template.write("translation", world.position[self._rows])
        self._template.write("rotation", world.orientation[self._rows])
        self._publisher.publish(self._template.pieces()[0])


def _transform(parent: str, child: str) -> TransformStamped:
    transform = TransformStamped(child_frame_id=child)
    transform.header.frame_id = parent
    return transform
