"""What upstream's example programs are started with, and what they print: all 61, in groups that talk.

A program counts as working when every pattern is found in what it prints. The patterns are what upstream's
sources say, with the values that a working middleware gives.
"""

from __future__ import annotations

from typing import NamedTuple

EXAMPLE = "examples_rclpy_"
BLACKBOARD = """
import rclpy
from rclpy.node import Node

rclpy.init()
node = Node("parameter_blackboard", allow_undeclared_parameters=True)
node.get_logger().info("Parameter blackboard node named '/parameter_blackboard' ready")
rclpy.spin(node)
"""
"""What demo_nodes_cpp has in C++, for the client of demo_nodes_py."""


class Program(NamedTuple):
    """A program of a package; without a package, words for `ros2`, or for Python where they begin with -c."""

    package: str
    name: str
    says: tuple[str, ...]
    arguments: tuple[str, ...] = ()

    @property
    def is_example(self) -> bool:
        return bool(self.package)


Scenario = tuple[Program, ...]


def helper(line: str, *says: str) -> Program:
    """A call of `ros2` that a scenario needs: it is repeated until it says what it should."""
    return Program("", line, says)


def _demo(name: str, *says: str, arguments: tuple[str, ...] = ()) -> Program:
    return Program("demo_nodes_py", name, says, arguments)


def _example(package: str, name: str, *says: str, arguments: tuple[str, ...] = ()) -> Program:
    return Program(f"{EXAMPLE}{package}", name, says, arguments)


def _qos(name: str, *says: str, arguments: tuple[str, ...] = ()) -> Program:
    return Program("quality_of_service_demo_py", name, says, arguments)


def _tf2(name: str, *says: str) -> Program:
    return Program("examples_tf2_py", name, says)


_HELLO = r'Publishing: "Hello World: \d+"'
_HEARD = r'I heard: "Hello World: \d+"'
_SUM = r"Result of add_two_ints: for 41 \+ 1 = 42"
_FIBONACCI = r"Goal succeeded! Result: array\('i', \[0, 1, 1, 2, 3, 5"
_EXECUTES = (r"Executing goal\.\.\.", r"Publishing feedback: array\('i', \[0, 1, 1")
_SERVERS = ("server", "server_queue_goals", "server_defer", "server_single_goal")
_CLIENTS = ("client", "client_asyncio", "client_not_composable")

SCENARIOS: dict[str, Scenario] = {
    "talker and listeners": (
        _demo("talker", _HELLO),
        _demo("listener", r"I heard: \[Hello World: \d+\]"),
        _demo("listener_serialized", r'I heard: "b.*Hello World'),
    ),
    "talker and listener with QoS": (
        _demo("talker_qos", "Reliable talker", _HELLO, arguments=("--reliable",)),
        _demo("listener_qos", "Best effort listener", r"I heard: \[Hello World: \d+\]"),
    ),
    "adding two integers": (
        _demo("add_two_ints_server", r"Incoming request\na: \d b: \d"),
        _demo("add_two_ints_client", r"Result of add_two_ints: 5"),
        _demo("add_two_ints_client_async", r"Result of add_two_ints: 5"),
    ),
    "parameter client": (
        Program("", f"-c{BLACKBOARD}", ("ready",)),
        _demo(
            "async_param_client",
            r"Setting parameters:(.|\n)*successful: True",
            r"Listing Parameters:(.|\n)*int_parameter",
            r"Getting parameters:(.|\n)*int_parameter: 10",
            r"Loading parameters:(.|\n)*successful: True",
            r"Deleting parameters:(.|\n)*successful: True",
        ),
    ),
    "parameter callbacks": (
        _demo("set_parameters_callback"),
        helper("param set /set_parameters_callback param1 2.5", "Set parameter successful"),
        helper("param get /set_parameters_callback param2", r"Double value is: 4\.0"),
    ),
    "service introspection": (
        _demo("introspection", "Result of add_two_ints: 5", r"Incoming request\na: 2 b: 3"),
        helper("param set /introspection_service service_configure_introspection contents", "successful"),
        helper("service echo /add_two_ints", "REQUEST_RECEIVED", r"sum: 5"),
    ),
    "matched events": (
        _demo(
            "matched_event_detect",
            "First subscription is connected",
            "changed number of connected subscription is 1 and",
            "Last subscription is disconnected",
            "First publisher is connected",
            "changed number of connected publisher is 1 and",
            "Last publisher is disconnected",
        ),
    ),
    "logger service": (
        _demo(
            "use_logger_service",
            r"Output with default logger level:",
            r"Output 1 with INFO logger level",
            r"Current logger level: 10",
            r"\[DEBUG\].*Output 2 with DEBUG logger level",
            r"Current logger level: 30",
            r"Output 4 with ERROR logger level",
        ),
    ),
    "Fibonacci tutorial": (
        Program(
            "action_tutorials_py", "fibonacci_action_server", ("Executing goal", r"Feedback: array\('i'")
        ),
        Program(
            "action_tutorials_py",
            "fibonacci_action_client",
            ("Goal accepted", "Received feedback", r"Result: array\('i', \[0, 1, 1, 2, 3, 5, 8, 13"),
        ),
    ),
    "managed talker": (
        Program(
            "lifecycle_py",
            "lifecycle_talker",
            (
                r"on_configure\(\) is called",
                "publisher is inactive. Messages are not published",
                r"on_activate\(\) is called",
                "publisher is active. Publishing",
            ),
        ),
        helper("lifecycle set /lc_talker configure", "Transitioning successful"),
        helper("lifecycle set /lc_talker activate", "Transitioning successful"),
    ),
    "deadline": (
        _qos(
            "deadline",
            "Requested deadline missed - total 1 delta 1",
            "Offered deadline missed - total 1 delta 1",
            arguments=("600", "--publish-for", "1500", "--pause-for", "1500"),
        ),
    ),
    "incompatible QoS": (
        _qos(
            "incompatible_qos",
            "Durability incompatibility selected",
            r"(?i)\[listener\].*total.*1",
            r"(?i)\[talker\].*total.*1",
            arguments=("durability",),
        ),
    ),
    "lifespan": (_qos("lifespan", "Publishing: ", r"Listener heard: \[Talker says \d", arguments=("3000",)),),
    "liveliness": (
        _qos(
            "liveliness",
            r"\[listener\]: Liveliness changed event",
            r"\[listener\]:   alive_count: 1",
            r"\[listener\]:   alive_count: 0",
            arguments=("1000", "--kill-publisher-after", "2000"),
        ),
    ),
    "lost messages": (
        _qos("message_lost_listener", r"I heard an Image. Message single trip latency: \[\d+\]"),
        helper(
            "topic pub -t 3 /message_lost_chatter sensor_msgs/msg/Image '{header: {stamp: now}}'",
            "publishing #1",
        ),
    ),
    "overriding QoS": (
        _qos("qos_overrides_talker", 'Publishing: "'),
        _qos("qos_overrides_listener", r"I heard: \["),
    ),
    "topic monitor": (
        Program("topic_monitor", "data_publisher", (), ("sensor",)),
        Program("topic_monitor", "topic_monitor", ("Publishing reception rate on topic: .*sensor",)),
    ),
    "executors": (
        _example("executors", "talker", _HELLO),
        _example("executors", "listener", _HEARD),
        _example("executors", "callback_group", _HELLO),
        _example("executors", "custom_callback_group", _HELLO),
        _example("executors", "composed", _HELLO, _HEARD),
        _example("executors", "custom_executor", _HELLO, _HEARD),
    ),
    "guard conditions": (
        _example(
            "guard_conditions",
            "trigger_guard_condition",
            "timer callback triggered guard condition",
            "guard callback called shutdown",
        ),
    ),
    "publishers": (
        *(
            _example("minimal_publisher", f"publisher_{name}", _HELLO)
            for name in ("old_school", "local_function", "member_function")
        ),
        *(
            _example("minimal_subscriber", f"subscriber_{name}", _HEARD)
            for name in ("old_school", "lambda", "member_function")
        ),
    ),
    "point cloud": (
        _example("pointcloud_publisher", "pointcloud_publisher"),
        helper("topic echo --once --no-arr /test_cloud", "frame_id: map", "sequence type: uint8, length: "),
    ),
    "service": (
        _example("minimal_service", "service", r"Incoming request\na: 41 b: 1"),
        *(
            _example("minimal_client", name, _SUM, arguments=("41", "1"))
            for name in ("client", "client_async", "client_async_callback", "client_async_member_function")
        ),
    ),
    "service as a member": (
        _example("minimal_service", "service_member_function", r"Incoming request\na: 41 b: 1"),
        helper("service call /add_two_ints example_interfaces/srv/AddTwoInts '{a: 41, b: 1}'", r"sum=42"),
    ),
    **{
        f"action {server}": (
            _example("minimal_action_server", server, *_EXECUTES),
            _example("minimal_action_client", client, _FIBONACCI),
        )
        for server, client in zip(_SERVERS, ("client", *_CLIENTS), strict=True)
    },
    "canceling an action": (
        _example("minimal_action_server", "server", "Received cancel request", "Goal canceled"),
        _example("minimal_action_client", "client_cancel", "Canceling goal", "Goal successfully canceled"),
    ),
    "action server_not_composable": (
        _example("minimal_action_server", "server_not_composable", *_EXECUTES),
        _example("minimal_action_client", "client", "Received feedback", _FIBONACCI),
    ),
    "a transform that does not come": (
        _tf2("waits_for_transform", "Waiting for transform from sonar_2", "Still waiting for transform"),
    ),
    "transforms": (
        _tf2("static_broadcaster"),
        _tf2("dynamic_broadcaster"),
        _tf2("frame_dumper", "starboard_wheel:", "sonar_2:"),
        _tf2("async_waits_for_transform", "Waiting for transform from sonar_2 to starboard_wheel", "Got "),
        _tf2("blocking_waits_for_transform", "Waiting for transform", "Got transform"),
        Program("tf2_tools", "view_frames", ("Result:.*starboard_wheel", "Exporting graph"), ("-t", "2")),
    ),
}
"""By name. waits_for_transform runs alone: with its transform there it waits for its own lock, in ROS too."""
