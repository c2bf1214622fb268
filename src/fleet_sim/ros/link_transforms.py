"""Transforms between the frames of a robot's links as messages, without stamps; see `kinematics.tf_tree`."""

from __future__ import annotations

from geometry_msgs.msg import Quaternion, TransformStamped, Vector3

from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.ros_names import Frames
from fleet_sim.kinematics.tf_tree import FrameLink, fixed_links, moving_links


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
    return [_transform(link) for link in fixed_links(frames, robot, model)]


def _transform(link: FrameLink) -> TransformStamped:
    made = make_transform(link.parent, link.child)
    x, y, z = link.position
    qx, qy, qz, qw = link.orientation
    made.transform.translation = Vector3(x=x, y=y, z=z)
    made.transform.rotation = Quaternion(x=qx, y=qy, z=qz, w=qw)
    return made
