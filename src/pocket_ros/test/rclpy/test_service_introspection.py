"""The events of services: what they say, when there are any, and `ros2 service echo`."""

from collections.abc import Callable
from typing import Any

import pytest
import rclpy
from example_interfaces.srv import AddTwoInts
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.service_introspection import ServiceIntrospectionState
from service_msgs.msg import ServiceEventInfo

OFF, METADATA, CONTENTS = ServiceIntrospectionState
DEPTH = QoSProfile(depth=10)
Event: Any = AddTwoInts.Event


def spin_until(node: Node, condition: Callable[[], Any]) -> None:
    for _ in range(1000):
        if condition():
            return
        rclpy.spin_once(node, timeout_sec=0.02)
    raise AssertionError("it did not happen")


def answer(request: Any, response: Any) -> Any:
    response.sum = request.a + request.b
    return response


def check_events(events: list[Any], full: bool) -> None:
    """The four events of a call that adds 2 to 40, with what was asked and answered if they are full."""
    by_kind = {event.info.event_type: event for event in events}
    sent, received = (by_kind[k] for k in (ServiceEventInfo.REQUEST_SENT, ServiceEventInfo.REQUEST_RECEIVED))
    sums = [
        [part.sum for part in by_kind[kind].response]
        for kind in (ServiceEventInfo.RESPONSE_SENT, ServiceEventInfo.RESPONSE_RECEIVED)
    ]
    assert [[part.a for part in event.request] for event in (sent, received)] == [[40] * full] * 2
    assert sums == [[42] * full] * 2
    assert not sent.response and not by_kind[ServiceEventInfo.RESPONSE_SENT].request
    assert len({event.info.sequence_number for event in events}) == 1
    # One id at the client's side, one at the service's, as in rmw_cyclonedds.
    for kinds in ((0, 3), (1, 2)):
        first, second = (bytes(by_kind[kind].info.client_gid) for kind in kinds)
        assert first == second != bytes(16)
    assert all(event.info.stamp.sec > 0 for event in events)


def test_each_step_of_a_call_is_published_as_far_as_asked_for(ros: None) -> None:
    node, events = Node("watched"), []
    service, client = node.create_service(AddTwoInts, "add", answer), node.create_client(AddTwoInts, "add")
    watcher = node.create_subscription(Event, "add/_service_event", events.append, 20)
    assert client.wait_for_service(timeout_sec=10)

    def call(a: int) -> None:
        future = client.call_async(AddTwoInts.Request(a=a, b=2))
        rclpy.spin_until_future_complete(node, future, timeout_sec=10)
        assert future.result().sum == a + 2

    call(1)
    assert watcher.get_publisher_count() == 0
    for state in (METADATA, CONTENTS):
        for end in (service, client):
            end.configure_introspection(node.get_clock(), DEPTH, state)
        spin_until(node, lambda: watcher.get_publisher_count() == 2)
        call(40)
        spin_until(node, lambda: len(events) == 4)
        check_events(events, state is CONTENTS)
        events.clear()
    client.configure_introspection(node.get_clock(), DEPTH, OFF)
    spin_until(node, lambda: watcher.get_publisher_count() == 1)
    node.destroy_service(service)
    spin_until(node, lambda: watcher.get_publisher_count() == 0)
    with pytest.raises(InvalidHandle):
        service.configure_introspection(node.get_clock(), DEPTH, METADATA)
    with pytest.raises(TypeError, match="takes a ServiceIntrospectionState, not 1"):
        client.configure_introspection(node.get_clock(), DEPTH, 1)


def test_events_carry_the_type_and_hash_that_ros_gives_them(ros: None) -> None:
    node = Node("watched")
    client = node.create_client(AddTwoInts, "add")
    client.configure_introspection(node.get_clock(), DEPTH, METADATA)
    (info,) = node.get_publishers_info_by_topic("/add/_service_event")
    assert info.topic_type == "example_interfaces/srv/AddTwoInts_Event"
    assert str(info.topic_type_hash).startswith("RIHS01_")
