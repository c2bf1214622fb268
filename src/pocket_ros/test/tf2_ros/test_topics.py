"""Transforms between processes."""

from collections.abc import Callable
from typing import Any

import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.time import Time
from tf2_msgs.srv import FrameGraph
from tf2_ros import Buffer, TransformListener

Start = Callable[..., Any]


def test_a_listener_hears_moving_and_static_frames(ros: None, start: Start) -> None:
    start("broadcaster").wait_for("ready")
    node, buffer = Node("here"), Buffer()
    listener = TransformListener(buffer, node, spin_thread=True)
    found = buffer.lookup_transform("map", "lidar", Time(), Duration(seconds=10))
    assert found.transform.translation.z == 0.5
    assert found.transform.translation.x > 0.0
    rclpy.shutdown()
    listener.dedicated_listener_thread.join(10)
    assert not listener.dedicated_listener_thread.is_alive()


def test_a_buffer_with_a_node_tells_its_frames(ros: None) -> None:
    node = Node("here")
    buffer = Buffer(node=node)
    lidar = TransformStamped(child_frame_id="lidar")
    lidar.header.frame_id = "base"
    buffer.set_transform_static(lidar, "test")
    client = node.create_client(FrameGraph, "/tf2_frames")
    assert client.wait_for_service(timeout_sec=10)
    future = client.call_async(FrameGraph.Request())
    rclpy.spin_until_future_complete(node, future, timeout_sec=10)
    assert future.result().frame_yaml == buffer.all_frames_as_yaml()
    assert "lidar: \n  parent: 'base'\n" in future.result().frame_yaml


def test_a_coroutine_awaits_a_transform(ros: None, start: Start) -> None:
    node, buffer = Node("here"), Buffer()
    TransformListener(buffer, node)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    task = executor.create_task(buffer.lookup_transform_async, "map", "lidar", Time())
    start("broadcaster").wait_for("ready")
    executor.spin_until_future_complete(task, timeout_sec=20)
    assert task.result().child_frame_id == "lidar"
