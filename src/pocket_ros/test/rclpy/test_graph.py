"""What nodes know of the domain."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import rclpy
from example_interfaces.srv import AddTwoInts
from rclpy.exceptions import RCLError
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo, TopicEndpointTypeEnum

Start = Callable[..., Any]


@pytest.fixture
def node(ros: None, start: Start) -> Node:
    start("oracle").wait_for("ready")
    node = Node("here")
    assert node.wait_for_node("/robot_1/oracle_client", 10.0)
    return node


def soon(question: Callable[[], Any]) -> Any:
    """The first answer that is not empty; discovery takes a moment."""
    deadline = time.monotonic() + 10
    while not (answer := question()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return answer


def test_nodes_topics_and_services(node: Node) -> None:
    assert {("oracle_node", "/robot_1"), ("oracle_client", "/robot_1"), ("here", "/")} <= set(
        node.get_node_names_and_namespaces()
    )
    assert ("oracle_node", "/robot_1", "/") in node.get_node_names_and_namespaces_with_enclaves()
    soon(lambda: node.count_clients("/robot_1/add"))
    topics = dict(node.get_topic_names_and_types())
    assert topics["/robot_1/cmd_vel"] == ["geometry_msgs/msg/Twist"]
    assert "rt/robot_1/cmd_vel" in dict(node.get_topic_names_and_types(no_demangle=True))
    assert dict(node.get_service_names_and_types())["/robot_1/add"] == ["example_interfaces/srv/AddTwoInts"]


def test_endpoints_belong_to_nodes(node: Node) -> None:
    def published() -> dict[str, list[str]]:
        found = dict(node.get_publisher_names_and_types_by_node("oracle_node", "/robot_1"))
        return found if "/robot_1/fib/_action/status" in found else {}

    assert soon(published)["/robot_1/scan"] == ["sensor_msgs/msg/LaserScan"]
    subscribed = dict(node.get_subscriber_names_and_types_by_node("oracle_node", "/robot_1"))
    assert subscribed["/robot_1/cmd_in"] == ["geometry_msgs/msg/Twist"]
    served = dict(node.get_service_names_and_types_by_node("oracle_node", "/robot_1"))
    assert served["/robot_1/add"] == ["example_interfaces/srv/AddTwoInts"]
    asked = dict(soon(lambda: node.get_client_names_and_types_by_node("oracle_client", "/robot_1")))
    assert asked["/robot_1/add"] == ["example_interfaces/srv/AddTwoInts"]
    with pytest.raises(RCLError):
        node.get_client_names_and_types_by_node("nobody", "/")


def test_endpoints_are_described(node: Node) -> None:
    def one() -> list[TopicEndpointInfo]:
        # A node of this name that another test has killed is known until its lease ends.
        found = node.get_publishers_info_by_topic("/robot_1/robot_description")
        return found if len(found) == 1 else []

    (info,) = soon(one)
    assert (info.node_name, info.node_namespace) == ("oracle_node", "/robot_1")
    assert info.topic_type == "std_msgs/msg/String"
    assert str(info.topic_type_hash).startswith("RIHS01_df668c74")
    assert info.endpoint_type == TopicEndpointTypeEnum.PUBLISHER
    assert info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    assert "Reliability: RELIABLE" in str(info)


def test_counts_follow_creation_and_destruction(ros: None) -> None:
    node = Node("here")
    service = node.create_service(AddTwoInts, "add", lambda request, response: response)
    assert node.count_services("add") == 1
    assert node.count_clients("/add") == 0
    node.destroy_service(service)
    assert node.count_services("add") == 0


def test_a_node_that_ends_leaves_the_graph(ros: None, start: Start) -> None:
    talker = start("talker")
    talker.wait_for("ready")
    node = Node("here")
    assert node.wait_for_node("talker", 10.0), "the slash can be left out"
    talker.process.terminate()
    assert talker.wait() == 0
    assert soon(lambda: "talker" not in node.get_node_names())
    assert rclpy.ok()
