"""Nodes that a launch has loaded into a container, which is a process of its own."""

import json
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import GroupAction, RegisterEventHandler, Shutdown
from launch.conditions import IfCondition
from launch.event_handlers import OnExecutionComplete
from launch.frontend import Parser
from launch.substitutions import TextSubstitution
from launch_ros.actions import (
    ComposableNodeContainer,
    LoadComposableNodes,
    PushRosNamespace,
    SetParameter,
    SetRemap,
)
from launch_ros.actions.load_composable_nodes import get_composable_node_load_request
from launch_ros.descriptions import ComposableNode
from launch_ros.utilities import get_node_name_count

CONTAINER = Path(__file__).parents[1] / "programs" / "container.py"
FILE = """
/**:
  ros__parameters: {everywhere: 1}
/fleet:
  lidar:
    ros__parameters: {rate: 2.5}
  other:
    ros__parameters: {not_for_it: 1}
"""


def container(*nodes: ComposableNode) -> ComposableNodeContainer:
    return ComposableNodeContainer(
        executable=sys.executable,
        arguments=[str(CONTAINER)],
        name="box",
        namespace="/fleet",
        composable_node_descriptions=nodes,
        output="both",
    )


def run(*entities: Any) -> LaunchContext:
    service = LaunchService(noninteractive=True)
    service.include_launch_description(LaunchDescription(list(entities)))
    assert service.run() == 0
    return service.context


def requests(said: str) -> list[dict[str, Any]]:
    """What the container was asked, of all that was said."""
    parts = [line.partition("] {") for line in said.splitlines()]
    return [json.loads("{" + rest) for _, found, rest in parts if found]


def values(request: dict[str, Any], field: str = "parameters") -> dict[str, Any]:
    kinds = {1: "bool_value", 2: "integer_value", 3: "double_value", 4: "string_value"}
    return {item["name"]: item["value"][kinds[item["value"]["type"]]] for item in request[field]}


def test_nodes_are_loaded_with_what_the_scope_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(FILE)
    lidar = ComposableNode(
        package="demo",
        plugin="demo::Lidar",
        name="lidar",
        parameters=[str(file), {"frame": "base", "nested": {"on": True}}],
        remappings=[("scan", "front/scan")],
        extra_arguments=[{"use_intra_process_comms": True}],
    )
    broken = ComposableNode(package="demo", plugin="demo::Broken", name="broken")
    left_out = ComposableNode(package="demo", plugin="demo::Out", name="out", condition=IfCondition("false"))
    box = container()
    load = LoadComposableNodes(
        target_container="/fleet/box", composable_node_descriptions=[broken, left_out, lidar]
    )
    done = RegisterEventHandler(OnExecutionComplete(target_action=load, on_completion=[Shutdown()]))
    scope = GroupAction(
        [PushRosNamespace("fleet"), SetParameter("early", "3"), SetRemap("odom", "wheel_odom"), load]
    )
    context = run(done, box, scope)
    assert get_node_name_count(context, "/fleet/lidar") == 1
    assert get_node_name_count(context, "/fleet/box") == 1
    said = capsys.readouterr().out
    first, second = requests(said)
    assert first["plugin_name"] == "demo::Broken"
    assert (second["package_name"], second["plugin_name"]) == ("demo", "demo::Lidar")
    assert (second["node_name"], second["node_namespace"]) == ("lidar", "/fleet")
    assert second["remap_rules"] == ["odom:=wheel_odom", "scan:=front/scan"]
    expected = {"early": "3", "everywhere": 1, "rate": 2.5, "frame": "base", "nested.on": True}
    assert values(second) == expected
    assert values(second, "extra_arguments") == {"use_intra_process_comms": True}
    assert "Failed to load node 'broken' of type 'demo::Broken'" in said and "it is broken" in said
    assert "Loaded node '/fleet/lidar' in container '/fleet/box'" in said


def test_tags_of_containers_and_their_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    text = f"""
    <launch>
      <node_container exec="{sys.executable}" args="{CONTAINER}" name="box" namespace="/fleet" output="both">
        <composable_node pkg="demo" plugin="demo::A" name="a" namespace="x" if="true">
          <param name="n" value="2"/>
          <remap from="p" to="q"/>
          <extra_arg name="use_intra_process_comms" value="true"/>
        </composable_node>
        <composable_node pkg="demo" plugin="demo::A" name="left_out" unless="true"/>
      </node_container>
      <load_composable_node target="/fleet/box">
        <composable_node pkg="demo" plugin="demo::B" name="b"/>
      </load_composable_node>
    </launch>"""
    root, parser = Parser.load(StringIO(text))
    box, load = parser.parse_description(root).entities
    seen: list[LoadComposableNodes] = []

    def end_after_two(event: Any, context: LaunchContext) -> list[Shutdown]:
        seen.append(event.action)
        return [Shutdown()] if len(seen) == 2 else []

    ended = OnExecutionComplete(
        target_action=lambda action: isinstance(action, LoadComposableNodes), on_completion=end_after_two
    )
    run(RegisterEventHandler(ended), box, load)
    found = {request["node_name"]: request for request in requests(capsys.readouterr().out)}
    assert set(found) == {"a", "b"}
    assert found["a"]["node_namespace"] == "/x" and found["a"]["remap_rules"] == ["p:=q"]
    assert values(found["a"]) == {"n": 2}
    assert values(found["a"], "extra_arguments") == {"use_intra_process_comms": True}


def test_a_container_that_is_not_there_is_waited_for_until_the_launch_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    node = ComposableNode(package="demo", plugin="demo::A", name="a")
    load = LoadComposableNodes(target_container="/nobody", composable_node_descriptions=[node])
    context = run(load, Shutdown())
    assert get_node_name_count(context, "/a") == 0
    assert "Abandoning the '/nobody/_container/load_node' service" in capsys.readouterr().out


def test_a_package_without_a_container_fails_the_launch(capsys: pytest.CaptureFixture[str]) -> None:
    service = LaunchService(noninteractive=True)
    box = ComposableNodeContainer(
        package="rclcpp_components", executable="component_container", name="box", namespace="/fleet"
    )
    service.include_launch_description(LaunchDescription([box]))
    assert service.run() == 1
    assert "rclcpp_components" in capsys.readouterr().out


def test_a_target_is_text_or_a_container() -> None:
    with pytest.raises(TypeError, match="target_container"):
        LoadComposableNodes(target_container=3, composable_node_descriptions=[])  # type: ignore[arg-type]


def test_a_description_without_a_namespace_leaves_it_to_the_container() -> None:
    node = ComposableNode(package=[TextSubstitution(text="de"), "mo"], plugin="demo::A")
    request = get_composable_node_load_request(node, LaunchContext())
    assert (request.package_name, request.node_name, request.node_namespace) == ("demo", "", "")
