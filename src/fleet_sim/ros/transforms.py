"""Transforms poses from any frame known to TF to the map frame."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError, UnknownNameError, brief, unknown_name
from fleet_sim.base.geometry import Pose
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.quaternions import IDENTITY
from fleet_sim.ros import messages as qos
from fleet_sim.ros.messages import TopicNode, decode
from fleet_sim.world.commands import Frames
from fleet_sim.world.world import World

# Receives the frames of other nodes on /tf and /tf_static; it subscribes only if there are such nodes.


TOPICS = (("/tf", qos.TF), ("/tf_static", qos.STATIC_TF))
CHECK_PERIOD = 0.5
"""Period in s of real time of the check for other publishers."""

CHECK_SHARE = 0.005
"""Share of time that the check takes at most: rclpy looks at each of the endpoints of the domain."""

LARGE = 4096
"""Larger messages (bytes) are decoded when a frame is looked up, not on arrival."""

MOST_PENDING = 64
"""Large messages kept for a look-up; beyond that they are decoded at once."""

MOST_AT_ONCE = 1000
"""Messages of a topic that are taken at once: who sends faster than they are read must not hold up the step."""

MOST_FRAMES, LONGEST_NAME = 50_000, 1000
"""Frames of other nodes that are known, and the characters of their names."""

_FIRST_FRAME = struct.Struct("<4xI8xI")
"""The beginning of a TFMessage in CDR: the number of transforms, and the length of the first frame_id."""


@dataclass(frozen=True)
class Link:
    """The latest transform of a frame into its `parent`: `position` (1, 3) in m, `orientation` (1, 4)."""

    parent: str
    position: Floats
    orientation: Floats


class TfListener:
    """Keeps the latest transforms published by other nodes. Belongs to the simulation's thread.

    While this node is the only publisher there is no subscription, so nothing is paid. Messages of this node itself are
    recognised with `is_own` by the parent of their first transform and are not decoded further.
    """

    def __init__(self, node: TopicNode, is_own: Callable[[str], bool], refuse: Callable[[str, object], object]) -> None:
        """`refuse(what, reason)` is called for invalid messages."""
        self._node = node
        self._is_own = is_own
        self._refuse = refuse
        self._links: dict[str, Link] = {}
        self._takes: dict[str, Any] = {}
        self._pending: dict[tuple[int, bytes], bytes] = {}
        self._next_check = 0.0
        self._counted = -1
        """How many publishers the node had when those of `_own` were counted."""
        self._own: dict[str, int] = {}

    def listen(self) -> None:
        """Poll the subscriptions; to be called often, because their queues are limited."""
        now = time.monotonic()
        if now >= self._next_check:
            begin = time.thread_time()
            self._subscribe()
            self._next_check = now + max(CHECK_PERIOD, (time.thread_time() - begin) / CHECK_SHARE)
        for take in self._takes.values():
            for _ in range(MOST_AT_ONCE):
                taken = take(TFMessage, True)
                if not taken:
                    break
                self._hear(taken[0])

    def catch_up(self) -> None:
        """Take what has arrived until now, so that `link` and `frames` are the latest; once for each look-up."""
        if self._takes:
            self.listen()
            self._decode_pending()

    def link(self, frame: str) -> Link | None:
        """Return the transform of `frame` into its parent, or None if no other node has published one."""
        return self._links.get(frame)

    @property
    def frames(self) -> set[str]:
        """All frames named by other nodes."""
        return {*self._links, *(link.parent for link in self._links.values())}

    def _subscribe(self) -> None:
        for topic, profile in TOPICS:
            # Base frames, frames of links and frames of sensors have a publisher each, so one is not the limit.
            if topic not in self._takes and self._node.count_publishers(topic) > self._own_publishers(topic):
                self._takes[topic] = self._node.poll(TFMessage, topic, profile).handle.take_message

    def _own_publishers(self, topic: str) -> int:
        publishers = list(self._node.publishers)
        # In rclpy the name of each of thousands of topics is a call into its library.
        if len(publishers) != self._counted:
            self._counted, names = len(publishers), [publisher.topic_name for publisher in publishers]
            self._own = {name: names.count(name) for name, _ in TOPICS}
        return self._own[topic]

    def _hear(self, data: bytes) -> None:
        """Take in transforms of others; those of this node are told by their first frame, without decoding."""
        # Byte 1 of the header is 1 for little endian; anything else is left to the full decoder.
        if len(data) < _FIRST_FRAME.size or data[1] != 1:
            self._decode(data)
            return
        count, length = _FIRST_FRAME.unpack_from(data)
        # The length of a string in CDR counts the zero byte at its end.
        begin = data[_FIRST_FRAME.size : _FIRST_FRAME.size + max(0, length - 1)]
        if count and self._is_own(begin.decode(errors="replace")):
            return
        if len(data) < LARGE:
            self._decode(data)
        else:
            # Another simulation may send thousands of frames many times per second; only the latest are decoded.
            self._pending[len(data), begin] = data
            # Frames nobody looks up must not pile up, whatever sizes of messages arrive.
            if len(self._pending) > MOST_PENDING:
                self._decode_pending()

    def _decode_pending(self) -> None:
        for data in self._pending.values():
            self._decode(data)
        self._pending.clear()

    def _decode(self, data: bytes) -> None:
        """Keep the transforms of a message; broken, huge and superfluous ones are refused one by one."""
        try:
            message = decode(data, TFMessage)
        except InvalidValueError as error:
            self._refuse("/tf", error)
            return
        for stamped in message.transforms:
            child, link = stamped.child_frame_id.removeprefix("/"), _link(stamped)
            if link is None:
                self._refuse(f"/tf: transform of {brief(child)}", "it is not finite, or its quaternion is zero")
            elif max(len(child), len(link.parent)) > LONGEST_NAME:
                self._refuse(f"/tf: transform of {brief(child)}", f"names have at most {LONGEST_NAME} characters")
            elif child not in self._links and len(self._links) >= MOST_FRAMES:
                self._refuse(f"/tf: transform of {brief(child)}", f"{MOST_FRAMES} frames of other nodes are known")
            else:
                self._links[child] = link


def _link(stamped: TransformStamped) -> Link | None:
    """Return a transform as a link, or None if it is not finite or its quaternion is zero."""
    t, q = stamped.transform.translation, stamped.transform.rotation
    position, orientation = np.array([[t.x, t.y, t.z]]), np.array([[q.x, q.y, q.z, q.w]])
    norm = float(np.sqrt((orientation**2).sum()))
    if not (np.isfinite(position).all() and np.isfinite(norm) and norm > 1e-6):
        return None
    return Link(stamped.header.frame_id.removeprefix("/"), position, orientation / norm)


LONGEST_CHAIN = 1000
"""Frames above a frame of other nodes: a tree of transforms as deep as memory would hold up the step."""

Placement = tuple[Floats, Floats]
"""The pose of a frame in another one: position (1, 3) in m and orientation (1, 4)."""


class Transforms:
    """The frames of the simulation (the map, odom, base_link and links of each robot) and those other nodes publish.

    For frames of the simulation, transforms of other nodes are ignored. An empty frame means the map. Transforms are
    current: of those of other nodes the latest are used.
    """

    def __init__(self, world: World, frames: Frames, listener: TfListener) -> None:
        self._world = world
        self._frames = frames
        self._listener = listener

    def listen(self) -> None:
        """Receive the transforms of other nodes."""
        self._listener.listen()

    def to_map(self, frame: str, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
        """Return poses (N, 3), (N, 4) of `frame` in the map frame, as of now; raises UnknownNameError, and
        InvalidValueError below more frames than LONGEST_CHAIN.

        To be called where columns may be read: in the simulation's thread.
        """
        name = frame.removeprefix("/")
        if name in ("", self._frames.map):
            return positions, orientations
        place, turn = self._own(name) or self._by_tf(name)
        # Not normalised: an invalid pose must be rejected for its own robot only, later.
        return quaternions.rotate(turn, positions) + place, quaternions.multiply(turn, orientations)

    def pose_to_map(self, frame: str, pose: Pose) -> Pose:
        """Return one pose of `frame` in the map frame; raises UnknownNameError."""
        positions, orientations = self.to_map(frame, np.array([pose.position]), np.array([pose.orientation]))
        return Pose(positions[0].tolist(), orientations[0].tolist())

    def _own(self, name: str) -> Placement | None:
        """Return the pose of a frame of the simulation in the map, or None for other frames."""
        robot, part = self._frames.parts(name)
        if name == self._frames.map or (part == "odom" and self._world.index.has_name(robot)):
            return np.zeros((1, 3)), IDENTITY[None]
        if not self._world.index.has_name(robot):
            return None
        row = self._world.index.row_named(robot)
        model = self._world.model_of(row)
        if (
            model is not None
            and name == self._frames.link(robot, part)
            and part in (model.base_name, *model.link_names)
        ):
            return self._world.link_poses(np.array([row]), np.array([model.link_index(part)]))
        if name != self._frames.base(robot):
            return None
        return self._world.position[[row]], self._world.orientation[[row]]

    def _by_tf(self, name: str) -> Placement:
        """Return the pose of a frame of other nodes in the map; raises UnknownNameError."""
        # Once, not for each frame on the way: who sends without end would hold up the step as often.
        self._listener.catch_up()
        way = self._upwards(name)
        root = next(reversed(way))
        own = self._own(root)
        if own is not None:
            return quaternions.compose(*own, *way[root])
        # The map may itself have a parent, such as an earth frame: then go down from the common ancestor.
        down = self._upwards(self._frames.map)
        common = next((frame for frame in way if frame in down), None)
        if common is not None:
            return quaternions.compose(*quaternions.inverse(*down[common]), *way[common])
        heard = self._listener.frames
        if name in heard:
            map_frame = self._frames.map
            raise UnknownNameError(f"frame {name!r} is below {root!r}, which no transform connects with {map_frame!r}")
        own_frames = (self._frames.base(robot) for robot in self._world.index.names if robot)
        raise unknown_name("frame", name, {self._frames.map, *own_frames, *heard})

    def _upwards(self, name: str) -> dict[str, Placement]:
        """Return the pose of `name` in itself and in each of its ancestors, up to a frame of the simulation."""
        at, place = name, (np.zeros((1, 3)), IDENTITY[None])
        way = {at: place}
        while (at == name or self._own(at) is None) and (link := self._listener.link(at)) is not None:
            at = link.parent
            if len(way) > LONGEST_CHAIN:
                raise InvalidValueError(f"frame {brief(name)} is below more than {LONGEST_CHAIN} others")
            # Other nodes may publish transforms that form a loop.
            if at in way:
                break
            place = way[at] = quaternions.compose(link.position, link.orientation, *place)
        return way
