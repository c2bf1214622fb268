"""Launch files with tags, substitutions and languages of one's own."""

import io
from pathlib import Path
from typing import Any, List  # noqa: UP035 - tags are asked for typing.List

import pytest
from launch import InvalidLaunchFileError, LaunchContext, LaunchService
from launch.actions import LogInfo
from launch.frontend import Entity, Parser, expose_action, expose_substitution
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch.substitutions import TextSubstitution
from launch.utilities import perform_substitutions
from launch_xml import Parser as XMLParser


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
    path = tmp_path / f"demo.launch.{language}"
    path.write_text(text)
    service = LaunchService()
    service.include_launch_description(
        AnyLaunchDescriptionSource(str(path)).get_launch_description(LaunchContext())
    )
    assert service.run() == 0
    assert "HEY, youHEY, youHEY, you" in capsys.readouterr().out
    path.write_text(text.replace("times", "tines"))
    source = AnyLaunchDescriptionSource(str(path))
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
