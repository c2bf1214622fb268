"""A peer that announces what ROS 2 Humble does: no type hashes, longer guids in `ros_discovery_info`."""

from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.node import Node
from std_msgs.msg import String

Start = Callable[..., Any]


def test_nodes_and_their_endpoints_are_known(ros: None, start: Start) -> None:
    start("humble_peer").wait_for("ready")
    node = Node("here")
    assert node.wait_for_node("/old", timeout=20) and node.wait_for_node("/ns/bare", timeout=20)
    while not (found := node.get_publishers_info_by_topic("from_old")):
        pass
    assert (found[0].node_name, found[0].node_namespace) == ("old", "/")
    assert str(found[0].topic_type_hash) == "INVALID"
    assert node.get_publisher_names_and_types_by_node("old", "/") == [("/from_old", ["std_msgs/msg/String"])]
    assert node.get_subscriber_names_and_types_by_node("old", "/") == [("/to_old", ["std_msgs/msg/String"])]
    assert node.get_publisher_names_and_types_by_node("bare", "/ns") == []


def test_topics_work_both_ways(ros: None, start: Start) -> None:
    start("humble_peer").wait_for("ready")
    node = Node("here")
    heard: list[str] = []
    publisher = node.create_publisher(String, "to_old", 10)
    node.create_subscription(String, "from_old", lambda message: heard.append(message.data), 10)
    # Again and again: the other side may not know yet of this one.
    while not heard:
        publisher.publish(String(data="echo"))
        rclpy.spin_once(node, timeout_sec=0.1)
    assert heard[0] == "echo"
