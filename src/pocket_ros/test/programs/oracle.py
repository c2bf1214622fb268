"""The two nodes whose endpoints and payloads `test/wire` holds, as recorded from a full ROS 2."""

import contextlib

import rclpy
from example_interfaces.action import Fibonacci
from example_interfaces.srv import AddTwoInts
from geometry_msgs.msg import Twist
from rclpy.action import ActionClient, ActionServer
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import LaserScan
from std_msgs.msg import String


def main() -> None:
    rclpy.init()
    node = Node("oracle_node", namespace="/robot_1")
    client = Node("oracle_client", namespace="/robot_1")
    node.declare_parameter("speed", 1.5)
    node.create_publisher(Twist, "cmd_vel", 10)
    node.create_publisher(LaserScan, "scan", qos_profile_sensor_data)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_publisher(String, "robot_description", latched)
    node.create_subscription(Twist, "cmd_in", lambda _: None, 10)
    node.create_service(AddTwoInts, "add", lambda request, response: response)
    ActionServer(node, Fibonacci, "fib", lambda goal: Fibonacci.Result())
    client.create_client(AddTwoInts, "add")
    ActionClient(client, Fibonacci, "fib")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    executor.add_node(client)
    print("ready", flush=True)
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        executor.spin()


main()
