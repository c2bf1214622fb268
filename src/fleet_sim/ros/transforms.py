"""Poses given in any frame the simulation knows, brought to the map frame."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.world import World
from fleet_sim.errors import unknown_name
from fleet_sim.geometry import Pose
from fleet_sim.ros.names import Frames
from fleet_sim.spatial import quaternions


class Transforms:
    """The frames of the simulation: the map, and odom and base_link of each robot. No frame at all means the map."""

    def __init__(self, world: World, frames: Frames) -> None:
        self._world = world
        self._frames = frames

    def to_map(self, frame: str, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
        """Return poses (N, 3), (N, 4) of `frame` in the map frame, as of now; raises UnknownNameError.

        To be called where columns may be read: in the simulation's thread.
        """
        if frame.removeprefix("/") in ("", self._frames.map):
            return positions, orientations
        robot, part = self._frames.split(frame) or ("", "")
        if not self._world.has_name(robot):
            known = [self._frames.map, *(self._frames.base(name) for name in self._world.names if name)]
            raise unknown_name("frame", frame, known)
        if part == "odom":
            return positions, orientations
        row = self._world.row_named(robot)
        turn, place = self._world.orientation[[row]], self._world.position[[row]]
        return quaternions.rotate(turn, positions) + place, quaternions.multiply(turn, orientations)

    def pose_to_map(self, frame: str, pose: Pose) -> Pose:
        """Return one pose of `frame` in the map frame; raises UnknownNameError."""
        points, turns = self.to_map(frame, np.array([pose.position]), np.array([pose.orientation]))
        return Pose(points[0].tolist(), turns[0].tolist())
