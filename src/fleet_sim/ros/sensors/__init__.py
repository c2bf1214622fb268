"""Sensors in ROS 2, one interface per file.

A sensor is read only while somebody subscribes to its topic. `topics.py` has the endpoints of all kinds; a kind names
its message and fills it, as `range.py` does in a few lines.
"""

from fleet_sim.ros.interface import Interface
from fleet_sim.ros.sensors.camera import CameraDepthTopic, CameraImageTopic, CameraInfoTopic, CameraPointsTopic
from fleet_sim.ros.sensors.contacts import ContactsTopic
from fleet_sim.ros.sensors.frames import SensorFramesTopic
from fleet_sim.ros.sensors.imu import ImuTopic
from fleet_sim.ros.sensors.map import MapTopic
from fleet_sim.ros.sensors.odometry import OdometryTopic
from fleet_sim.ros.sensors.points import PointsTopic
from fleet_sim.ros.sensors.range import RangeTopic
from fleet_sim.ros.sensors.scan import ScanTopic
from fleet_sim.ros.sensors.wrench import WrenchTopic

SENSORS: dict[str, type[Interface]] = {
    "sensor_frames": SensorFramesTopic,
    "camera_info": CameraInfoTopic,
    "camera_image": CameraImageTopic,
    "camera_depth": CameraDepthTopic,
    "camera_points": CameraPointsTopic,
    "scan": ScanTopic,
    "imu": ImuTopic,
    "odometry": OdometryTopic,
    "range": RangeTopic,
    "contacts": ContactsTopic,
    "points": PointsTopic,
    "wrench": WrenchTopic,
    "map": MapTopic,
}
"""Frames come first: readings refer to them."""
