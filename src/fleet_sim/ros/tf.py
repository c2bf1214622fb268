"""/tf, /tf_static and /clock: map -> <robot>/odom -> <robot>/base_link -> links of every robot.

Frames published there by other nodes are received by `tf_listener`.
"""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Quaternion, TransformStamped, Vector3
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage

from fleet_sim.base.arrays import NO_ROWS, Ints, Rows
from fleet_sim.base.cdr import ORIENTATION, STAMP, MessagePart, under
from fleet_sim.models.kinematics.tree import FrameLink, base_frame, fixed_links, joint_frames, moving_links
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.messages import MessageTemplate, time_to_msg
from fleet_sim.ros.roster import Roster
from fleet_sim.world.commands import Frames
from fleet_sim.world.shapes import RobotModel


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
        self._publisher = bridge.node.create_publisher(TFMessage, "/tf", qos.TF)
        self._static_publisher = bridge.node.create_publisher(TFMessage, "/tf_static", qos.LATCHED)
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


# /tf of links moved by joints, for all robots in one message.


class LinkFramesTopic(Interface):
    """Publishes the frames of links moved by joints; TfTopic publishes fixed links on /tf_static.

    On /tf at `ros.rates.links`, all robots in one message: <robot>/<link> in the frame of its parent link. The links of
    a model are computed for all of its robots in one call.
    """

    rate = "links"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.node.create_publisher(TFMessage, "/tf", qos.TF)
        self._groups: list[tuple[RobotModel, Rows, Ints]] = []

    def on_fleet_changed(self, roster: Roster) -> None:
        """Lay out one message with all moving links, the robots of a model together."""
        world, frames = self.bridge.sim.world, self.bridge.frames
        transforms: list[TransformStamped] = []
        # Grouped by model, as the frames of all robots of a model are computed in one call.
        members: dict[int, tuple[list[int], list[int]]] = {}
        for row, name in zip(roster.rows.tolist(), roster.names, strict=True):
            model = world.model_of(row)
            if model is not None and len(model.movable):
                rows, starts = members.setdefault(int(world.robots.model[row]), ([], []))
                rows.append(row)
                starts.append(len(transforms))
                transforms += moving_transforms(frames, name, model)
        self._groups = []
        for number, (rows, starts) in members.items():
            model = world.models[number]
            places = np.array(starts)[:, None] + np.arange(len(model.movable))
            self._groups.append((model, np.array(rows), places))
        self._template = tf_template(transforms)
        self._translations, self._rotations = np.zeros((len(transforms), 3)), np.zeros((len(transforms), 4))

    def publish(self, now: int) -> None:
        """Publish where the links of all robots are, each in the frame of its parent link."""
        if not self._groups:
            return
        world = self.bridge.sim.world
        for model, rows, places in self._groups:
            slots = world.robots.joint_start[rows][:, None] + np.arange(places.shape[1])
            self._translations[places], self._rotations[places] = joint_frames(model, world.joints.position[slots])
        self._template.write_stamp(now)
        self._template.write("translation", self._translations)
        self._template.write("rotation", self._rotations)
        self._publisher.publish(self._template.pieces()[0])


# clock: simulation time.


def clock_template() -> MessageTemplate:
    """Return the template of one Clock; groups sec and nanosec."""
    return MessageTemplate(
        [Clock()], [MessagePart({"sec": ("i4", ["clock.sec"]), "nanosec": ("u4", ["clock.nanosec"])})]
    )


class ClockTopic(Interface):
    """Publishes the time at the end of the step. It stands still while the simulation is paused.

    The topic is in the node's namespace, as all others are: two simulations with one clock would set it back and forth.
    """

    rate = "clock"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.node.create_publisher(Clock, "clock", qos.CLOCK)
        self._template = clock_template()

    def publish(self, now: int) -> None:
        self._template.write_stamp(now)
        self._publisher.publish(self._template.pieces()[0])
