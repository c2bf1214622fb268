"""/tf and /tf_static: map -> <robot>/odom -> <robot>/base_link -> links of each robot, and map -> <object>.

A robot's frames are those that the ROS node publishes. Objects have a frame of their own here, so that nothing else has
to be recorded while they stand or are carried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.cdr import AXES, ORIENTATION, ByteTemplate, MessagePart, under
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.ros_names import Frames
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.kinematics.tf_tree import FrameLink, base_frame, fixed_links, joint_frames, moving_links
from fleet_sim.record.mcap_file import McapFile, Qos
from fleet_sim.record.message_types import make, serializer, stamped
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample, places_of, robots_of

KIND = "tf2_msgs/msg/TFMessage"
STATIC = Qos(depth=10, latched=True)
"""Of /tf_static: frames of links and of sensors are messages of their own, and who comes later gets both."""
_NUMBERS = {
    # Numbers side by side are one group: writing several to each of many rows takes as long as writing one.
    "stamp": ("u4", ("header.stamp.sec", "header.stamp.nanosec")),
    "pose": (
        "f8",
        (
            *under("transform.translation", AXES),
            *under("transform", [field.replace("orientation", "rotation") for field in ORIENTATION]),
        ),
    ),
}


def object_frame(name: str, map_frame: str) -> str:
    """Return the frame of an object: its name, with a prefix where that could be the frame of something else.

    Frames of robots and their sensors have a /, and none may begin with one.
    """
    return f"object:{name}" if "/" in name or name == map_frame or name.startswith("object:") else name


def tf_messages(groups: Sequence[Sequence[FrameLink]]) -> ByteTemplate:
    """Return the template of one TFMessage for each group; its numbers are of all links, group after group."""
    messages = [make(KIND, transforms=[transform_message(link) for link in links]) for links in groups]
    return ByteTemplate(messages, [MessagePart(_NUMBERS, lambda message: message.transforms)], serializer(KIND))


def transform_message(link: FrameLink, now: int = 0) -> Any:
    """Return `link` as geometry_msgs/TransformStamped."""
    x, y, z, *turn = map(float, (*link.position, *link.orientation))
    transform = make(
        "geometry_msgs/msg/Transform",
        translation=make("geometry_msgs/msg/Vector3", x=x, y=y, z=z),
        rotation=make("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", turn, strict=True))),
    )
    kind = "geometry_msgs/msg/TransformStamped"
    return make(kind, header=stamped(link.parent, now), child_frame_id=link.child, transform=transform)


class RecordedFrames(RecordedTopic):
    """Records the poses of bases and moved links in each sample, of objects when they moved, and fixed ones once."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._tf = RecordedChannel(file, "/tf", KIND, Qos(depth=100))
        self._static = RecordedChannel(file, "/tf_static", KIND, STATIC)
        self._named: list[tuple[str, RobotModel | None]] | None = None

    def on_bodies_changed(self, sample: Sample) -> None:
        """Lay out the messages anew: bases and links of robots, objects, and what never moves."""
        snapshot, frames = sample.snapshot, self.frames
        robots = robots_of(snapshot)
        self._robots = places_of(robots)
        objects = np.flatnonzero(~snapshot.agent_mask).tolist()
        self._objects = places_of(objects)
        things = [FrameLink(frames.map, object_frame(snapshot.names[index], frames.map)) for index in objects]
        self._things = tf_messages([[thing] for thing in things])
        # NaN differs from any number: all of them are written in this sample.
        self._last = np.full((len(things), 7), np.nan)
        self._lay_out_links(snapshot, robots)
        named = [(snapshot.names[index], snapshot.bodies.models[index]) for index in robots]
        self._keyframe = -1
        # Loads come and go by the second, robots do not.
        if named == self._named:
            return
        self._named = named
        self._bases = tf_messages([[FrameLink(frames.odom(name), base_frame(frames, name, of)) for name, of in named]])
        # The identity: true odometry does not drift.
        static = [FrameLink(frames.map, frames.odom(name)) for name, _ in named]
        for name, model in named:
            static += [] if model is None else fixed_links(frames, name, model)
        message = make(KIND, transforms=[transform_message(link, sample.now) for link in static])
        self._static_bytes = serializer(KIND)(message)

    def _lay_out_links(self, snapshot: Snapshot, robots: Sequence[int]) -> None:
        """Group the robots with joints by model: the frames of all of a model are computed in one call."""
        members: dict[int, tuple[RobotModel, list[int], list[int]]] = {}
        links: list[FrameLink] = []
        for index in robots:
            model = snapshot.bodies.models[index]
            if model is not None and len(model.movable):
                _, indices, starts = members.setdefault(id(model), (model, [], []))
                indices.append(index)
                starts.append(len(links))
                links += moving_links(self.frames, snapshot.names[index], model)
        self._links = tf_messages([links]) if links else None
        self._link_poses = np.zeros((len(links), 7))
        self._groups = [
            (model, np.array(indices), np.array(starts)[:, None] + np.arange(len(model.movable)))
            for model, indices, starts in members.values()
        ]

    def write(self, sample: Sample) -> None:
        """Write the frames of robots, those of objects that moved, and at times those that never do."""
        snapshot, now = sample.snapshot, sample.now
        keyframe = self.is_keyframe(now)
        if keyframe:
            self._static.send(now, self._static_bytes)
        if self._named:
            self._fill(self._bases, now, _poses(snapshot, self._robots))
            self._tf.send(now, self._bases.views()[0])
        if self._links is not None:
            for model, indices, places in self._groups:
                slots = snapshot.joint_starts[indices][:, None] + np.arange(places.shape[1])
                translations, rotations = joint_frames(model, snapshot.joint_positions[slots])
                self._link_poses[places, :3], self._link_poses[places, 3:] = translations, rotations
            self._fill(self._links, now, self._link_poses)
            self._tf.send(now, self._links.views()[0])
        self._write_objects(snapshot, now, keyframe=keyframe)

    def _write_objects(self, snapshot: Snapshot, now: int, *, keyframe: bool) -> None:
        """Write the frames of objects that moved since the last sample, of all where it is a keyframe."""
        if not len(self._last):
            return
        poses = _poses(snapshot, self._objects)
        moved = np.arange(len(poses)) if keyframe else np.flatnonzero((poses != self._last).any(axis=1))
        if not len(moved):
            return
        self._last = poses
        self._fill(self._things, now, poses)
        messages = self._things.views()
        for index in moved.tolist():
            self._tf.send(now, messages[index])

    def _fill(self, template: ByteTemplate, now: int, poses: Floats) -> None:
        template.write("stamp", divmod(now, 1_000_000_000))
        template.write("pose", poses)


def _poses(snapshot: Snapshot, places: Ints | slice) -> Floats:
    """Return the poses (K, 7) of the entities at `places`, positions then orientations."""
    return np.concatenate([snapshot.positions[places], snapshot.orientations[places]], axis=1)
