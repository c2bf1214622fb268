"""Names of sensor topics and frames: /<robot>/<sensor> and the frame <robot>/<sensor>; without a robot, <sensor>.

For ROS and for recordings, which name them alike.
"""

from __future__ import annotations

from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.ros_names import Frames
from fleet_sim.entities.spawn_params import ORIGIN
from fleet_sim.kinematics.tf_tree import FrameLink, link_frame
from fleet_sim.sensors.camera import CameraSensorParams
from fleet_sim.sensors.render.optics import OPTICAL_TURN
from fleet_sim.sensors.sensor import Sensor


def topic_of(sensor: Sensor) -> str:
    """Return the topic of a sensor, relative to the node's namespace."""
    owner = owner_of(sensor)
    return f"{owner}/{sensor.name}" if owner else sensor.name


def frame_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a sensor: <robot>/<sensor>, or with `_sensor` where a link of the robot has that name.

    If the sensor is mounted on that link without an offset, the link's frame is its own.
    """
    return _unless_taken(frames, sensor, sensor.name, fits=True)


def optical_frame_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a camera's pictures, x right, y down, z forward: that of the camera, and `_optical_frame`.

    If the link that the camera is mounted on has that name and is such a frame, it is that link's. If another link has
    that name, the frame's name gets `_sensor`.
    """
    own = frame_of(frames, sensor).rpartition("/")[2]
    return _unless_taken(frames, sensor, f"{own}_optical_frame", fits=not _is_turned(sensor))


def frame_links(frames: Frames, sensor: Sensor) -> list[FrameLink]:
    """Return where the frames of a sensor are: its own, and that of a camera's pictures; but not those of links."""
    parent, own, pose = parent_of(frames, sensor), frame_of(frames, sensor), sensor.params.pose
    found = [FrameLink(parent, own, tuple(pose.position), tuple(pose.orientation))]
    if isinstance(sensor.params, CameraSensorParams):
        optical = FrameLink(own, optical_frame_of(frames, sensor))
        found.append(optical._replace(orientation=OPTICAL_TURN) if _is_turned(sensor) else optical)
    return [link for link in found if link.child not in (link.parent, parent)]


def parent_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame a sensor is mounted on: the map, a robot's base, or one of its links."""
    if sensor.owner is None:
        return frames.map
    return link_frame(frames, owner_of(sensor), _model_of(sensor), sensor.link)


def reference_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a sensor's odometry: its robot's odom, or the map."""
    return frames.map if sensor.owner is None else frames.odom(owner_of(sensor))


def owner_of(sensor: Sensor) -> str:
    """Return the name of the robot that carries a sensor; "": none does."""
    return "" if sensor.owner is None else sensor.owner.world.label(sensor.owner.row)


def _model_of(sensor: Sensor) -> RobotModel | None:
    owner = sensor.owner
    return None if owner is None else owner.world.model_of(owner.row)


def _unless_taken(frames: Frames, sensor: Sensor, name: str, *, fits: bool) -> str:
    """Return the frame `name` of a sensor, with `_sensor` where its robot has a frame of that name already.

    If the sensor is mounted on that frame without an offset, and `fits` its axes, it is the same frame.
    """
    owner, model = owner_of(sensor), _model_of(sensor)
    if not owner:
        return frames.odom(name).rpartition("/")[0]
    frame = frames.link(owner, name)
    # By name: contact sensors ask for it with each message.
    taken = name in ("odom", "base_link") or (
        model is not None and (name == model.base_name or name in model.link_names)
    )
    is_there = fits and sensor.params.pose == ORIGIN and frame == parent_of(frames, sensor)
    return f"{frame}_sensor" if taken and not is_there else frame


def _is_turned(sensor: Sensor) -> bool:
    return isinstance(sensor.params, CameraSensorParams) and sensor.params.frame == "body"
