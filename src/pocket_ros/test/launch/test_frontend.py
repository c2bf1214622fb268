"""Launch files in XML and YAML: each test says the same thing in both."""

import ast
import io
import json
import sys
from pathlib import Path
from typing import Any, List  # noqa: UP035 - tags are asked for typing.List

import pytest
import yaml
from launch import InvalidLaunchFileError, LaunchContext, LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription, LogInfo
from launch.frontend import Entity, Parser, expose_action, expose_substitution
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch.substitutions import TextSubstitution
from launch.utilities import perform_substitutions
from launch_xml import Parser as XMLParser
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


@expose_action("say_twice")
class SayTwice(LogInfo):
    """A tag of one's own, which adds an attribute to that of another."""

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> tuple[type, dict[str, Any]]:
        _, arguments = super().parse(entity, parser)
        times = entity.get_attr("times", data_type=int, optional=True) or 2
        words = entity.get_attr("word", data_type=List[Entity], optional=True) or []  # noqa: UP006
        said = [*arguments["msg"], *(f" {word.get_attr('text')}" for word in words)]
        for word in words:
            word.assert_entity_completely_parsed()
        return cls, arguments | {"msg": said * times}


@expose_substitution("shout")
def parse_shout(words: list[Any]) -> tuple[Any, dict[str, Any]]:
    return TextSubstitution, {"text": perform_substitutions(LaunchContext(), words[0]).upper()}


OWN_XML = '<launch><say_twice message="$(shout hey)," times="3"><word text="you"/></say_twice></launch>'
OWN_YAML = "launch: [{say_twice: {message: '$(shout hey),', times: 3, word: [{text: you}]}}]"


@pytest.mark.parametrize(("language", "text"), [("xml", OWN_XML), ("yaml", OWN_YAML)])
def test_tags_and_substitutions_of_ones_own(
    language: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, language, text) == 0
    assert "HEY, youHEY, youHEY, you" in capsys.readouterr().out
    broken = text.replace("times", "tines")
    source = AnyLaunchDescriptionSource(write(tmp_path, language, broken))
    with pytest.raises(InvalidLaunchFileError, match=r"no attribute 'tines'; did you mean 'times'\?"):
        source.get_launch_description(LaunchContext())


@pytest.mark.parametrize("text", [OWN_XML, OWN_YAML])
def test_a_file_without_a_name_is_read_in_the_language_that_fits(text: str) -> None:
    root, parser = Parser.load(io.StringIO(text))
    assert (root.type_name, root.parent) == ("launch", None)
    (tag,) = root.children
    assert tag.get_attr("times", data_type=int) == 3
    with pytest.raises(AttributeError, match="needs the attribute 'colour'"):
        tag.get_attr("colour")
    with pytest.raises(TypeError, match="'message' of `say_twice` must be int"):
        tag.get_attr("message", data_type=int, can_be_str=False)
    (action,) = parser.parse_description(root).entities
    assert isinstance(action, SayTwice)


def test_a_language_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Shorthand(Parser):
        """A line is a message."""

        @classmethod
        def load(cls, file: Any) -> tuple[Entity, Parser]:
            tags = "".join(f"<log message='{line}'/>" for line in file.read().splitlines())
            return XMLParser.load(io.StringIO(f"<launch>{tags}</launch>"))

        @classmethod
        def get_file_extensions(cls) -> set[str]:
            return {"short"}

    monkeypatch.setattr(
        Parser, "frontend_parsers", {**Parser.load_parser_implementations(), "short": Shorthand}
    )
    (tmp_path / "a.short").write_text("one\ntwo")
    description = AnyLaunchDescriptionSource(f"{tmp_path}/a.short").get_launch_description(LaunchContext())
    assert [type(action) for action in description.entities] == [LogInfo, LogInfo]
    assert Parser.is_filename_valid("b.short")


def test_a_name_is_exposed_once() -> None:
    expose_action("say_twice")(SayTwice)  # the same again is no other
    with pytest.raises(RuntimeError, match="Two action parsing methods"):
        expose_action("say_twice")(LogInfo)
    with pytest.raises(RuntimeError, match="class method called 'parse'"):
        expose_substitution("thing")(object)
