"""Parameters: declared, set from outside, described, followed."""

from collections.abc import Callable
from typing import Any

import pytest
import rclpy
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    ParameterEvent,
    ParameterType,
    ParameterValue,
)
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.exceptions import (
    InvalidParameterValueException,
    ParameterAlreadyDeclaredException,
    ParameterNotDeclaredException,
    ParameterUninitializedException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter, get_parameter_value, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

Start = Callable[..., Any]


def test_declaring_reading_and_setting(ros: None) -> None:
    node = Node("here")
    assert node.declare_parameter("speed", 1.5).value == 1.5
    assert node.declare_parameter("size", Parameter.Type.INTEGER).value is None
    with pytest.raises(ParameterAlreadyDeclaredException):
        node.declare_parameter("speed", 2.0)
    with pytest.raises(ParameterUninitializedException, match=r"'size' is not initialized: size$"):
        node.get_parameter("size")
    with pytest.raises(ParameterNotDeclaredException, match=r"undeclared parameter.s.: nothing$"):
        node.get_parameter("nothing")
    assert node.get_parameter_or("nothing", Parameter("nothing", value=3)).value == 3
    (good, bad) = node.set_parameters([Parameter("speed", value=2.0), Parameter("size", value="big")])
    assert good.successful
    assert not bad.successful
    assert "Wrong parameter type" in bad.reason
    assert node.get_parameter("speed").value == 2.0
    assert node.get_parameter_types(["speed", "size"]) == [ParameterType.PARAMETER_DOUBLE, 0]


def test_ranges_read_only_and_undeclaring(ros: None) -> None:
    node = Node("here")
    steps = ParameterDescriptor(integer_range=[IntegerRange(from_value=0, to_value=10, step=2)])
    with pytest.raises(InvalidParameterValueException):
        node.declare_parameter("even", 3, steps)
    node.declare_parameter("even", 4, steps)
    assert not node.set_parameters([Parameter("even", value=12)])[0].successful
    node.declare_parameter("fixed", 1, ParameterDescriptor(read_only=True))
    assert not node.set_parameters([Parameter("fixed", value=2)])[0].successful
    assert node.describe_parameter("even").type == ParameterType.PARAMETER_INTEGER
    node.undeclare_parameter("even")
    assert not node.has_parameter("even")


def test_callbacks_change_check_and_follow(ros: None) -> None:
    node = Node("here")
    node.declare_parameter("a", 1)
    seen: list[int] = []
    node.add_pre_set_parameters_callback(lambda ps: [Parameter(p.name, value=p.value * 2) for p in ps])
    node.add_post_set_parameters_callback(lambda ps: seen.extend(p.value for p in ps))
    node.set_parameters([Parameter("a", value=4)])
    assert node.get_parameter("a").value == 8
    assert seen == [8]


def test_automatic_declaration(ros: None) -> None:
    node = Node(
        "here",
        parameter_overrides=[Parameter("a.b", value=1), Parameter("a.c", value="x")],
        automatically_declare_parameters_from_overrides=True,
    )
    assert {n: p.value for n, p in node.get_parameters_by_prefix("a").items()} == {"b": 1, "c": "x"}


def test_refusals_say_what_was_refused(ros: None) -> None:
    node = Node("here")
    node.declare_parameter("typed", Parameter.Type.INTEGER)
    step = ParameterDescriptor(
        floating_point_range=[FloatingPointRange(from_value=0.0, to_value=1.0, step=0.25)]
    )
    node.declare_parameter("r", 0.5, step)
    with pytest.raises(ParameterNotDeclaredException) as undeclared:
        node.get_parameter("zz")
    with pytest.raises(TypeError, match="Parameter"):
        node.set_parameters([3])
    assert str(undeclared.value) == "Invalid access to undeclared parameter(s): zz"
    with pytest.raises(ParameterAlreadyDeclaredException) as again:
        node.declare_parameter("r", 0.5)
    assert str(again.value) == "Parameter(s) already declared: ['r']"
    with pytest.raises(ParameterUninitializedException) as unset:
        node.get_parameter("typed")
    assert str(unset.value) == "The parameter 'typed' is not initialized: typed"
    with pytest.raises(InvalidParameterValueException) as outside:
        node.declare_parameter("r2", 5.0, step)
    refusal = "Parameter r2 out of range Min: 0.0, Max: 1.0, value: 5.0"
    assert str(outside.value) == f"Invalid parameter value (5.0) for parameter. Reason: {refusal}: r2"
    (result,) = node.set_parameters([Parameter("r", value=0.3)])
    assert result.reason == (
        "The parameter value for r is not close enough to a valid step. "
        "Min: 0.0, max: 1.0, value: 0.3, step: 0.25"
    )


def ask(node: Node, future: Any) -> Any:
    rclpy.spin_until_future_complete(node, future, timeout_sec=10)
    return future.result()


def test_the_services_of_another_process(ros: None, start: Start) -> None:
    start("parameters").wait_for("ready 1.5 0")
    node = Node("here")
    client = AsyncParameterClient(node, "/robot_1/configured")
    assert client.wait_for_services(timeout_sec=10)
    names = ask(node, client.list_parameters()).result.names
    assert {"speed", "name", "arm.joints", "mode", "use_sim_time"} <= set(names)
    values = ask(node, client.get_parameters(["speed", "arm.joints"])).values
    assert [parameter_value_to_python(v) for v in values] == [1.5, ["a", "b"]]
    results = ask(
        node,
        client.set_parameters(
            [Parameter("speed", value=3.0), Parameter("mode", value=9), Parameter("mode", value=2)]
        ),
    ).results
    assert [r.successful for r in results] == [False, False, True]
    assert results[1].reason == "there are modes 0 to 3"
    description = ask(node, client.describe_parameters(["speed"])).descriptors[0]
    assert description.description == "m/s"
    assert ask(node, client.describe_parameters(["speed", "zz"])).descriptors == []
    (refused,) = ask(node, client.set_parameters([Parameter("zz", value=1)])).results
    assert refused.reason == "Invalid access to undeclared parameter(s): ['zz']"
    assert ask(node, client.get_parameter_types(["speed"])).types[0] == ParameterType.PARAMETER_DOUBLE


def test_changes_are_published(ros: None) -> None:
    watcher, node = Node("watcher"), Node("here")
    events: list[ParameterEvent] = []
    watcher.create_subscription(ParameterEvent, "/parameter_events", events.append, 10)
    node.declare_parameter("a", 1)
    node.set_parameters([Parameter("a", value=2)])
    while not any(e.changed_parameters for e in events):
        rclpy.spin_once(watcher, timeout_sec=1)
    changed = next(e for e in events if e.node == "/here" and e.changed_parameters)
    assert changed.changed_parameters[0].value.integer_value == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1.5", 1.5),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ("hello", "hello"),
        ("'1'", "1"),
        ("a: b: c", "a: b: c"),
        pytest.param("[" * 500, "[" * 500, id="nested too deep"),
    ],
)
def test_values_from_a_command_line(text: str, value: object) -> None:
    assert parameter_value_to_python(get_parameter_value(text)) == value


def test_a_callback_that_leaves_nothing_to_set_fails(ros: None) -> None:
    node = Node("node")
    node.declare_parameter("foo", 1)
    assert node.set_parameters_atomically([]).successful
    node.add_pre_set_parameters_callback(lambda parameters: [])
    for result in (
        node.set_parameters_atomically([Parameter("foo", value=42)]),
        *node.set_parameters([Parameter("foo", value=42)]),
    ):
        assert not result.successful and result.reason.startswith("parameter list cannot be empty")
    assert node.get_parameter("foo").value == 1


def test_the_descriptor_of_an_undeclared_parameter_is_empty(ros: None) -> None:
    node = Node("node", allow_undeclared_parameters=True)
    assert node.describe_parameter("undeclared") == ParameterDescriptor()
    for value in (1, "text"):
        assert node.set_parameters([Parameter("undeclared", value=value)])[0].successful


def test_a_default_may_be_a_message(ros: None) -> None:
    node = Node("node")
    number = ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=3)
    assert node.declare_parameter("number", number).value == 3
    with pytest.raises(ValueError, match="NOT_SET"):
        node.declare_parameter("static", ParameterValue(), ParameterDescriptor())
    unset = node.declare_parameter("dynamic", ParameterValue(), ParameterDescriptor(dynamic_typing=True))
    assert unset.type_ == Parameter.Type.NOT_SET


def test_a_value_of_a_type_that_there_is_not_is_refused(ros: None) -> None:
    node = Node("here")
    node.declare_parameter("speed", 1.5)
    odd = ParameterMessage(name="speed", value=ParameterValue(type=255))
    for kind in (SetParameters, SetParametersAtomically):
        snake = "set_parameters" if kind is SetParameters else "set_parameters_atomically"
        client = node.create_client(kind, f"here/{snake}")
        assert client.wait_for_service(timeout_sec=10)
        answer = ask(node, client.call_async(kind.Request(parameters=[odd])))
        results = answer.results if kind is SetParameters else [answer.result]
        assert [result.successful for result in results] == [False]
    assert node.get_parameter("speed").value == 1.5
