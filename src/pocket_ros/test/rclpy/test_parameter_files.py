"""Parameters from files: patterns of nodes, sections, and what a client loads."""

from pathlib import Path

import pytest
import rclpy
from rcl_interfaces.msg import ParameterType
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_dict_from_yaml_file, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient


def test_overrides_from_arguments_and_files(tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(
        "/**:\n  ros__parameters:\n    speed: 1.0\n    arm: {joints: [a, b]}\n"
        "/ns/here:\n  ros__parameters:\n    speed: 2.0\nelsewhere:\n  ros__parameters:\n    speed: 3.0\n"
    )
    arguments = [
        "--ros-args",
        "--params-file",
        str(file),
        "-p",
        "mode:=3",
        "-p",
        "here:label:=x",
        "-p",
        "other:mode:=9",
    ]
    with rclpy.init(args=arguments):
        node = Node("here", namespace="ns", parameter_overrides=[Parameter("extra", value=True)])
        assert node.declare_parameter("speed", 0.0).value == 2.0
        assert node.declare_parameter("arm.joints", ["z"]).value == ["a", "b"]
        assert node.declare_parameter("mode", 0).value == 3
        # A name without a slash is one below the root, as for rclpy.
        assert node.declare_parameter("label", "").value == ""
        assert Node("here").declare_parameter("label", "").value == "x"
        assert node.declare_parameter("extra", False).value is True
        node.undeclare_parameter("mode")
        with pytest.raises(InvalidParameterTypeException):
            node.declare_parameter("mode", "text")


def test_nodes_by_pattern_in_files(tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    patterns = ("*", "ns:\n  '*'", "/ns/*", "/*", "/*/here", "/**/here", "here", "ns/here", "/**/*")
    file.write_text(
        "".join(
            f"{pattern if ':' in pattern else repr(pattern)}:\n    ros__parameters: {{p{number}: true}}\n"
            for number, pattern in enumerate(patterns)
        )
    )
    with rclpy.init(args=["--ros-args", "--params-file", str(file)]):
        found = []
        for namespace in ("", "ns"):
            node = Node("here", namespace=namespace, automatically_declare_parameters_from_overrides=True)
            found.append({number for number in range(len(patterns)) if node.has_parameter(f"p{number}")})
    assert found == [{0, 3, 5, 6, 8}, {1, 2, 4, 5, 7, 8}]


def test_a_node_named_twice_in_a_file_has_both_sections(tmp_path: Path) -> None:
    file = tmp_path / "twice.yaml"
    file.write_text(
        "/**:\n  ros__parameters: {a: 1, nested: {x: 1}}\n"
        "/**:\n  ros__parameters: {b: 2, nested: {y: 2}}\n"
        "node:\n  ros__parameters: {a: 3}\n  ros__parameters: {c: 4}\n"
    )
    with rclpy.init(args=["program", "--ros-args", "--params-file", str(file)]):
        node = Node("node", automatically_declare_parameters_from_overrides=True)
        names = ["a", "b", "c", "nested.x", "nested.y"]
        assert [node.get_parameter(name).value for name in names] == [3, 2, 4, 1, 2]


@pytest.mark.parametrize(
    "text", ["", "# nothing yet\n \n", "{}", "node: {}", "node:\n  ros__parameters: {}\n"]
)
def test_a_file_may_set_nothing(text: str, tmp_path: Path) -> None:
    file = tmp_path / "empty.yaml"
    file.write_text(text)
    with rclpy.init(args=["program", "--ros-args", "--params-file", str(file)]):
        assert Node("node").declare_parameter("a", 1).value == 1


@pytest.mark.parametrize("text", ["---\n", "node:\n", "node:\n  ros__parameters:\n", "- node", "3"])
def test_a_file_without_names_of_parameters_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(RuntimeError):
        rclpy.init(args=["program", "--ros-args", "--params-file", str(file)])


def test_a_client_sets_what_a_file_says_for_any_node(ros: None, tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text("/**:\n  ros__parameters: {a: 1}\nsome_other_node:\n  ros__parameters: {b: two}\n")
    server, asking = Node("server", allow_undeclared_parameters=True), Node("asking")
    client = AsyncParameterClient(asking, "server")
    executor = SingleThreadedExecutor()
    executor.add_node(server)
    executor.add_node(asking)
    future = client.load_parameter_file(str(file))
    executor.spin_until_future_complete(future, 20)
    assert [result.successful for result in future.result().results] == [True]
    assert server.get_parameter("b").value == "two" and not server.has_parameter("a")
    future = client.load_parameter_file_atomically(str(file), use_wildcard=True)
    executor.spin_until_future_complete(future, 20)
    assert future.result().result.successful and server.get_parameter("a").value == 1


def test_files_for_clients_are_read_whole_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text(
        "shared: &shared {unit: m}\n"
        "a:\n  ros__parameters: {gain: &gain {p: 1}, copy: *gain, empty: [], text: '3'}\n"
        "a:\n  ros__parameters: {gain: {<<: *shared, i: 2.0}}\n"
        "b:\n  ros__parameters: {gain: {d: on}}\n"
    )
    found = parameter_dict_from_yaml_file(str(file), target_nodes=["a", "b"], namespace="arm.")
    assert {name: parameter_value_to_python(parameter.value) for name, parameter in found.items()} == {
        **{"arm.gain.p": 1, "arm.gain.i": 2.0, "arm.gain.d": True, "arm.gain.unit": "m"},
        **{"arm.copy.p": 1, "arm.empty": [], "arm.text": "3"},
    }
    assert found["arm.empty"].value.type == ParameterType.PARAMETER_BOOL_ARRAY


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", RuntimeError, "name of a node"),
        ("a:\n", RuntimeError, "for node a"),
        ("a:\n  ros__parameters:\n", RuntimeError, "for node a"),
        ("a:\n  ros__parameters: [1]\n", RuntimeError, "for node a"),
        ("/**:\n  ros__parameters: {x: 1}\n", RuntimeError, "selected parameters"),
        ("a:\n  ros__parameters: {x: {y: [1, 2.0]}}\n", TypeError, r"'x\.y'"),
    ],
)
def test_files_that_set_nothing_say_why(
    text: str, error: type[Exception], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text(text)
    with pytest.raises(error, match=message):
        parameter_dict_from_yaml_file(str(file))
