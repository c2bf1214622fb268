"""/tf, /tf_static and /clock: map -> <robot>/odom -> <robot>/base_link -> links of every robot.

Frames published there by other nodes are received by `transforms`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from geometry_msgs.msg import Quaternion, TransformStamped, Vector3
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.cdr import ORIENTATION, STAMP, MessagePart, under
from fleet_sim.base.spatial import quaternions
from fleet_sim.models.kinematics.tree import FrameLink, base_frame, fixed_links, joint_frames, moving_links
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.messages import MessageTemplate, Roster, time_to_msg
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


FrameBytes = Callable[[int], bytes]
"""Returns the TFMessage of a time in ns."""


def frame_bytes(transforms: list[TransformStamped], values: Callable[[], tuple[Floats, Floats]]) -> FrameBytes:
    """Return what makes messages of `transforms`, whose translations (N, 3) and rotations (N, 4) are `values()`."""
    numbers = {
        **STAMP,
        "translation": ("f8", under("transform", TRANSLATION)),
        "rotation": ("f8", under("transform", ROTATION)),
    }
    part = MessagePart(numbers, lambda message: message.transforms)
    template = MessageTemplate([TFMessage(transforms=transforms)], [part])

    def make(now: int) -> bytes:
        translations, rotations = values()
        template.write_stamp(now)
        template.write("translation", translations)
        template.write("rotation", rotations)
        return template.pieces()[0]

    return make


class _MovingFrames(Interface):
    """Publishes frames of robots on /tf: of all in one message, of each whose radio is disturbed in one of its own."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.node.create_publisher(TFMessage, "/tf", qos.TF)
        self._roster = Roster(-1, NO_ROWS, (), frozenset())
        self._apart: Bools | None = None
        self._all: FrameBytes | None = None
        self._single: dict[int, FrameBytes | None] = {}

    def lay_out(self, roster: Roster) -> FrameBytes | None:
        """Return what makes the message of these robots; None where they have no such frames."""
        raise NotImplementedError

    def on_fleet_changed(self, roster: Roster) -> None:
        self._roster, self._apart, self._single = roster, None, {}
        self._all = self.lay_out(roster)

    def publish(self, now: int) -> None:
        """Publish the frames of all robots."""
        rows = self._roster.rows
        apart = self.bridge.disturbed(rows)
        if apart is not None or self._apart is not None:
            self._set_apart(apart)
        if self._all is not None:
            self._publisher.publish(self._all(now))
        for row, frames in self._single.items():
            if frames is not None:
                send = partial(self._publisher.publish, frames(now))
                self.bridge.send_from(row, f"tf {self.rate}", send)

    def _set_apart(self, apart: Bools | None) -> None:
        """Lay the messages out anew where other robots have a disturbed radio than before."""
        if apart is not None and self._apart is not None and np.array_equal(apart, self._apart):
            return
        roster, self._apart = self._roster, apart
        if apart is None:
            self._all, self._single = self.lay_out(roster), {}
            return
        self._all = self.lay_out(roster.where(~apart))
        places = np.flatnonzero(apart).tolist()
        each = np.arange(len(apart))
        self._single = {int(roster.rows[place]): self.lay_out(roster.where(each == place)) for place in places}


class TfTopic(_MovingFrames):
    """Publishes <robot>/odom -> <robot>/base_link; map -> <robot>/odom and fixed links once, latched.

    Dynamic ones on /tf at `ros.rates.tf`, all robots in one message. map -> <robot>/odom is the identity, as true
    odometry does not drift; where robots may be wrong about where they are it is what they believe, and dynamic.
    """

    rate = "tf"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._static_publisher = bridge.node.create_publisher(TFMessage, "/tf_static", qos.LATCHED)
        self._errs = False
        """Whether robots may be wrong about where they are."""

    def on_fleet_changed(self, roster: Roster) -> None:
        """Publish the fixed transforms of all robots again, and lay out the message of the others."""
        frames, world = self.bridge.frames, self.bridge.sim.world
        self._errs = world.pose_errors is not None
        super().on_fleet_changed(roster)
        # The identity: true odometry does not drift.
        static = [] if self._errs else [make_transform(frames.map, frames.odom(name)) for name in roster.names]
        for name, row in zip(roster.names, roster.rows.tolist(), strict=True):
            model = world.model_of(row)
            static += [] if model is None else fixed_transforms(frames, name, model)
        now = time_to_msg(self.bridge.time.now())
        for transform in static:
            transform.header.stamp = now
        # All of them each time: late joiners of a latched topic get its last message only.
        self._static_publisher.publish(TFMessage(transforms=static))

    def lay_out(self, roster: Roster) -> FrameBytes | None:
        frames, world, rows = self.bridge.frames, self.bridge.sim.world, roster.rows
        if not len(rows):
            return None
        transforms = [
            make_transform(frames.odom(name), base_frame(frames, name, world.model_of(row)))
            for name, row in zip(roster.names, rows.tolist(), strict=True)
        ]
        if not self._errs:
            return frame_bytes(transforms, lambda: (world.position[rows], world.orientation[rows]))
        transforms += [make_transform(frames.map, frames.odom(name)) for name in roster.names]

        def values() -> tuple[Floats, Floats]:
            places, turns = world.position[rows], world.orientation[rows]
            believed, heading = world.believed_poses(rows)
            # From the map to where odometry began, such that the robot is where it believes to be.
            back = quaternions.multiply(heading, quaternions.conjugate(turns))
            begins = believed - quaternions.rotate(back, places)
            return np.concatenate((places, begins)), np.concatenate((turns, back))

        return frame_bytes(transforms, values)

    def receive(self) -> None:
        """Take in transforms that others have published, for goals in their frames."""
        self.bridge.transforms.listen()

    def publish(self, now: int) -> None:
        """Publish where all robots are, in one message."""
        if self._errs != (self.bridge.sim.world.pose_errors is not None):
            # It came to that at run time.
            self.on_fleet_changed(self._roster)
        super().publish(now)


# /tf of links moved by joints, for all robots in one message.


class LinkFramesTopic(_MovingFrames):
    """Publishes the frames of links moved by joints; TfTopic publishes fixed links on /tf_static.

    On /tf at `ros.rates.links`, all robots in one message: <robot>/<link> in the frame of its parent link. The links of
    a model are computed for all of its robots in one call.
    """

    rate = "links"

    def lay_out(self, roster: Roster) -> FrameBytes | None:
        """Return what makes one message with all moving links, the robots of a model together."""
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
        if not transforms:
            return None
        groups: list[tuple[RobotModel, Rows, Ints]] = []
        for number, (own, starts) in members.items():
            model = world.models[number]
            groups.append((model, np.array(own), np.array(starts)[:, None] + np.arange(len(model.movable))))
        translations, rotations = np.zeros((len(transforms), 3)), np.zeros((len(transforms), 4))

        def values() -> tuple[Floats, Floats]:
            for model, rows, places in groups:
                slots = world.robots.joint_start[rows][:, None] + np.arange(places.shape[1])
                translations[places], rotations[places] = joint_frames(model, world.joints.position[slots])
            return translations, rotations

        return frame_bytes(transforms, values)


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
