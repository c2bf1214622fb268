"""Substitutions in a bare context."""

import sys
from pathlib import Path

import pytest
from launch import LaunchContext
from launch.substitutions import (
    AndSubstitution,
    AnonName,
    AnySubstitution,
    Command,
    EnvironmentVariable,
    EqualsSubstitution,
    FileContent,
    FindExecutable,
    IfElseSubstitution,
    LaunchConfiguration,
    NotEqualsSubstitution,
    NotSubstitution,
    OrSubstitution,
    PathJoinSubstitution,
    PythonExpression,
    SubstitutionFailure,
    TextSubstitution,
)


@pytest.fixture
def context() -> LaunchContext:
    context = LaunchContext()
    context.launch_configurations.update({"robots": "12", "gui": "True", "name": "r"})
    return context


@pytest.mark.parametrize(
    ("substitution", "expected"),
    [
        (TextSubstitution(text="a"), "a"),
        (LaunchConfiguration("robots"), "12"),
        (LaunchConfiguration("nothing", default=["x", LaunchConfiguration("robots")]), "x12"),
        (PathJoinSubstitution(["a", ["b", LaunchConfiguration("name")], "c"]), "a/br/c"),
        (PathJoinSubstitution(["a"]) / "b", "a/b"),
        (PythonExpression([LaunchConfiguration("robots"), " * 2 + floor(1.5)"]), "25"),
        (PythonExpression(["'", LaunchConfiguration("name"), "' == 'r'"]), "True"),
        (PythonExpression("sys.maxsize > 0", ["sys"]), "True"),
        (NotSubstitution(LaunchConfiguration("gui")), "false"),
        (AndSubstitution("true", LaunchConfiguration("gui")), "true"),
        (OrSubstitution("false", "0"), "false"),
        (AnySubstitution("false", "no", "yes"), "true"),
        (EqualsSubstitution(LaunchConfiguration("robots"), 12), "true"),
        (EqualsSubstitution(LaunchConfiguration("gui"), True), "true"),
        (NotEqualsSubstitution("a", "b"), "true"),
        (IfElseSubstitution(LaunchConfiguration("gui"), "yes", "no"), "yes"),
        (EnvironmentVariable("NO_SUCH_VARIABLE", default_value="d"), "d"),
        (Command([sys.executable, " -c 'print(7)'"]), "7\n"),
    ],
)
def test_values(substitution: object, expected: str, context: LaunchContext) -> None:
    assert substitution.perform(context) == expected  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("substitution", "message"),
    [
        (LaunchConfiguration("robot"), "'robot' does not exist; did you mean 'robots'"),
        (EnvironmentVariable("NO_SUCH_VARIABLE"), "'NO_SUCH_VARIABLE' does not exist"),
        (FindExecutable(name="no_such_program"), "'no_such_program' not found"),
        (FileContent("/no/such/file"), "Failed to open file '/no/such/file'"),
        (PythonExpression("1 +"), "failed"),
        (NotSubstitution("perhaps"), "cannot read 'perhaps' as bool"),
        (Command([sys.executable, " -c 'raise SystemExit(2)'"]), "executed command failed"),
        (Command([sys.executable, " -c 'import sys; sys.stderr.write(\"x\")'"]), "showed stderr output"),
    ],
)
def test_failures_say_why(substitution: object, message: str, context: LaunchContext) -> None:
    with pytest.raises(SubstitutionFailure, match=message.replace("?", r"\?")):
        substitution.perform(context)  # type: ignore[attr-defined]


def test_anonymous_names_stay_the_same_in_a_launch(context: LaunchContext) -> None:
    first = AnonName("node").perform(context)
    assert first.startswith("node_") and AnonName("node").perform(context) == first
    assert AnonName("node").perform(LaunchContext()) != first


def test_file_content(tmp_path: Path, context: LaunchContext) -> None:
    (tmp_path / "robot.urdf").write_text("<robot/>")
    assert FileContent([str(tmp_path), "/robot.urdf"]).perform(context) == "<robot/>"


def test_wrong_types_are_refused_early() -> None:
    with pytest.raises(TypeError, match="text or a launch substitution"):
        PathJoinSubstitution(["a", 3])  # type: ignore[list-item]
