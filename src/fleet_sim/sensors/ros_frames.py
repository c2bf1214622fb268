"""Names of sensor topics and frames: /<robot>/<sensor> and the frame <robot>/<sensor>; without a robot, <sensor>.

For ROS and for recordings, which name them alike.
"""

from __future__ import annotations

from fleet_sim.core.ros_names import Frames
from fleet_sim.sensors.sensor import Sensor


def topic_of(sensor: Sensor) -> str:
    """Return the topic of a sensor, relative to the node's namespace."""
    owner = owner_of(sensor)
    return f"{owner}/{sensor.name}" if owner else sensor.name


def frame_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a sensor."""
    owner = owner_of(sensor)
    return part_of(frames, owner, sensor.name) if owner else frames.odom(sensor.name).rpartition("/")[0]


def parent_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame a sensor is mounted on: the map, a robot's base, or one of its links."""
    owner, robot = sensor.owner, owner_of(sensor)
    if owner is None:
        return frames.map
    model = owner.world.model_of(owner.row) if sensor.link >= 0 else None
    return frames.base(robot) if model is None else part_of(frames, robot, model.link_names[sensor.link])


def reference_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a sensor's odometry: its robot's odom, or the map."""
    return frames.map if sensor.owner is None else frames.odom(owner_of(sensor))


def part_of(frames: Frames, owner: str, part: str) -> str:
    """Return the frame of a part of a robot."""
    return f"{frames.base(owner).rpartition('/')[0]}/{part}"


def owner_of(sensor: Sensor) -> str:
    """Return the name of the robot that carries a sensor; "": none does."""
    return "" if sensor.owner is None else sensor.owner.world.label(sensor.owner.row)
