"""Misuse raises what it raises in ROS."""

from typing import Any

import pytest
from launch import Action, LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, LogInfo
from launch.event_handlers import OnExecutionComplete, OnProcessExit, OnProcessIO, OnProcessStart
from launch_ros.actions import Node


def test_a_default_that_is_no_choice() -> None:
    with pytest.raises(RuntimeError, match="choices"):
        DeclareLaunchArgument("size", default_value="huge", choices=["small"])


@pytest.mark.parametrize(
    ("handler", "options"),
    [
        (OnProcessExit, {"on_exit": []}),
        (OnProcessStart, {"on_start": []}),
        (OnProcessIO, {}),
        (OnExecutionComplete, {"on_completion": []}),
    ],
)
def test_a_target_that_is_none(handler: Any, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=handler.__name__):
        handler(target_action="not an action", **options)
    if handler is not OnExecutionComplete:
        with pytest.raises(TypeError, match="ExecuteLocal"):
            handler(target_action=LogInfo(msg="no process"), **options)


@pytest.mark.parametrize("rule", ["ab", ("a",), ("a", "b", "c"), 5])
def test_a_remapping_that_is_no_pair(rule: Any) -> None:
    with pytest.raises(TypeError, match="pair"):
        Node(executable="x", remappings=[rule])


def test_a_parameter_whose_name_is_no_text() -> None:
    for parameters in ({5: "x"}, {"group": {5: "x"}}):
        with pytest.raises(TypeError):
            Node(executable="x", parameters=[parameters])


def test_entities_by_themselves() -> None:
    assert Action().execute(LaunchContext()) is None
    assert LaunchDescription().describe() == "LaunchDescription()"
    with pytest.raises(NotImplementedError):
        LaunchDescriptionEntity().describe()
