"""<robot>/goal_pose and <robot>/path: goals in any known frame."""

from __future__ import annotations

from functools import partial

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path

from fleet_sim.core.commands import Command, FollowPath, Navigate
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import poses_from_msgs
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.polled import PolledTopic
from fleet_sim.ros.roster import Roster


class GoalPoseTopic(Interface):
    """Drives a robot to a received pose."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._topic = PolledTopic(bridge, PoseStamped, "goal_pose", qos.COMMAND)

    def on_fleet_changed(self, roster: Roster) -> None:
        self._topic.on_fleet_changed(roster)

    def receive(self) -> None:
        for index, message in self._topic.take():
            name = self._topic.names[index]
            self.bridge.gateway.take(f"{name}/goal_pose", partial(self._command, name, message))

    def _command(self, name: str, message: PoseStamped) -> Command:
        points, turns = poses_from_msgs([message.pose])
        points, turns = self.bridge.transforms.to_map(message.header.frame_id, points, turns)
        return Navigate(names=(name,), positions=points, orientations=turns, source="goal_pose")


class PathTopic(Interface):
    """Makes a robot follow a received path. Poses without a frame are in the frame of the path."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._topic = PolledTopic(bridge, Path, "path", qos.COMMAND)

    def on_fleet_changed(self, roster: Roster) -> None:
        self._topic.on_fleet_changed(roster)

    def receive(self) -> None:
        for index, message in self._topic.take():
            name = self._topic.names[index]
            self.bridge.gateway.take(f"{name}/path", partial(self._command, name, message))

    def _command(self, name: str, message: Path) -> Command:
        points, turns = poses_from_msgs([stamped.pose for stamped in message.poses])
        frames = [stamped.header.frame_id or message.header.frame_id for stamped in message.poses]
        for frame in dict.fromkeys(frames):
            mask = [own == frame for own in frames]
            points[mask], turns[mask] = self.bridge.transforms.to_map(frame, points[mask], turns[mask])
        return FollowPath(name=name, positions=points, orientations=turns, source="path")
