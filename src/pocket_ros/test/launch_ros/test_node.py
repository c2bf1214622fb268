"""Nodes as processes: the stand-in node prints its arguments and its parameter files."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import DeclareLaunchArgument, GroupAction
from launch.substitutions import (
    EnvironmentVariable,
    LaunchConfiguration,
    SubstitutionFailure,
    TextSubstitution,
)
from launch_ros.actions import (
    Node,
    PushRosNamespace,
    SetParameter,
    SetParametersFromFile,
    SetRemap,
    SetUseSimTime,
)
from launch_ros.parameter_descriptions import Parameter, ParameterFile, ParameterValue
from launch_ros.substitutions import ExecutableInPackage, FindPackagePrefix, FindPackageShare
from launch_ros.utilities import evaluate_parameters, normalize_parameters

NODE = """#!{python}
import json, sys
args = sys.argv[1:]
files = [open(args[i + 1]).read() for i, arg in enumerate(args) if arg == '--params-file']
print(json.dumps({{'args': args, 'files': files}}))
"""


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A prefix with one package that has one executable."""
    folder = tmp_path / "prefix"
    for path in ("share/ament_index/resource_index/packages", "share/demo_pkg", "lib/demo_pkg"):
        (folder / path).mkdir(parents=True)
    (folder / "share/ament_index/resource_index/packages/demo_pkg").touch()
    program = folder / "lib" / "demo_pkg" / "talker"
    program.write_text(NODE.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(folder))
    return folder


def run(node: Node, *before: Any) -> dict[str, Any]:
    """What the node printed."""
    service = LaunchService()
    service.include_launch_description(LaunchDescription([*before, node]))
    assert service.run() == 0
    found: dict[str, Any] = json.loads(node.get_stdout())
    return found


def talker(**options: Any) -> Node:
    return Node(package="demo_pkg", executable="talker", cached_output=True, **options)


def pairs(args: list[str]) -> list[tuple[str, str]]:
    """Flag and value of everything behind `--ros-args` but parameter files."""
    behind = args[args.index("--ros-args") + 1 :]
    return [(f, v) for f, v in zip(behind[::2], behind[1::2], strict=True) if f != "--params-file"]


def test_plain_node(prefix: Path) -> None:
    node = talker(arguments=["--rate", "5"])
    assert run(node)["args"] == ["--rate", "5"]
    assert node.process_details is not None
    assert node.process_details["name"].startswith("talker-")
    assert node.process_details["cmd"][0] == str(prefix / "lib" / "demo_pkg" / "talker")


def test_name_namespace_and_remappings(prefix: Path) -> None:
    node = talker(
        name="t", namespace="r1", remappings=[("chatter", "talk")], ros_arguments=["--log-level", "debug"]
    )
    found = run(node, PushRosNamespace("fleet"), SetRemap("odom", "ground_truth"))
    assert pairs(found["args"]) == [
        ("--log-level", "debug"),
        ("-r", "__node:=t"),
        ("-r", "__ns:=/fleet/r1"),
        ("-r", "odom:=ground_truth"),
        ("-r", "chatter:=talk"),
    ]
    assert node.node_name == "/fleet/r1/t"


def test_absolute_namespace_stands_alone(prefix: Path) -> None:
    found = run(talker(namespace="/other"), PushRosNamespace("fleet"))
    assert pairs(found["args"]) == [("-r", "__ns:=/other")]


def test_parameters_of_all_kinds(prefix: Path, tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text("/**:\n  ros__parameters:\n    from_file: 1\n")
    node = talker(
        name="t",
        namespace="/",
        parameters=[
            str(file),
            {
                "rate": LaunchConfiguration("rate"),
                "text": ParameterValue(LaunchConfiguration("rate"), value_type=str),
                "nested": {"list": [1, 2], "flag": True},
                "mixed": ["robot_", LaunchConfiguration("rate")],
                "names": ["a", "b"],
            },
        ],
    )
    declare = DeclareLaunchArgument("rate", default_value="2.5")
    found = run(node, declare, SetParameter("early", 3), SetUseSimTime(True))
    values = [yaml.safe_load(text) for text in found["files"]]
    assert values[0] == {"/t": {"ros__parameters": {"early": 3}}}
    assert values[1] == {"/t": {"ros__parameters": {"use_sim_time": True}}}
    assert values[2] == {"/**": {"ros__parameters": {"from_file": 1}}}
    assert values[3]["/t"]["ros__parameters"] == {
        "rate": 2.5,
        "text": "2.5",
        "nested.list": [1, 2],
        "nested.flag": True,
        "mixed": "robot_2.5",
        "names": ["a", "b"],
    }


def test_parameters_stay_in_their_group(prefix: Path, tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text("/**:\n  ros__parameters:\n    a: 1\n")
    outside = talker()
    inside = GroupAction(
        [SetParameter("x", 1), SetParametersFromFile(str(file), node_name="other"), PushRosNamespace("g")]
    )
    assert run(outside, inside)["args"] == []


def test_substitutions_in_a_parameter_file(prefix: Path, tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text("/**:\n  ros__parameters:\n    model: $(find-pkg-share demo_pkg)/$(var robot box)\n")
    found = run(talker(parameters=[ParameterFile(str(file), allow_substs=True)]))
    value = yaml.safe_load(found["files"][0])["/**"]["ros__parameters"]["model"]
    assert value == f"{prefix}/share/demo_pkg/box"


def test_wrong_parameters_are_named(prefix: Path) -> None:
    with pytest.raises(TypeError, match="list of files and dictionaries"):
        talker(parameters={"a": 1})
    service = LaunchService()
    service.include_launch_description(LaunchDescription([talker(parameters=["/no/such.yaml"])]))
    assert service.run() == 1


def test_package_substitutions(prefix: Path) -> None:
    context = LaunchContext()
    assert FindPackageShare("demo_pkg").perform(context) == str(prefix / "share" / "demo_pkg")
    assert FindPackagePrefix("demo_pkg").perform(context) == str(prefix)
    assert (FindPackageShare("demo_pkg") / "x").perform(context) == os.path.join(
        prefix, "share", "demo_pkg", "x"
    )
    with pytest.raises(SubstitutionFailure, match="package 'no_pkg' not found"):
        FindPackageShare("no_pkg").perform(context)
    with pytest.raises(SubstitutionFailure, match="executable 'listener' not found in package 'demo_pkg'"):
        ExecutableInPackage("listener", "demo_pkg").perform(context)


def test_a_name_alone_leaves_parameters_to_all_nodes_of_the_process(prefix: Path) -> None:
    node = talker(name="t", parameters=[{"a": 1}])
    assert yaml.safe_load(run(node)["files"][0]) == {"/**": {"ros__parameters": {"a": 1}}}
    assert not node.is_node_name_fully_specified()
    assert node.node_name == f"{Node.UNSPECIFIED_NODE_NAMESPACE}/t"


def test_a_text_for_the_nodes_that_follow_is_read_as_yaml(prefix: Path) -> None:
    typed = SetParameter("serial", ParameterValue("7", value_type=str))
    found = run(talker(), SetParameter("rate", "2"), typed)
    values = [yaml.safe_load(text)["/**"]["ros__parameters"] for text in found["files"]]
    assert values == [{"rate": 2}, {"serial": "7"}]


@pytest.mark.parametrize(
    "value", [{1, 2}, [1, 2, [3, 4]], 1j, {"deep": {5: "x"}}, {"deep": {"deeper": [None]}}], ids=repr
)
def test_values_that_no_parameter_can_have_are_refused_at_once(value: object) -> None:
    with pytest.raises(TypeError):
        talker(parameters=[{"bad": value}])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{a: 3}", "Allowed value types"),
        ("[1, 2.0]", "Expected a non-empty sequence"),
        ("[]", "Expected a non-empty sequence"),
        ("a : b : c", "Unable to parse"),
        ("null", "NoneType"),
    ],
)
def test_texts_that_stand_for_no_parameter_are_refused(text: str, message: str) -> None:
    parameters = normalize_parameters([{"robot_description": TextSubstitution(text=text)}])
    with pytest.raises(TypeError, match=message):
        evaluate_parameters(LaunchContext(), parameters)
    wrapped = ParameterValue(TextSubstitution(text=text), value_type=str)
    assert evaluate_parameters(LaunchContext(), [{"a": wrapped}]) == ({"a": text},)


def test_descriptions_tell_what_they_became() -> None:
    one = Parameter("speed", TextSubstitution(text="1"))
    assert isinstance(one.name, list) and isinstance(one.value, list)
    assert one.evaluate(LaunchContext()) == ("speed", 1)
    assert (one.name, one.value) == ("speed", 1)
    with pytest.raises(TypeError):
        ParameterValue("1", value_type=int)


def test_a_list_may_hold_texts_of_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PART", "env")
    context = LaunchContext()
    value = [[TextSubstitution(text="a"), "b"], "c", [EnvironmentVariable("PART")]]
    (found,) = evaluate_parameters(context, normalize_parameters([{"names": value}]))
    assert found == {"names": ("ab", "c", "env")}
    single = Parameter("names", [[EnvironmentVariable("PART")], "_v"], value_type=list[str])
    assert single.evaluate(context) == ("names", ["env", "_v"])


def test_items_of_several_parts_are_read_as_yaml_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NINE", "9")
    context, nine = LaunchContext(), EnvironmentVariable("NINE")
    value = {
        "numbers": [[nine], [nine, "1"], 3],
        "floats": ([nine, ".5"], 2),
        "flags": [True, [TextSubstitution(text="false")]],
    }
    (found,) = evaluate_parameters(context, normalize_parameters([value]))
    assert found == {"numbers": (9, 91, 3), "floats": (9.5, 2.0), "flags": (True, False)}
    assert [type(item) for item in found["numbers"]] == [int] * 3
    assert Parameter("n", [[nine], [nine, "1"]], value_type=list[int]).evaluate(context)[1] == [9, 91]
    assert Parameter("n", [[nine], "_v"], value_type=list[str]).evaluate(context)[1] == ["9", "_v"]
    with pytest.raises(TypeError, match="items of one type"):
        evaluate_parameters(context, normalize_parameters([{"mixed": [[nine], "text"]}]))
    with pytest.raises(ValueError, match="Allowed value type"):
        Parameter("n", [[nine], [nine]], value_type=list[bool]).evaluate(context)
