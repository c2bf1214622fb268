"""The frames of a robot's links as TF has them: <robot>/<link>, each relative to its parent link.

The base is <robot>/base_link, whatever its name in the description, and also has a frame of its own name. If another
link is called base_link, the base has only the frame of its own name.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.robot_model import BASE, FIXED, PRISMATIC, REVOLUTE, RobotModel
from fleet_sim.core.ros_names import Frames
from fleet_sim.spatial import poses, quaternions


class FrameLink(NamedTuple):
    """The frame `child` in the frame `parent`: position in m and orientation, xyzw; the identity where nothing says."""

    parent: str
    child: str
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)


def base_frame(frames: Frames, robot: str, model: RobotModel | None) -> str:
    """Return the frame of a robot's base."""
    # The robot's frame is usually called base_link; where a link further up has that name, the base keeps its own.
    taken = model is not None and "base_link" in model.link_names
    return frames.link(robot, model.base_name) if model is not None and taken else frames.base(robot)


def link_frame(frames: Frames, robot: str, model: RobotModel | None, link: int) -> str:
    """Return the frame of a link by its number, the base's for BASE."""
    return (
        base_frame(frames, robot, model)
        if model is None or link == BASE
        else frames.link(robot, model.link_names[link])
    )


def moving_links(frames: Frames, robot: str, model: RobotModel) -> list[FrameLink]:
    """Return the links moved by joints, in the order of `model.movable`; their poses are those of the joints."""
    return [_between(frames, robot, model, joint) for joint in model.movable.tolist()]


def fixed_links(frames: Frames, robot: str, model: RobotModel) -> list[FrameLink]:
    """Return the links that never move, with their poses."""
    base, own = base_frame(frames, robot, model), frames.link(robot, model.base_name)
    fixed = [] if base == own else [FrameLink(base, own)]
    for joint, kind in enumerate(model.joint_types.tolist()):
        if kind == FIXED:
            position, orientation = model.joint_positions[joint].tolist(), model.joint_orientations[joint].tolist()
            fixed.append(_between(frames, robot, model, joint)._replace(position=position, orientation=orientation))
    return fixed


def _between(frames: Frames, robot: str, model: RobotModel, joint: int) -> FrameLink:
    above = link_frame(frames, robot, model, int(model.parents[joint]))
    return FrameLink(above, frames.link(robot, model.link_names[joint]))


def joint_frames(model: RobotModel, q: Floats) -> tuple[Floats, Floats]:
    """Return the poses of the child links of the M movable joints in their parent links, for joint values `q` (N, M).

    Positions are (N, M, 3), orientations (N, M, 4).
    """
    joints, robots = model.movable, len(q)
    values = np.ascontiguousarray(q).reshape(-1)
    kinds = np.tile(model.joint_types[joints], robots)
    axes = np.tile(model.axes[joints], (robots, 1))
    turns = quaternions.from_rotation_vectors(axes * np.where(kinds == REVOLUTE, values, 0.0)[:, None])
    slides = axes * np.where(kinds == PRISMATIC, values, 0.0)[:, None]
    positions, orientations = poses.compose(
        np.tile(model.joint_positions[joints], (robots, 1)),
        np.tile(model.joint_orientations[joints], (robots, 1)),
        slides,
        turns,
    )
    return positions.reshape(robots, -1, 3), orientations.reshape(robots, -1, 4)
