"""Substitutions written in text, with quotes, backslashes and parentheses."""

from pathlib import Path

import pytest
from launch import LaunchContext
from launch.frontend import parse_substitution
from launch.frontend.parser import split_embedded
from launch.utilities import perform_substitutions


def perform(text: str, context: LaunchContext) -> str:
    return perform_substitutions(context, parse_substitution(text))


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> LaunchContext:
    monkeypatch.setenv("ODD", "it's $(var no_such) here")
    context = LaunchContext()
    context.launch_configurations.update(robots="12", side="left", words="two words", empty="")
    return context


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(eval 'max(int($(var robots)), 2) + 1')", "13"),
        ("$(eval \"'$(var side)' == 'left'\")", "True"),
        (r"$(eval '\'$(var side)\' == \'left\'')", "True"),
        (r"$(eval \'a\'+\'b\')", "ab"),
        ("$(eval 'ceil(1.3)')", "2"),
        ("$(eval 'math.floor(2.5) * len(sys.path[:0] + [1])' ' math,sys ')", "2"),
        ("<$(env NO_SUCH '')>", "<>"),
        ("$(env NO_SUCH $(var side)/$(var robots))", "left/12"),
        ("$(if true '$(var words)' none)", "two words"),
        ("$(if true $(var words) none)", "two words"),
        ("$(if false $(var no_such) none)", "none"),
        (r"$(env NO_SUCH \(a\))", "(a)"),
        ("$(env ODD)", "it's $(var no_such) here"),
        ("$(if true $(env ODD) none)", "it's $(var no_such) here"),
        (r"\$(var side) $5 'a' (b)", "$(var side) $5 'a' (b)"),
        ('$(env NO_SUCH "$(env NEITHER \\"x\\")")', '"x"'),
        (r"a\\b", r"a\b"),
    ],
)
def test_what_it_gives(text: str, expected: str, context: LaunchContext) -> None:
    assert perform(text, context) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$(eval max(1, 2))", "put the word in quotes"),
        ("$(var side", "no closing parenthesis"),
        ("$(env NO_SUCH 'a)", "' is not closed"),
        ("$(1 + 2)", "without the name"),
        ("$(Nothing a)", "unknown substitution"),
        ("$(var)", "wrong number of words"),
        ("$(eval 1 + 2 + 3)", "wrong number of words"),
        ("$(eval '$(env A 'b')')", "inside a substitution inside '"),
    ],
)
def test_what_is_badly_written_is_refused(text: str, message: str, context: LaunchContext) -> None:
    with pytest.raises(ValueError, match=message):
        perform(text, context)


def test_an_expression_keeps_its_own_type_error(context: LaunchContext) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        perform("$(eval '1 + None')", context)


def test_what_a_file_holds_is_text(tmp_path: Path, context: LaunchContext) -> None:
    (tmp_path / "note").write_text("$(var side)")
    assert perform(f"$(file-content {tmp_path}/note)", context) == "$(var side)"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("echo '$(var a) b' c$(var d e)", ["echo", "$(var a) b", "c$(var d e)"]),
        ("echo $(eval 'f(1) + 2') \"x y\"", ["echo", "$(eval 'f(1) + 2')", "x y"]),
        (r"echo \$(var a)", ["echo", r"\$(var", "a)"]),
        ("echo $(env A \"it's\") it\\'s", ["echo", '$(env A "it\'s")', "it's"]),
    ],
)
def test_command_lines(line: str, words: list[str]) -> None:
    assert split_embedded(line) == words
