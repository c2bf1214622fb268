"""Launch files in XML and YAML: each test says the same thing in both."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
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
  <timer period="0.5"><shutdown reason="done"/></timer>
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
    period: 0.5
    children:
    - shutdown: {{reason: done}}
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
    assert said == ["twice is 8", "no gui"]
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
        ("<launch><node exec='a' nam='b'/></launch>", "<node> has no attribute 'nam'; did you mean 'name'?"),
        ("<launch><node pkg='a'/></launch>", "<node> needs the attribute 'exec'"),
        ("<launch><log message='a' if='1' unless='1'/></launch>", "both 'if' and 'unless'"),
        ("<launch><executable cmd='a' shell='perhaps'/></launch>", "must be true or false, got 'perhaps'"),
        ("<robot/>", "begins with 'launch', not with 'robot'"),
        ("<launch>", "no element found"),
    ],
)
def test_mistakes_are_named(text: str, message: str, tmp_path: Path) -> None:
    source = XMLLaunchDescriptionSource(write(tmp_path, "xml", text))
    with pytest.raises(InvalidLaunchFileError) as caught:
        source.get_launch_description(LaunchContext())
    assert message in str(caught.value)


def test_tags_that_are_not_covered_say_so(tmp_path: Path) -> None:
    source = AnyLaunchDescriptionSource(write(tmp_path, "xml", "<launch><ros_timer period='1'/></launch>"))
    with pytest.raises(NotImplementedError, match="ROSTimer"):
        source.get_launch_description(LaunchContext())
