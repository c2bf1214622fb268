"""Command lines, remapping and names."""

import math
from pathlib import Path

import pytest
import rclpy
from rclpy.context import Context
from rclpy.exceptions import (
    InvalidHandle,
    InvalidNamespaceException,
    InvalidNodeNameException,
    InvalidServiceNameException,
    InvalidTopicNameException,
    NotInitializedException,
    RCLError,
    UnknownROSArgsError,
)
from rclpy.logging import get_logger_level
from rclpy.node import Node
from rclpy.utilities import remove_ros_args
from std_msgs.msg import String
from std_srvs.srv import Empty


def test_names_and_topics_are_remapped() -> None:
    arguments = [
        "program",
        "x",
        "--ros-args",
        "-r",
        "__ns:=/fleet",
        "-r",
        "__node:=robot",
        "-r",
        "chatter:=/loud",
        "-r",
        "here:a:=b",
        "--",
        "y",
    ]
    with rclpy.init(args=arguments):
        node = Node("here")
        assert node.get_fully_qualified_name() == "/fleet/robot"
        assert node.create_publisher(String, "chatter", 1).topic_name == "/loud"
        assert node.create_publisher(String, "other", 1).topic_name == "/fleet/other"
        assert node.resolve_topic_name("~/mine") == "/fleet/robot/mine"
        own = Node("own", use_global_arguments=False, cli_args=["-r", "x:=y"], namespace="ns")
        assert own.get_fully_qualified_name() == "/ns/own"
        assert own.resolve_topic_name("x") == "/ns/y"
        assert own.resolve_service_name("x") == "/ns/y"
        assert own.resolve_topic_name("x", only_expand=True) == "/ns/x"
    assert remove_ros_args(arguments) == ["program", "x", "y"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("1e-3", 1e-3), ("1E5", 1e5), ("-.5", -0.5), ("5.", 5.0), ("inf", math.inf), ("-.inf", -math.inf)],
        *[("0x1F", 31), ("010", 8), ("+5", 5), ("-0", 0), ("9223372036854775808", 2.0**63), ("08", 8.0)],
        *[("y", True), ("N", False), ("on", True), ("No", False), ("TRUE", True)],
        *[("1_000", "1_000"), ("1:30", "1:30"), ("2026-01-02", "2026-01-02"), ("=", "="), ("0o17", "0o17")],
        *[("'1e3'", "1e3"), ('"y"', "y"), ("yEs", "yEs")],
    ],
)
def test_values_are_read_as_ros_reads_them(text: str, value: object, tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text(f"/**:\n  ros__parameters:\n    in_file: {{on: {text}}}\n")
    arguments = ["--ros-args", "-p", f"given:={text}", "--params-file", str(file)]
    with rclpy.init(args=arguments):
        node = Node("here", automatically_declare_parameters_from_overrides=True)
        found = [node.get_parameter(name).value for name in ("given", "in_file.on")]
    assert found == [value, value]
    assert {type(v) for v in found} == {type(value)}


def test_log_levels() -> None:
    with rclpy.init(args=["--ros-args", "--log-level", "quiet:=error"]):
        assert get_logger_level("quiet") == 40


@pytest.mark.parametrize(
    "arguments",
    [["--what"], ["-r"], ["-r", "x"], ["-p", "x"], ["--log-level", "loud"], ["--params-file", "none.yaml"]],
)
def test_wrong_arguments_are_errors(arguments: list[str]) -> None:
    context = rclpy.Context()
    with pytest.raises(RuntimeError, match=arguments[-1]):
        context.init(["--ros-args", *arguments])
    assert not context.ok()


def test_contexts_are_needed_and_initialised_once() -> None:
    with pytest.raises(NotInitializedException):
        Node("here")
    with rclpy.init(args=[]), pytest.raises(RuntimeError, match="once"):
        rclpy.init(args=[])
    with pytest.raises(RuntimeError):
        rclpy.shutdown()
    context = rclpy.Context()
    context.init([])
    context.shutdown()
    with pytest.raises(RCLError, match="already"):
        context.shutdown()
    with pytest.raises(RuntimeError, match="232"):
        rclpy.Context().init([], domain_id=300)


def test_a_destroyed_node_cannot_be_used(ros: None) -> None:
    node = Node("here")
    node.destroy_node()
    node.destroy_node()
    for use in (node.get_name, lambda: node.create_publisher(String, "topic", 1)):
        with pytest.raises(InvalidHandle):
            use()


def test_invalid_names_say_what_is_wrong(ros: None) -> None:
    for name in ("", "a/b", "1a", "a-b"):
        with pytest.raises(InvalidNodeNameException):
            Node(name)
    with pytest.raises(InvalidNamespaceException):
        Node("a", namespace="/1b")
    node = Node("here")
    for topic in ("", "a//b", "1a", "a b", "a/", "a~", "a" * 247):
        with pytest.raises(InvalidTopicNameException):
            node.create_publisher(String, topic, 1)
        with pytest.raises(RCLError, match="failed to resolve name"):
            node.resolve_topic_name(topic)
    assert len(node.create_publisher(String, "a" * 246, 1).topic_name) == 247
    with pytest.raises(ValueError, match="unknown substitution"):
        node.create_publisher(String, "{bad}", 1)
    with pytest.raises(ValueError, match="must not contain characters"):
        node.count_publishers("a b")
    with pytest.raises(InvalidServiceNameException):
        node.create_client(Empty, "a b")


def test_what_is_no_interface_class_is_refused(ros: None) -> None:
    node = Node("here")
    for wrong in (int, "String"):
        with pytest.raises(AttributeError, match="no interface class"):
            node.create_publisher(wrong, "topic", 1)
    with pytest.raises(RCLError, match="negative"):
        node.create_timer(-1.0, lambda: None)


def test_an_unknown_ros_argument_is_no_error_of_the_middleware() -> None:
    with pytest.raises(UnknownROSArgsError, match="--what") as error:
        rclpy.init(args=["--ros-args", "--what"])
    assert not isinstance(error.value, RCLError)


def test_security_is_refused_not_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context()
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    with pytest.raises(NotImplementedError, match="ROS_SECURITY_ENABLE"):
        context.init(args=[])
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "false")
    with context:
        assert context.ok()


@pytest.mark.parametrize("value", ["{a: 1}", "!!int abc", "[a, 1]", "[[1]]", "9" * 400])
def test_values_that_no_parameter_can_have_are_refused(value: str, tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    # A mapping in a file has names of parameters.
    parameters = "[1]" if value == "{a: 1}" else f"{{x: {value}}}"
    file.write_text(f"node: {{ros__parameters: {parameters}}}")
    for arguments in (["-p", f"x:={value}"], ["--params-file", str(file)]):
        with pytest.raises(RCLError, match="Couldn't parse"):
            rclpy.init(args=["--ros-args", *arguments], context=Context())
