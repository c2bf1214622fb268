"""Transforms between the frames of a robot's links, without stamps: <robot>/<link>, each relative to its parent link.

The base is <robot>/base_link, whatever its name in the description, and also has a frame of its own name. If another
link is called base_link, the base has only the frame of its own name.
"""

from __future__ import annotations

from geometry_msgs.msg import Quaternion, TransformStamped, Vector3

from fleet_sim.core.robot_model import BASE, FIXED, RobotModel
from fleet_sim.ros.names import Frames


def make_transform(parent: str, child: str) -> TransformStamped:
    """Return a transform between two frames; stamp and numbers are not set."""
    transform = TransformStamped(child_frame_id=child)
    transform.header.frame_id = parent
    return transform


def base_frame(frames: Frames, robot: str, model: RobotModel | None) -> str:
    """Return the frame of a robot's base."""
    # The robot's frame is usually called base_link; where a link further up has that name, the base keeps its own.
    taken = model is not None and "base_link" in model.link_names
    return frames.link(robot, model.base_name) if model is not None and taken else frames.base(robot)


def moving_transforms(frames: Frames, robot: str, model: RobotModel) -> list[TransformStamped]:
    """Return the transforms of links moved by joints, in the order of `model.movable`."""
    return [_between(frames, robot, model, joint) for joint in model.movable.tolist()]


def fixed_transforms(frames: Frames, robot: str, model: RobotModel) -> list[TransformStamped]:
    """Return the constant transforms, with their numbers."""
    base, own = base_frame(frames, robot, model), frames.link(robot, model.base_name)
    fixed = [] if base == own else [make_transform(base, own)]
    for joint, kind in enumerate(model.joint_types.tolist()):
        if kind == FIXED:
            made = _between(frames, robot, model, joint)
            x, y, z = model.joint_positions[joint].tolist()
            qx, qy, qz, qw = model.joint_orientations[joint].tolist()
            made.transform.translation = Vector3(x=x, y=y, z=z)
            made.transform.rotation = Quaternion(x=qx, y=qy, z=qz, w=qw)
            fixed.append(made)
    return fixed


def _between(frames: Frames, robot: str, model: RobotModel, joint: int) -> TransformStamped:
    parent = int(model.parents[joint])
    above = base_frame(frames, robot, model) if parent == BASE else frames.link(robot, model.link_names[parent])
    return make_transform(above, frames.link(robot, model.link_names[joint]))
