"""Launch files in XML and YAML: each test says the same thing in both."""

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from launch import InvalidLaunchFileError, LaunchContext, LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch_xml.launch_description_sources import XMLLaunchDescriptionSource

PRINT = "import json, sys; print(json.dumps(sys.argv[1:]))"

XML = f"""
<launch>
  <arg name="count" default="3" description="how many"/>
  <arg name="gui" default="false"/>
  <let name="twice" value="$(eval '$(var count) * 2')"/>
  <log message="twice is $(var twice)"/>
  <log message="gui" if="$(var gui)"/>
  <log message="no gui" unless="$(var gui)"/>
  <group>
    <push-ros-namespace namespace="fleet"/>
    <set_remap from="odom" to="truth"/>
    <node exec="{sys.executable}" name="n" namespace="r1" output="screen" args="-c '{PRINT}' --flag">
      <param name="rate" value="2.5"/>
      <param name="arm"><param name="ready" value="true"/><param name="label" value="7" type="str"/></param>
      <remap from="a" to="b"/>
      <env name="SPEED" value="9"/>
    </node>
  </group>
  <executable cmd="echo after $(env HOME_OF_NOBODY nowhere)" output="screen" name="say"/>
  <timer period="0.1"><log message="later"/></timer>
</launch>
"""
YAML = f"""
launch:
- arg: {{name: count, default: '3', description: how many}}
- arg: {{name: gui, default: 'false'}}
- let: {{name: twice, value: "$(eval '$(var count) * 2')"}}
- log: {{message: twice is $(var twice)}}
- log: {{message: gui, if: $(var gui)}}
- log: {{message: no gui, unless: $(var gui)}}
- group:
  - push_ros_namespace: {{namespace: fleet}}
  - set_remap: {{from: odom, to: truth}}
  - node:
      exec: {sys.executable}
      name: n
      namespace: r1
      output: screen
      args: "-c '{PRINT}' --flag"
      param:
      - {{name: rate, value: 2.5}}
      - name: arm
        param:
        - {{name: ready, value: true}}
        - {{name: label, value: 7, type: str}}
      remap:
      - {{from: a, to: b}}
      env:
      - {{name: SPEED, value: 9}}
- executable: {{cmd: echo after $(env HOME_OF_NOBODY nowhere), output: screen, name: say}}
- timer:
    period: 0.1
    children:
    - log: {{message: later}}
"""


def write(folder: Path, language: str, text: str) -> str:
    path = folder / f"demo.launch.{language}"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(("language", "text"), [("xml", XML), ("yaml", YAML)])
def test_both_languages_launch_the_same(
    language: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = AnyLaunchDescriptionSource(write(tmp_path, language, text))
    service = LaunchService()
    include = IncludeLaunchDescription(source, launch_arguments={"count": "4"}.items())
    service.include_launch_description(LaunchDescription([include]))
    assert service.run() == 0
    lines = capsys.readouterr().out.splitlines()
    said = [line.split(": ", 1)[1] for line in lines if "[launch.user]" in line]
    assert said == ["twice is 8", "no gui", "later"]
    assert any(line.startswith("[say-") and line.endswith("] after nowhere") for line in lines)
    (printed,) = [line for line in lines if "--ros-args" in line and line.startswith("[python")]
    args: list[Any] = json.loads(printed.split("] ", 1)[1])
    assert args[:6] == ["--flag", "--ros-args", "-r", "__node:=n", "-r", "__ns:=/fleet/r1"]
    assert args[-4:] == ["-r", "odom:=truth", "-r", "a:=b"]
    assert args.count("--params-file") == 2


def test_arguments_are_known_before_the_launch(tmp_path: Path) -> None:
    description = AnyLaunchDescriptionSource(write(tmp_path, "xml", XML)).get_launch_description(
        LaunchContext()
    )
    assert [argument.name for argument in description.get_launch_arguments()] == ["count", "gui"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<launch><nod exec='a'/></launch>", "unknown tag <nod>; did you mean <node>?"),
        ("<launch><node exec='a' nam='b'/></launch>", "`node` has no attribute 'nam'; did you mean 'name'?"),
        ("<launch><node pkg='a'/></launch>", "`node` needs the attribute 'exec'"),
        ("<launch><log message='a' if='1' unless='1'/></launch>", "both 'if' and 'unless'"),
        ("<launch><executable cmd='a' shell='perhaps'/></launch>", "must be true or false, got 'perhaps'"),
        ("<launch><node exec='a'><param name='p' value='1' type='list'/></node></launch>", "list_of_int"),
        (
            "<launch><node exec='a'><param name='p' value='1' value-sep=',' type='int'/></node></launch>",
            "its type is list_of_int, not int",
        ),
        ("<launch deprecate='x'/>", "did you mean 'deprecated'?"),
        ("<robot/>", "begins with 'launch', not with 'robot'"),
        ("<launch>", "no element found"),
    ],
)
def test_mistakes_are_named(text: str, message: str, tmp_path: Path) -> None:
    source = XMLLaunchDescriptionSource(write(tmp_path, "xml", text))
    with pytest.raises(InvalidLaunchFileError) as caught:
        source.get_launch_description(LaunchContext())
    assert message in str(caught.value)


SCOPES_XML = """
<launch deprecated="use the other one">
  <let name="a" value="1"/><let name="b" value="2"/>
  <group forwarding="false">
    <keep name="a" value="$(var a)0"/>
    <log message="a $(var a), b $(var b none)"/>
  </group>
  <reset><keep name="b" value="$(var b)1"/></reset>
  <log message="a $(var a none), b $(var b)"/>
  <set_env name="PARTS" value="x"/>
  <append_env name="PARTS" value="y" separator=";"/>
  <append_env name="PARTS" value="w" separator=";" prepend="true"/>
  <log message="$(env PARTS)"/>
  <reset_env/>
  <log message="$(env PARTS none)"/>
</launch>
"""
SCOPES_YAML = """
launch:
- let: {name: a, value: 1}
- let: {name: b, value: 2}
- group:
    forwarding: false
    keep: [{name: a, value: $(var a)0}]
    children:
    - log: {message: "a $(var a), b $(var b none)"}
- reset:
    keep: [{name: b, value: $(var b)1}]
- log: {message: "a $(var a none), b $(var b)"}
- set_env: {name: PARTS, value: x}
- append_env: {name: PARTS, value: y, separator: ;}
- append_env: {name: PARTS, value: w, separator: ;, prepend: true}
- log: {message: $(env PARTS)}
- reset_env:
- log: {message: $(env PARTS none)}
"""


def run(folder: Path, language: str, text: str) -> int:
    source = AnyLaunchDescriptionSource(write(folder, language, text))
    service = LaunchService()
    service.include_launch_description(LaunchDescription([IncludeLaunchDescription(source)]))
    return service.run()


@pytest.mark.filterwarnings("ignore:this launch description is deprecated")
@pytest.mark.parametrize(("language", "text"), [("xml", SCOPES_XML), ("yaml", SCOPES_YAML)])
def test_scopes_keep_what_they_are_told_to(
    language: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, language, text) == 0
    said = [line.split(": ", 1)[1] for line in capsys.readouterr().out.splitlines() if "launch.user" in line]
    assert said == ["a 10, b none", "a none, b 21", "w;x;y", "none"]


def test_a_deprecated_file_warns(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="use the other one"):
        assert run(tmp_path, "xml", SCOPES_XML) == 0


def test_parameters_can_be_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show = "import sys; print([open(p).read() for p in sys.argv if p.endswith('.yaml')])"
    (tmp_path / "show.py").write_text(show)
    text = f"""
<launch><let name="first" value="1"/>
  <node exec="{sys.executable}" name="n" output="screen" args="{tmp_path}/show.py">
    <param name="plain" value="$(var first),2" value-sep=","/>
    <param name="mixed" value="1;a" value-sep=";"/>
    <param name="texts" value="1;2" value-sep=";" type="list_of_str"/>
    <param name="floats" value="1;2.5" value-sep=";" type="list_of_float"/>
    <param name="flags" value="[true, false]" type="list_of_bool"/>
  </node>
</launch>"""
    assert run(tmp_path, "xml", text) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[python")]
    found: dict[str, Any] = {}
    for content in ast.literal_eval(line.split("] ", 1)[1]):
        (of_node,) = yaml.safe_load(content).values()
        found |= of_node["ros__parameters"]
    assert found == {
        "plain": [1, 2],
        "mixed": ["1", "a"],
        "texts": ["1", "2"],
        "floats": [1.0, 2.5],
        "flags": [True, False],
    }
