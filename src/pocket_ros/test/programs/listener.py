"""Prints what it hears on `chatter`."""

import rclpy
from rclpy.node import Node
from std_msgs.msg import String

rclpy.init()
node = Node("listener")
node.create_subscription(String, "chatter", lambda message: print("heard", message.data, flush=True), 10)
print("ready", flush=True)
rclpy.spin(node)
