"""Substitutions in a bare context."""

import sys
from pathlib import Path

import launch_ros  # noqa: F401 - it exposes $(param)
import pytest
from launch import LaunchContext
from launch.frontend import parse_substitution
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
    LaunchLogDir,
    NotEqualsSubstitution,
    NotSubstitution,
    OrSubstitution,
    PathJoinSubstitution,
    PythonExpression,
    SubstitutionFailure,
    TextSubstitution,
)
from launch.utilities import perform_substitutions


def perform(text: str, context: LaunchContext) -> str:
    return perform_substitutions(context, parse_substitution(text))


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


def test_an_expression_raises_what_it_raises(context: LaunchContext) -> None:
    with pytest.raises(NameError):
        PythonExpression(["undefined"]).perform(context)
    with pytest.raises(SyntaxError):
        PythonExpression(["1 +"]).perform(context)


def test_what_is_no_truth_value_is_found_behind_a_true_one(context: LaunchContext) -> None:
    for substitution in (OrSubstitution("true", "nonsense"), AnySubstitution("true", "nonsense")):
        with pytest.raises(SubstitutionFailure):
            substitution.perform(context)


def test_nothing_equals_the_empty_text(context: LaunchContext) -> None:
    assert EqualsSubstitution(None, "").perform(context) == "true"
    assert EqualsSubstitution(None, "x").perform(context) == "false"


def test_a_choice_needs_one_of_its_values(context: LaunchContext) -> None:
    assert IfElseSubstitution("false", "x").perform(context) == ""
    with pytest.raises(RuntimeError, match="must be specified"):
        IfElseSubstitution("true")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(if $(var gui) window none)", "window"),
        ("$(equals $(var robots) 12)", "true"),
        ("$(not-equals $(var robots) 12)", "false"),
        ("$(any false $(var gui))", "true"),
        ("$(all $(var gui) true false)", "false"),
        ("$(param speed)", "1.5"),
    ],
)
def test_in_text(text: str, expected: str, context: LaunchContext) -> None:
    context.launch_configurations["global_params"] = [("speed", 1.5)]
    assert perform(text, context) == expected


def test_files_and_folders_in_text(tmp_path: Path, context: LaunchContext) -> None:
    (tmp_path / "note").write_text("content")
    assert (
        perform_substitutions(context, parse_substitution(f"<$(file-content {tmp_path}/note)>"))
        == "<content>"
    )
    folder = LaunchLogDir().perform(context)
    assert perform("$(launch_log_dir) $(log_dir)", context) == f"{folder} {folder}"
