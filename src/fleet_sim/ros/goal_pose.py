"""<robot>/goal_pose and <robot>/path: goals in any known frame."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path

from fleet_sim.core.commands import Command, FollowPath, Navigate
from fleet_sim.ros.conversions import poses_from_msgs
from fleet_sim.ros.polled import RobotCommandTopic


class GoalPoseTopic(RobotCommandTopic):
    """Drives a robot to a received pose.

    Subscribes to <robot>/goal_pose, a PoseStamped, as RViz sends it. Any frame that TF connects to the map will do; one
    that is not connected is rejected with the reason in the log.
    """

    message_type = PoseStamped
    topic = "goal_pose"

    def command(self, name: str, message: PoseStamped) -> Command:
        """Return the command for a pose in any frame; raises UnknownNameError for an unknown frame."""
        positions, orientations = poses_from_msgs([message.pose])
        positions, orientations = self.bridge.transforms.to_map(message.header.frame_id, positions, orientations)
        return Navigate(names=(name,), positions=positions, orientations=orientations, source="goal_pose")


class PathTopic(RobotCommandTopic):
    """Makes a robot follow a received path. Poses without a frame are in the frame of the path.

    Subscribes to <robot>/path, a nav_msgs/Path. An empty path is rejected.
    """

    message_type = Path
    topic = "path"

    def command(self, name: str, message: Path) -> Command:
        """Return the command of a path; poses without a frame are in that of the message."""
        positions, orientations = poses_from_msgs([stamped.pose for stamped in message.poses])
        frames = [stamped.header.frame_id or message.header.frame_id for stamped in message.poses]
        # Each frame once, as looking one up goes through TF.
        for frame in dict.fromkeys(frames):
            mask = [own == frame for own in frames]
            positions[mask], orientations[mask] = self.bridge.transforms.to_map(
                frame, positions[mask], orientations[mask]
            )
        return FollowPath(name=name, positions=positions, orientations=orientations, source="path")
