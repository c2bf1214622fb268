"""Creates and deletes a publisher as often as each line of its input says, and answers when it is done."""

from __future__ import annotations

import sys

import rclpy
from std_msgs.msg import String

rclpy.init()
node = rclpy.create_node("passers_by")
print("ready")
for line in sys.stdin:
    for _ in range(int(line)):
        node.destroy_publisher(node.create_publisher(String, "passing", 1))
    print("done")
