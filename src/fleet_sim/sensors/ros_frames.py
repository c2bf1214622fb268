"""Names of sensor topics and frames: /<robot>/<sensor> and the frame <robot>/<sensor>; without a robot, <sensor>.

For ROS and for recordings, which name them alike.
"""

from __future__ import annotations

from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.ros_names import Frames
from fleet_sim.entities.spawn_params import ORIGIN
from fleet_sim.kinematics.tf_tree import FrameLink, base_frame, link_frame
from fleet_sim.sensors.camera import CameraSensorParams
from fleet_sim.sensors.render.optics import OPTICAL_TURN
from fleet_sim.sensors.sensor import Sensor

NOT_TURNED = (0.0, 0.0, 0.0, 1.0)


def topic_of(sensor: Sensor) -> str:
    """Return the topic of a sensor, relative to the node's namespace."""
    owner = owner_of(sensor)
    return f"{owner}/{sensor.name}" if owner else sensor.name


def frame_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a sensor: <robot>/<sensor>, or with `_sensor` where a link of the robot has that name.

    If the sensor is mounted on that link without an offset, the link's frame is its own.
    """
    owner = owner_of(sensor)
    if not owner:
        return frames.odom(sensor.name).rpartition("/")[0]
    frame = part_of(frames, owner, sensor.name)
    if frame not in _frames_of_links(frames, sensor) or (_has_no_offset(sensor) and frame == parent_of(frames, sensor)):
        return frame
    return f"{frame}_sensor"


def optical_frame_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a camera's pictures, x right, y down, z forward: that of the camera, and `_optical_frame`.

    If the link that the camera is mounted on has that name and is such a frame, it is that link's. If another link has
    that name, the frame's name gets `_sensor`.
    """
    frame = f"{frame_of(frames, sensor)}_optical_frame"
    if frame not in _frames_of_links(frames, sensor) or (
        _has_no_offset(sensor) and _is_optical(sensor) and frame == parent_of(frames, sensor)
    ):
        return frame
    return f"{frame}_sensor"


def frame_links(frames: Frames, sensor: Sensor) -> list[FrameLink]:
    """Return where the frames of a sensor are: its own, and that of a camera's pictures; but not those of links."""
    parent, own, pose = parent_of(frames, sensor), frame_of(frames, sensor), sensor.params.pose
    found = [FrameLink(parent, own, tuple(pose.position), tuple(pose.orientation))]
    if isinstance(sensor.params, CameraSensorParams):
        turn = OPTICAL_TURN if sensor.params.frame == "body" else NOT_TURNED
        found.append(FrameLink(own, optical_frame_of(frames, sensor), orientation=turn))
    return [link for link in found if link.child not in (link.parent, parent)]


def parent_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame a sensor is mounted on: the map, a robot's base, or one of its links."""
    if sensor.owner is None:
        return frames.map
    return link_frame(frames, owner_of(sensor), _model_of(sensor), sensor.link)


def reference_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a sensor's odometry: its robot's odom, or the map."""
    return frames.map if sensor.owner is None else frames.odom(owner_of(sensor))


def part_of(frames: Frames, owner: str, part: str) -> str:
    """Return the frame of a part of a robot."""
    return f"{frames.base(owner).rpartition('/')[0]}/{part}"


def owner_of(sensor: Sensor) -> str:
    """Return the name of the robot that carries a sensor; "": none does."""
    return "" if sensor.owner is None else sensor.owner.world.label(sensor.owner.row)


def _model_of(sensor: Sensor) -> RobotModel | None:
    owner = sensor.owner
    return None if owner is None else owner.world.model_of(owner.row)


def _frames_of_links(frames: Frames, sensor: Sensor) -> set[str]:
    """Return the frames that the robot of a sensor has already."""
    if sensor.owner is None:
        return set()
    robot, model = owner_of(sensor), _model_of(sensor)
    names = [] if model is None else [model.base_name, *model.link_names]
    return {frames.odom(robot), base_frame(frames, robot, model), *(part_of(frames, robot, name) for name in names)}


def _has_no_offset(sensor: Sensor) -> bool:
    return sensor.params.pose == ORIGIN


def _is_optical(sensor: Sensor) -> bool:
    return isinstance(sensor.params, CameraSensorParams) and sensor.params.frame == "optical"
