"""Broadcasts map -> base, moving, and base -> lidar, static."""

import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

rclpy.init()
node = Node("broadcaster")
moving, fixed = TransformBroadcaster(node), StaticTransformBroadcaster(node)
lidar = TransformStamped(child_frame_id="lidar")
lidar.header.frame_id = "base"
lidar.transform.translation.z = 0.5
fixed.sendTransform(lidar)
base = TransformStamped(child_frame_id="base")
base.header.frame_id = "map"


def move() -> None:
    base.header.stamp = node.get_clock().now().to_msg()
    base.transform.translation.x += 0.1
    moving.sendTransform([base])


node.create_timer(0.02, move)
print("ready", flush=True)
rclpy.spin(node)
