"""A buffer in another node, asked by an action."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import rclpy
import tf2_geometry_msgs
import tf2_geometry_msgs.tf2_geometry_msgs as inner
import tf2_ros
from geometry_msgs.msg import PointStamped, TransformStamped
from rclpy.action import ActionServer, GoalResponse
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from rclpy.time import Time
from tf2_msgs.action import LookupTransform
from tf2_msgs.msg import TF2Error
from tf2_ros import Buffer, BufferClient


class Server:
    """A buffer with one frame, behind the action; it remembers what it was asked."""

    def __init__(self, node: Node) -> None:
        self.asked: list[Any] = []
        self.accepts = True
        self.buffer = Buffer()
        lidar = TransformStamped(child_frame_id="lidar")
        lidar.header.frame_id = "base"
        lidar.transform.translation.x = 2.0
        lidar.transform.rotation.w = 1.0
        self.buffer.set_transform_static(lidar, "test")
        ActionServer(node, LookupTransform, "buffer", self.look_up, goal_callback=self.accept)

    def accept(self, goal: Any) -> GoalResponse:
        return GoalResponse.ACCEPT if self.accepts else GoalResponse.REJECT

    def look_up(self, handle: Any) -> Any:
        goal, result = handle.request, LookupTransform.Result()
        self.asked.append(goal)
        try:
            time = Time.from_msg(goal.source_time)
            result.transform = self.buffer.lookup_transform(goal.target_frame, goal.source_frame, time)
            handle.succeed()
        except tf2_ros.LookupException as error:
            result.error.error, result.error.error_string = TF2Error.LOOKUP_ERROR, str(error)
            handle.abort()
        return result


@pytest.fixture
def pair(ros: None) -> Iterator[tuple[BufferClient, Server]]:
    node = Node("both")
    server, client = Server(node), BufferClient(node, "buffer")
    executor = MultiThreadedExecutor(2)
    executor.add_node(node)

    def spin() -> None:
        with contextlib.suppress(ExternalShutdownException):
            executor.spin()

    thread = threading.Thread(target=spin)
    thread.start()
    assert client.action_client.wait_for_server(10.0)
    yield client, server
    rclpy.try_shutdown()
    thread.join(10)
    assert not thread.is_alive()


def test_transforms_come_from_the_server(pair: tuple[BufferClient, Server]) -> None:
    client, server = pair
    found = client.lookup_transform("base", "lidar", Time(), Duration(seconds=1.5))
    assert (found.header.frame_id, found.transform.translation.x) == ("base", 2.0)
    assert (server.asked[0].timeout.sec, server.asked[0].timeout.nanosec) == (1, 500_000_000)
    point = PointStamped()
    point.header.frame_id = "lidar"
    assert client.transform(point, "base").point.x == 2.0
    client.lookup_transform_full("base", Time(seconds=2), "lidar", Time(seconds=1).to_msg(), "base")
    last = server.asked[-1]
    assert (last.advanced, last.target_time.sec, last.source_time.sec, last.fixed_frame) == (
        True,
        2,
        1,
        "base",
    )


def test_errors_of_the_server_are_raised(pair: tuple[BufferClient, Server]) -> None:
    client, server = pair
    with pytest.raises(tf2_ros.LookupException, match="nowhere"):
        client.lookup_transform("base", "nowhere", Time())
    assert not client.can_transform("base", "nowhere", Time())
    assert client.can_transform("base", "lidar", Time())
    assert not client.can_transform_full("base", Time(), "nowhere", Time(), "base")
    server.accepts = False
    with pytest.raises(tf2_ros.TimeoutException, match="not accepted"):
        client.lookup_transform("base", "lidar", Time())
    with pytest.raises(TypeError, match=r"rclpy\.time\.Time"):
        client.lookup_transform("base", "lidar", 1.0)


def test_without_a_server_there_is_no_waiting(ros: None) -> None:
    with pytest.raises(tf2_ros.TimeoutException, match="not ready"):
        BufferClient(Node("alone"), "nobody").lookup_transform("a", "b", Time())
    with pytest.raises(NotImplementedError, match="buffer_server"):
        tf2_ros.BufferServer  # noqa: B018


def test_geometry_is_converted_by_way_of_messages() -> None:
    assert inner.do_transform_point is tf2_geometry_msgs.do_transform_point
    point = PointStamped()
    registration = tf2_ros.ConvertRegistration()
    assert registration.get_to_msg(PointStamped)(point) is point
    assert registration.get_from_msg(PointStamped)(point) is point
    assert tf2_geometry_msgs.to_msg_msg(point) is tf2_geometry_msgs.from_msg_msg(point) is point
