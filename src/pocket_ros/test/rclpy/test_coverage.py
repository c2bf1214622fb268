"""What is not covered says so."""

import subprocess
import sys
from importlib import import_module

import pytest
import rclpy
from example_interfaces.action import Fibonacci
from rclpy.action import ActionClient, ActionServer
from rclpy.node import Node
from type_description_interfaces.srv import GetTypeDescription

# Modules of rclpy from which programs import what is defined in another one.
SECOND_PLACES = {
    "executors": ("task", ["Future", "Task"]),
    "publisher": ("type_support", ["MsgType"]),
    "qos_event": ("event_handler", ["QoSLivelinessChangedInfo", "SubscriptionEventCallbacks"]),
}
OF_NODE = {
    "callback_groups": ["CallbackGroup", "MutuallyExclusiveCallbackGroup", "ReentrantCallbackGroup"],
    "client": ["Client"],
    "exceptions": ["InvalidHandle", "ParameterNotDeclaredException", "ParameterAlreadyDeclaredException"],
    "executors": ["Executor"],
    "publisher": ["Publisher"],
    "qos": ["QoSProfile"],
    "service": ["Service"],
    "subscription": ["Subscription"],
    "timer": ["Rate", "Timer"],
}


@pytest.mark.parametrize(
    ("place", "home", "names"),
    [
        *((place, home, names) for place, (home, names) in SECOND_PLACES.items()),
        *(("node", home, names) for home, names in OF_NODE.items()),
    ],
)
def test_names_are_where_programs_import_them_from(place: str, home: str, names: list[str]) -> None:
    for name in names:
        here, there = (getattr(import_module(f"rclpy.{module}"), name) for module in (place, home))
        assert here is there


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("rclpy.event_handler", "EventHandler"),
        ("rclpy.impl.rcutils_logger", "LoggingFilter"),
        ("rclpy.signals", "SignalHandlerGuardCondition"),
    ],
)
def test_names_that_are_not_covered_say_so_when_they_are_imported(module: str, name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"{module}.{name} is not covered"):
        exec(f"from {module} import {name}")


def test_names_for_annotations_are_where_programs_import_them_from() -> None:
    from rclpy.client import SrvTypeRequest, SrvTypeResponse
    from rclpy.clock import ClockHandle, TimeJumpDictionary
    from rclpy.context import ContextHandle
    from rclpy.duration import DurationType
    from rclpy.executors import WaitableEntityType
    from rclpy.service import SrvType
    from rclpy.subscription import MsgType
    from rclpy.time import TimeHandle
    from tf2_ros.buffer_interface import TransformableObject, TransformableObjectType

    assert DurationType is import_module("rclpy.duration").Duration
    assert TimeHandle is import_module("rclpy.time").Time
    assert {SrvType, SrvTypeRequest, SrvTypeResponse, MsgType, WaitableEntityType, TransformableObjectType}
    assert ClockHandle and ContextHandle and TimeJumpDictionary and TransformableObject


def test_type_descriptions_come_with_their_sources_where_these_are_asked_for(ros: None) -> None:
    node = Node("described")
    client = node.create_client(GetTypeDescription, "/described/get_type_description")
    assert client.wait_for_service(timeout_sec=10)
    sources = {}
    for wanted in (True, False):
        future = client.call_async(
            GetTypeDescription.Request(type_name="std_srvs/srv/SetBool_Request", include_type_sources=wanted)
        )
        rclpy.spin_until_future_complete(node, future, timeout_sec=10)
        assert future.result().successful
        sources[wanted] = [(s.type_name, s.encoding) for s in future.result().type_sources]
    assert sources == {True: [("std_srvs/srv/SetBool_Request", "implicit")], False: []}
    future = client.call_async(GetTypeDescription.Request(type_name="std_msgs/msg/Header"))
    rclpy.spin_until_future_complete(node, future, timeout_sec=10)
    header, time = future.result().type_sources
    assert (header.encoding, time.type_name) == ("msg", "builtin_interfaces/msg/Time")
    assert "string frame_id" in header.raw_file_contents


def test_actions_are_waitables_that_only_executors_run(ros: None) -> None:
    node = Node("acting")
    client = ActionClient(node, Fibonacci, "count")
    server = ActionServer(node, Fibonacci, "count", lambda goal: Fibonacci.Result())
    assert list(node.waitables) == [client, server]
    assert (client.get_num_entities().num_clients, server.get_num_entities().num_services) == (3, 3)
    with pytest.raises(NotImplementedError, match=r"ActionClient\.take_data is not covered"):
        client.take_data()


def test_modules_are_there_after_importing_rclpy_alone() -> None:
    code = "import rclpy; print(rclpy.qos.QoSProfile(depth=3).depth, rclpy.action.ActionClient.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "ActionClient"]
    with pytest.raises(AttributeError, match="no attribute 'no_such_module'"):
        _ = rclpy.no_such_module
