"""What programs for rclpy lean on without saying so: orders, texts, what is given for what."""

import contextlib
import os
import threading
import warnings
from typing import Any

import pytest
import rclpy
from example_interfaces.action import Fibonacci
from example_interfaces.srv import AddTwoInts
from rclpy.action import ActionClient, ActionServer
from rclpy.context import Context
from rclpy.exceptions import NoTypeSupportImportedException
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_event_handler import ParameterEventHandler
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from rclpy.type_support import check_for_type_support
from std_msgs.msg import String


def test_messages_come_before_answers_that_are_ready_with_them(ros: None) -> None:
    node, executor = Node("here"), SingleThreadedExecutor()
    order: list[str] = []
    client = node.create_client(AddTwoInts, "add")
    service = node.create_service(AddTwoInts, "add", lambda request, response: response)
    node.create_subscription(String, "words", lambda _: order.append("message"), 10)
    publisher = node.create_publisher(String, "words", 10)
    assert client.wait_for_service(timeout_sec=10)
    future = client.call_async(AddTwoInts.Request())
    future.add_done_callback(lambda _: order.append("answer"))
    while (request := service.handle.service_take_request(service.srv_type.Request)) == (None, None):
        assert client.service_is_ready()
    assert request[1].source_timestamp > 0
    service.send_response(AddTwoInts.Response(), request[1])
    publisher.publish(String())
    executor.add_node(node)
    executor.spin_until_future_complete(future, timeout_sec=10)
    assert order == ["message", "answer"]


def test_feedback_that_came_with_the_acceptance_is_there_when_the_goal_is_accepted(ros: None) -> None:
    node = Node("acting")

    def execute(goal: Any) -> Fibonacci.Result:
        goal.publish_feedback(Fibonacci.Feedback(sequence=[1, 2]))
        goal.succeed()
        return Fibonacci.Result()

    ActionServer(node, Fibonacci, "count", execute)
    client = ActionClient(node, Fibonacci, "count")
    assert client.wait_for_server(timeout_sec=10)
    feedback: list[Any] = []
    future = client.send_goal_async(Fibonacci.Goal(), feedback_callback=feedback.append)
    rclpy.spin_until_future_complete(node, future, timeout_sec=10)
    assert future.result().accepted and len(feedback) == 1


def test_a_pool_has_as_many_threads_as_processors_may_be_used(ros: None) -> None:
    threads = len(os.sched_getaffinity(0))
    executor = MultiThreadedExecutor()
    # All of them meet, and this thread; whoever comes later finds nobody.
    meeting = threading.Barrier(threads + 1)
    seen: list[int] = []

    def meet() -> None:
        seen.append(threading.get_ident())
        with contextlib.suppress(threading.BrokenBarrierError):
            meeting.wait(10)

    tasks = [executor.create_task(meet) for _ in range(2 * threads + 1)]
    spinning = threading.Thread(target=executor.spin_until_future_complete, args=(tasks[-1], 10))
    spinning.start()
    meeting.wait(10)
    meeting.abort()
    spinning.join()
    assert len(set(seen)) == threads
    executor.shutdown()
    with pytest.warns(UserWarning, match="Use the SingleThreadedExecutor"):
        MultiThreadedExecutor(num_threads=1).shutdown()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiThreadedExecutor(num_threads=2).shutdown()


def test_texts_say_what_is_invalid() -> None:
    context = Context()
    with pytest.raises(UnicodeEncodeError):
        rclpy.init(args=["program", "Ragnar\udcc3"], context=context)
    with pytest.raises(RuntimeError, match=r"Failed to parse ROS arguments:.*not-a-remap"):
        rclpy.init(args=["--ros-args", "-r", "not-a-remap"], context=context)
    rclpy.init(args=[], context=context)
    node = Node("here", context=context)
    for count in (node.count_publishers, node.count_subscribers):
        with pytest.raises(ValueError, match="topic name is invalid"):
            count("42")
    context.shutdown()


def test_profiles_as_the_extension_has_them() -> None:
    from rclpy._rclpy_pybind11 import rmw_qos_profile_t

    profile = QoSProfile(depth=3, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    assert QoSProfile(**profile.get_c_qos_profile().to_dict()) == profile
    assert rmw_qos_profile_t.predefined("qos_profile_sensor_data") == qos_profile_sensor_data
    with pytest.raises(ValueError, match="known are qos_profile_action_status_default"):
        rmw_qos_profile_t.predefined("sensor_data")


def test_a_class_without_its_compiled_part_is_told_from_what_is_no_class() -> None:
    class Compiled(type):
        _TYPE_SUPPORT = None

    class Message(metaclass=Compiled):
        pass

    with pytest.raises(NoTypeSupportImportedException):
        check_for_type_support(Message)
    with pytest.raises(AttributeError):
        check_for_type_support(object())


def test_callbacks_of_one_parameter_are_called_by_the_last_first_and_taken_back(ros: None) -> None:
    node = Node("here", namespace="/space")
    node.declare_parameter("speed", 1)
    handler = ParameterEventHandler(node)
    called: list[str] = []
    first = handler.add_parameter_callback("speed", "here", lambda _: called.append("first"))
    handler.add_parameter_callback("speed", "", lambda _: called.append("second"))
    everything = handler.add_parameter_event_callback(lambda _: called.append("event"))
    assert first.node_name == "/space/here"
    node.set_parameters([Parameter("speed", value=2)])
    while "event" not in called:
        rclpy.spin_once(node, timeout_sec=10)
    assert called == ["second", "first", "event"]
    handler.remove_parameter_callback(first)
    handler.remove_parameter_event_callback(everything)
    with pytest.raises(ValueError):
        handler.remove_parameter_callback(first)
