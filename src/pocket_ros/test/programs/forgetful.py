"""Ends without shutting anything down, as many programs do."""

import rclpy
from std_msgs.msg import String

rclpy.init()
node = rclpy.create_node("forgetful")
publisher = node.create_publisher(String, "words", 10)
node.create_subscription(String, "words", print, 10)
rclpy.spin_once(node, timeout_sec=0.0)
print("done", flush=True)
