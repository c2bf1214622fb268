"""Transforms poses from any frame known to TF to the map frame."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.ros_names import Frames
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError, UnknownNameError, brief, unknown_name
from fleet_sim.geometry import Pose
from fleet_sim.ros.tf_listener import TfListener
from fleet_sim.spatial import poses, quaternions
from fleet_sim.spatial.quaternions import IDENTITY

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
            return poses.compose(*own, *way[root])
        # The map may itself have a parent, such as an earth frame: then go down from the common ancestor.
        down = self._upwards(self._frames.map)
        common = next((frame for frame in way if frame in down), None)
        if common is not None:
            return poses.compose(*poses.inverse(*down[common]), *way[common])
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
            place = way[at] = poses.compose(link.position, link.orientation, *place)
        return way
