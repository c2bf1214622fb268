"""/tf of links moved by joints, for all robots in one message."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

from fleet_sim.arrays import Ints, Rows
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.kinematics.tf_tree import joint_frames
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.tf import moving_transforms, tf_template


class _Group(NamedTuple):
    """Robots of one model, and the indices (N, M) of their joints in the message."""

    model: RobotModel
    rows: Rows
    places: Ints


class LinkFramesTopic(Interface):
    """Publishes the frames of links moved by joints; TfTopic publishes fixed links on /tf_static.

    On /tf at `ros.rates.links`, all robots in one message: <robot>/<link> in the frame of its parent link. The links of
    a model are computed for all of its robots in one call.
    """

    rate = "links"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.robots.create_publisher(TFMessage, "/tf", qos.TF)
        self._groups: list[_Group] = []

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
            self._groups.append(_Group(model, np.array(rows), places))
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
