"""Names of sensor topics and frames: /<robot>/<sensor> and the frame <robot>/<sensor>; without a robot, <sensor>."""

from __future__ import annotations

from fleet_sim.core.ros_names import Frames, is_ros_name
from fleet_sim.ros.interface import Bridge
from fleet_sim.sensors import Sensor


def topic_of(sensor: Sensor) -> str:
    """Return the topic of a sensor, relative to the node's namespace."""
    owner = _owner(sensor)
    return f"{owner}/{sensor.name}" if owner else sensor.name


def frame_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a sensor."""
    owner = _owner(sensor)
    return part_of(frames, owner, sensor.name) if owner else frames.odom(sensor.name).rpartition("/")[0]


def parent_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame a sensor is mounted on: the map, a robot's base, or one of its links."""
    owner = sensor.owner
    if owner is None:
        return frames.map
    model = owner.world.model_of(owner.row) if sensor.link >= 0 else None
    return (
        frames.base(_owner(sensor)) if model is None else part_of(frames, _owner(sensor), model.link_names[sensor.link])
    )


def reference_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a sensor's odometry: its robot's odom, or the map."""
    return frames.map if sensor.owner is None else frames.odom(_owner(sensor))


def part_of(frames: Frames, owner: str, part: str) -> str:
    """Return the frame of a part of a robot."""
    return f"{frames.base(owner).rpartition('/')[0]}/{part}"


def is_published(bridge: Bridge, sensor: Sensor) -> bool:
    """Return whether a sensor has topics and a frame: its names are valid, and its robot has the group `sensors`."""
    owner = _owner(sensor)
    if owner and not (is_ros_name(owner) and bridge.params.has_own(owner, "sensors")):
        return False
    return is_ros_name(sensor.name)


def _owner(sensor: Sensor) -> str:
    return "" if sensor.owner is None else sensor.owner.world.label(sensor.owner.row)
