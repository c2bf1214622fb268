"""/tf and /tf_static: map -> <robot>/odom -> <robot>/base_link of every robot, in one message each.

Frames published there by other nodes are received by `tf_listener`."""

from __future__ import annotations

from geometry_msgs.msg import Quaternion, TransformStamped, Vector3
from tf2_msgs.msg import TFMessage

from fleet_sim.arrays import NO_ROWS
from fleet_sim.cdr import ORIENTATION, STAMP, MessagePart, under
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.ros_names import Frames
from fleet_sim.kinematics.tf_tree import FrameLink, base_frame, fixed_links, moving_links
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.wire import MessageTemplate


def make_transform(parent: str, child: str) -> TransformStamped:
    """Return a transform between two frames; stamp and numbers are not set."""
    transform = TransformStamped(child_frame_id=child)
    transform.header.frame_id = parent
    return transform


def moving_transforms(frames: Frames, robot: str, model: RobotModel) -> list[TransformStamped]:
    """Return the transforms of links moved by joints, in the order of `model.movable`."""
    return [make_transform(link.parent, link.child) for link in moving_links(frames, robot, model)]


def fixed_transforms(frames: Frames, robot: str, model: RobotModel) -> list[TransformStamped]:
    """Return the constant transforms, with their numbers."""
    return [frame_transform(link) for link in fixed_links(frames, robot, model)]


def frame_transform(link: FrameLink) -> TransformStamped:
    """Return a constant transform, with its numbers."""
    made = make_transform(link.parent, link.child)
    x, y, z = link.position
    qx, qy, qz, qw = link.orientation
    made.transform.translation = Vector3(x=x, y=y, z=z)
    made.transform.rotation = Quaternion(x=qx, y=qy, z=qz, w=qw)
    return made


TRANSLATION = ("translation.x", "translation.y", "translation.z")
ROTATION = tuple(field.replace("orientation", "rotation") for field in ORIENTATION)


def tf_template(transforms: list[TransformStamped]) -> MessageTemplate:
    """Return the template of one TFMessage; groups sec, nanosec, translation (N, 3), rotation (N, 4)."""
    numbers = {
        **STAMP,
        "translation": ("f8", under("transform", TRANSLATION)),
        "rotation": ("f8", under("transform", ROTATION)),
    }
    return MessageTemplate(
        [TFMessage(transforms=transforms)], [MessagePart(numbers, lambda message: message.transforms)]
    )


class TfTopic(Interface):
    """Publishes <robot>/odom -> <robot>/base_link; map -> <robot>/odom and fixed links once, latched.

    Dynamic ones on /tf at `ros.rates.tf`, all robots in one message. map -> <robot>/odom is the identity, as true
    odometry does not drift.
    """

    rate = "tf"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.robots.create_publisher(TFMessage, "/tf", qos.TF)
        self._static_publisher = bridge.robots.create_publisher(TFMessage, "/tf_static", qos.LATCHED)
        self._rows = NO_ROWS

    def on_fleet_changed(self, roster: Roster) -> None:
        """Publish the fixed transforms of all robots again, and lay out the message of the others."""
        frames = self.bridge.frames
        self._rows = roster.rows
        world = self.bridge.sim.world
        models = [world.model_of(row) for row in roster.rows.tolist()]
        bases = [base_frame(frames, name, model) for name, model in zip(roster.names, models, strict=True)]
        self._template = tf_template(
            [make_transform(frames.odom(name), base) for name, base in zip(roster.names, bases, strict=True)]
        )
        # The identity: true odometry does not drift.
        static = [make_transform(frames.map, frames.odom(name)) for name in roster.names]
        for name, model in zip(roster.names, models, strict=True):
            static += [] if model is None else fixed_transforms(frames, name, model)
        now = time_to_msg(self.bridge.time.now())
        for transform in static:
            transform.header.stamp = now
        # All of them each time: late joiners of a latched topic get its last message only.
        self._static_publisher.publish(TFMessage(transforms=static))

    def receive(self) -> None:
        """Take in transforms that others have published, for goals in their frames."""
        self.bridge.transforms.listen()

    def publish(self, now: int) -> None:
        """Publish where all robots are, in one message."""
        if not len(self._rows):
            return
        world = self.bridge.sim.world
        self._template.write_stamp(now)
        self._template.write("translation", world.position[self._rows])
        self._template.write("rotation", world.orientation[self._rows])
        self._publisher.publish(self._template.pieces()[0])
