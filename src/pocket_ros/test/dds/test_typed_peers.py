"""Programs that use the Python binding of Cyclone DDS with described types match and understand."""

from collections.abc import Callable
from typing import Any

import pytest
import rclpy
from geometry_msgs.msg import Twist
from rclpy.node import Node

Start = Callable[..., Any]


@pytest.mark.parametrize("interface", [(), ("127.0.0.1",)])
@pytest.mark.parametrize("first", ["node", "peer"])
def test_a_described_type_matches_in_both_directions(
    ros: None, start: Start, first: str, interface: tuple[str, ...]
) -> None:
    node = Node("here") if first == "node" else None
    peer = start("typed_peer", *interface)
    peer.wait_for("ready")
    node = node or Node("here")
    received: list[Twist] = []
    publisher = node.create_publisher(Twist, "to_peer", 10)
    node.create_subscription(Twist, "from_peer", received.append, 10)
    while publisher.get_subscription_count() == 0:
        rclpy.spin_once(node, timeout_sec=0.01)
    message = Twist()
    message.linear.x, message.angular.z = 1.5, -0.25
    # Again and again: the other side may not know yet of this one.
    while not received:
        publisher.publish(message)
        rclpy.spin_once(node, timeout_sec=0.1)
    assert peer.wait_for("received") == "received 1.5 -0.25"
    assert received[0] == message
